"""Answers in the requested media type: the JSON document, or its rows as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from flask import Response, request

from deniable_aggregator.documents.estimates import (
    EstimatesAnswer,
    EstimatesByEpochDocument,
    EstimatesDocument,
)
from deniable_aggregator.web import columnar
from deniable_aggregator.web.application import ARROW, CSV, JSON, PARQUET, Answers, answer
from deniable_aggregator.web.spreadsheet import Row, csv_text, epoch_rows, label_rows
from deniable_gateway.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import msgspec

COLUMNAR = (ARROW, PARQUET)
_WRITERS: Mapping[str, Callable[[Iterable[Row], Sequence[str], Mapping[str, str]], bytes]] = {
    ARROW: columnar.arrow_bytes,
    PARQUET: columnar.parquet_bytes,
}


def tables(*documents: type[msgspec.Struct]) -> Answers:
    """The answers of an operation that negotiates the media type."""
    return {200: {JSON: documents, CSV: (), ARROW: (), PARQUET: ()}}


def negotiate() -> str:
    """The best accepted media type. Raises not-acceptable, with the extra to install."""
    accepted = request.accept_mimetypes
    if not accepted:
        return JSON
    here = [JSON, CSV, *(COLUMNAR if columnar.is_installed() else ())]
    best = accepted.best_match(here)
    if best is not None:
        return best
    if accepted.best_match(COLUMNAR) is not None:
        raise Problem("not-acceptable", f"Arrow and Parquet are not installed: {columnar.CURE}")
    raise Problem("not-acceptable", f"Accept must allow one of {', '.join(here)}")


def negotiated_answer(
    document: msgspec.Struct,
    rows: Callable[[], Iterable[Row]],
    columns: Sequence[str] = (),
    about: Mapping[str, str] | None = None,
) -> Response:
    """The document, or its rows if the request wants a table."""
    kind = negotiate()
    return answer(document) if kind == JSON else as_table(kind, rows(), columns, about or {})


def as_table(
    kind: str, rows: Iterable[Row], columns: Sequence[str], about: Mapping[str, str]
) -> Response:
    """Rows as CSV, Arrow or Parquet; `columns` is needed if there may be no row."""
    if kind == CSV:
        return Response(
            csv_text(rows, columns), content_type=f"{CSV}; charset=utf-8; header=present"
        )
    return Response(_WRITERS[kind](rows, columns, about), content_type=kind)


def estimates_as(kind: str, document: EstimatesAnswer) -> Response:
    """Estimates as JSON, or as a table with one row for each label."""
    if kind == JSON:
        return answer(document)
    if isinstance(document, EstimatesByEpochDocument):
        first = document.epochs[:1]
        return as_table(kind, epoch_rows(document), (), _about(*first) if first else {})
    return as_table(kind, label_rows(document), (), _about(document))


def _about(document: EstimatesDocument) -> dict[str, str]:
    """Metadata of a table of estimates."""
    names = ("collection", "mechanism", "epsilon", "repeat", "target")
    return {f"deniable.{name}": str(getattr(document, name)) for name in names}


def with_next_link(response: Response, following: int | None) -> Response:
    """Add the address of the next page as a header, because a table has no place for it."""
    if following is not None:
        pairs = [(name, value) for name, value in request.args.items(multi=True) if name != "from"]
        query = urlencode([*pairs, ("from", following)])
        response.headers["Link"] = f'<{request.path}?{query}>; rel="next"'
    return response
