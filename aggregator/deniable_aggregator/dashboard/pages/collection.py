"""One collection: what people answer, how sure that is, how it changes, what it costs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from flask import Response
from msgspec import UnsetType

from deniable_aggregator.api.estimate_documents import EstimatesDocument, LabelEstimate
from deniable_aggregator.api.estimates import csv_of, estimated_together
from deniable_aggregator.api.operations import answer, service
from deniable_aggregator.dashboard import guard, spans
from deniable_aggregator.dashboard.addresses import Address, here
from deniable_aggregator.dashboard.asking import (
    MOST_LINES,
    CollectionArguments,
    can_test,
    estimates_asked,
    usual_show,
)
from deniable_aggregator.dashboard.charts import Chart
from deniable_aggregator.dashboard.estimate_charts import bars, crossed, lines, quantity_rows
from deniable_aggregator.dashboard.guarantees import fakes, over_optimum, revealed
from deniable_aggregator.dashboard.page import Context, Page
from deniable_aggregator.dashboard.paging import paged
from deniable_aggregator.dashboard.series import MEAN, series_of
from deniable_aggregator.problem import Problem
from deniable_aggregator.registry import Collection, UnknownCollection
from deniable_shared.domain import Record
from deniable_shared.dyadic import format_epsilon
from deniable_shared.epochs import epoch_start

ROWS = 25
MOST_COLUMNS = 1_000
USUAL_LINES = 3
_SAID_AS_STATES = ("too-few-reports", "read-refused")


@dataclass(frozen=True, slots=True)
class Asked:
    """A collection and one view of it."""

    found: Collection
    query: CollectionArguments
    address: Address

    @property
    def show(self) -> str:
        """raw, projected or significant."""
        return usual_show(self.found) if isinstance(self.query.show, UnsetType) else self.query.show

    @property
    def crossed(self) -> list[str]:
        """The two attributes of a cross-tabulation; empty where there is none."""
        marginal = estimates_asked(self.found, self.query).marginal
        names = [name.strip() for name in marginal[0].split(",")] if marginal else []
        return names if len(names) == 2 else []


def view(query: CollectionArguments, collection: str) -> Context | Response:
    """The page, or with `format` the document or the rows that it shows."""
    found = service().registry.get(collection)
    visitor = guard.visitor()
    if visitor is not None and not visitor.may_see(found.id):
        raise UnknownCollection(f"no collection {collection[:100]!r} is among those you may see")
    asked = Asked(found, query, here("dashboard.collection", query, collection=found.id))
    if query.format != "html":
        document = estimated_together(found, estimates_asked(found, query))
        return answer(document) if query.format == "json" else csv_of(document)
    return {**_about(asked), **_shown(asked)}


def _about(asked: Asked) -> Context:
    """What holds whatever was reported."""
    found, manifest = asked.found, asked.found.manifest
    domain = manifest.domain
    return {
        "found": found,
        "manifest": manifest,
        "epsilon": format_epsilon(manifest.epsilon_report),
        "optimum": over_optimum(found),
        "revealed": list(revealed(found)),
        "query": asked.query,
        "show": asked.show,
        "usual_show": usual_show(found),
        "can_test": can_test(found),
        "address": asked.address,
        "spans": spans.choices(found, service().store, service().clock()),
        "first_day": spans.day_of(found, asked.query.first),
        "last_day": spans.day_of(found, asked.query.last),
        "attributes": domain.topics if isinstance(domain, Record) else (),
        "crossed": asked.crossed,
        "combinations": found.estimator.tells != "tables",
    }


def _shown(asked: Asked) -> Context:
    """The estimates, or why there are none."""
    try:
        document = estimated_together(asked.found, estimates_asked(asked.found, asked.query))
    except Problem as problem:
        if problem.slug not in _SAID_AS_STATES:
            raise
        return {"missing": problem}
    rows = _rows(asked, document)
    return {
        "missing": None,
        "document": document,
        "typical": _typical(document),
        "quantities": quantity_rows(document),
        "warnings": () if isinstance(document.warnings, UnsetType) else document.warnings,
        "associations": (
            () if isinstance(document.associations, UnsetType) else document.associations
        ),
        "fakes": list(fakes(document, rows[0] if rows else None)),
        "held_out": document.evidence == "held-out",
        **_charts(asked, document, rows),
    }


def _charts(asked: Asked, document: EstimatesDocument, rows: list[LabelEstimate]) -> Context:
    followed = _followed(asked, document, rows)
    part = paged(rows, asked.query.page, MOST_COLUMNS if _in_order(asked) else ROWS)
    return {
        "part": part,
        "followed": followed,
        "estimates": _estimates(asked, document, part.items) if document.estimates else None,
        "over_time": _over_time(asked, followed),
        "labels": len(document.estimates),
    }


def _estimates(asked: Asked, document: EstimatesDocument, rows: Sequence[LabelEstimate]) -> Chart:
    domain = asked.found.manifest.domain
    files = _files(asked)
    if isinstance(domain, Record) and asked.crossed:
        title = " and ".join(asked.crossed)
        return crossed(document, domain, asked.crossed, title=title, files=files)
    return bars(
        rows,
        document,
        title=_TITLES.get(domain.type, "Who has what"),
        files=files,
        follow=_follow(asked),
        ordered=_in_order(asked),
    )


_TITLES = {
    "bits": "How many say yes",
    "choice": "How many choose what",
    "number": "Where people are",
    "text": "What people write",
}


def _over_time(asked: Asked, followed: Sequence[str]) -> Chart | None:
    """None where nothing can be followed or there is one epoch only."""
    if not followed:
        return None
    series = series_of(asked.found, estimates_asked(asked.found, asked.query), followed)
    if len(series.epochs) < 2:
        return None
    seconds = asked.found.manifest.epoch_seconds
    left = f", the newest {len(series.epochs)} epochs" if series.left_out else ""
    return lines(
        series,
        title=f"Over time{left}",
        epoch_start=lambda epoch: epoch_start(epoch, seconds),
        files={},
        unit="" if followed == [MEAN] else "share",
    )


def _followed(
    asked: Asked, document: EstimatesDocument, rows: Sequence[LabelEstimate]
) -> list[str]:
    """The labels that are drawn over time: those asked for, else the first few."""
    if asked.found.manifest.domain.type == "number":
        return [] if isinstance(document.mean, UnsetType) else [MEAN]
    known = {row.label for row in document.estimates}
    wanted = [label for label in asked.query.label if label in known]
    return wanted or [row.label for row in rows[:USUAL_LINES]]


def _follow(asked: Asked) -> Callable[[str], str | None]:
    """Where a label leads: to the same view with the label among those drawn over time."""

    def follow(label: str) -> str | None:
        if asked.found.manifest.domain.type == "number":
            return None
        others = [one for one in asked.query.label if one != label]
        added = others if label in asked.query.label else [*others, label][-MOST_LINES:]
        return asked.address(label=added) + "#over-time"

    return follow


def _rows(asked: Asked, document: EstimatesDocument) -> list[LabelEstimate]:
    """Those that fit the search, significant ones only where that is wanted."""
    words = asked.query.q.casefold().split()
    rows = [
        row
        for row in document.estimates
        if all(word in row.label.casefold() for word in words)
        and (asked.show != "significant" or row.significant is not False)
    ]
    if asked.query.sort == "order" or _in_order(asked):
        return rows
    return sorted(rows, key=_size, reverse=True)


def _size(row: LabelEstimate) -> float:
    projected = None if isinstance(row.projected, UnsetType) else row.projected
    value = row.frequency if projected is None else projected
    return -2.0 if value is None else value


def _in_order(asked: Asked) -> bool:
    domain = asked.found.manifest.domain
    return domain.type == "number" and domain.size <= MOST_COLUMNS


def _files(asked: Asked) -> Mapping[str, str]:
    return {"CSV": asked.address(format="csv"), "JSON": asked.address(format="json")}


def _typical(document: EstimatesDocument) -> float | None:
    """Half the middle one of all intervals, as a share."""
    widths = sorted(
        row.upper - row.lower
        for row in document.estimates
        if row.upper is not None and row.lower is not None
    )
    return widths[len(widths) // 2] / 2 if widths else None


PAGE = Page(
    path="/collections/<collection>", title="Collection", view=view, query=CollectionArguments
)
