"""A connection to one service: a method a question, a page after another where there are many."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import date
from types import TracebackType
from typing import TYPE_CHECKING, Self

from deniable_aggregator.query.errors import ServiceError, UnreachableError
from deniable_aggregator.query.rows import Estimates, Rows

if TYPE_CHECKING:
    import httpx

__all__ = ["Epoch", "Service", "connect"]

Epoch = int | str | date
"""An epoch index, or a day: a date or its text."""

TIMEOUT_SECONDS = 60.0
Given = Mapping[str, object]
Document = dict[str, object]


def connect(url: str | None = None, token: str | None = None) -> Service:
    """The service at `url`; without arguments, what DENIABLE_URL and DENIABLE_TOKEN name.

    Nothing is sent yet.
    """
    import httpx

    address = (url or os.environ.get("DENIABLE_URL", "")).rstrip("/")
    secret = token or os.environ.get("DENIABLE_TOKEN", "")
    if not address.startswith(("http://", "https://")):
        raise UnreachableError(
            f"url must begin with https:// or http://, got {address!r}: "
            "give it to connect() or set DENIABLE_URL"
        )
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    return Service(
        httpx.Client(base_url=address, headers=headers, timeout=TIMEOUT_SECONDS), address
    )


class Service:
    """Questions to one service. May be used as a context manager."""

    def __init__(self, client: httpx.Client, address: str) -> None:
        self._client = client
        self.address = address

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        """Without the token."""
        return f"Service({self.address!r})"

    def close(self) -> None:
        """Give back its sockets."""
        self._client.close()

    def collections(self, *, archived: bool = False) -> Rows:
        """Every collection, by its newest manifest; those that are archived only if asked for."""
        listed = self._get("/v1/collections", {"archived": "true"} if archived else None)
        return Rows(_rows(listed, "collections"), {})

    def estimates(
        self,
        collection: str,
        *,
        first: Epoch | None = None,
        last: Epoch | None = None,
        confidence: float = 0.95,
        family: str = "each",
        **further: str | float | Sequence[str],
    ) -> Estimates:
        """Frequencies with intervals, all epochs as one; of numbers mean and quantiles, too.

        `further` are other arguments of the address, under their names there: `projection`,
        `significant`, `liars`, `set`, `marginal`, `candidate`, `range`, `quantile`.
        """
        asked: Document = {
            "from": first,
            "to": last,
            "confidence": confidence,
            "family": family,
            **further,
        }
        document = self._get(f"/v1/collections/{_named(collection)}/estimates", asked)
        nested = ("estimates", "mean", "quantiles", "sets", "ranges")
        about = {name: value for name, value in document.items() if name not in nested}
        return Estimates([*_quantities(document), *_rows(document, "estimates")], about)

    def series(
        self,
        collection: str,
        *,
        labels: Sequence[str] = (),
        first: Epoch | None = None,
        last: Epoch | None = None,
        confidence: float = 0.95,
        family: str = "each",
    ) -> Estimates:
        """The same epoch by epoch, in the order of time; never to be averaged."""
        path = f"/v1/collections/{_named(collection)}/series"
        asked: Document = {"to": last, "confidence": confidence, "family": family}
        asked["label"] = list(labels)
        rows: list[Document] = []
        few: list[object] = []
        following: object = first
        while True:
            page = self._get(path, asked | {"from": following})
            rows += _rows(page, "rows")
            few += _list(page, "too_few_reports")
            following = page["next"]
            if following is None:
                about = {name: page[name] for name in ("collection", "confidence")}
                return Estimates(rows, about | {"too_few_reports": few})

    def epochs(self, collection: str) -> Rows:
        """The epochs, their counts where they may be read; `about` has the rejections."""
        document = self._get(f"/v1/collections/{_named(collection)}/epochs")
        rows = _rows(document, "epochs")
        return Rows(rows, {name: v for name, v in document.items() if name != "epochs"})

    def releases(self, collection: str) -> Rows:
        """What was released, oldest first, without results."""
        document = self._get(f"/v1/collections/{_named(collection)}/releases")
        return Rows(_rows(document, "releases"), {"collection": document["collection"]})

    def release(self, collection: str, release: str) -> Document:
        """One release as it was made."""
        return self._get(f"/v1/collections/{_named(collection)}/releases/{_named(release)}")

    def ledger(self, collection: str | None = None) -> Rows:
        """What releases have cost and what is left, a row a collection."""
        return Rows(_rows(self._get("/v1/ledger", {"collection": collection}), "collections"), {})

    def _get(self, path: str, asked: Given | None = None) -> Document:
        import httpx

        given = {name: _text(value) for name, value in (asked or {}).items() if value is not None}
        try:
            answer = self._client.get(path, params=given)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UnreachableError(
                f"nothing answers at {self.address} ({error}): is the service running?"
            ) from error
        document = _document(answer.content)
        if not answer.is_success:
            raise _refused(answer.status_code, document or {})
        if document is None:
            raise UnreachableError(
                f"{self.address}{path} answered no JSON object: is this a deniable service?"
            )
        return document


def _named(name: str) -> str:
    """As one step of a path."""
    from urllib.parse import quote

    return quote(name, safe="")


def _text(value: object) -> str | list[str]:
    if isinstance(value, (list, tuple)):
        return [str(each) for each in value]
    return value.isoformat()[:10] if isinstance(value, date) else str(value)


def _document(body: bytes) -> Document | None:
    try:
        document = json.loads(body)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _refused(status: int, problem: Document) -> ServiceError:
    return ServiceError(
        str(problem.get("title") or f"HTTP {status}"),
        str(problem.get("detail") or ""),
        slug=str(problem.get("type", "")).rpartition(":")[2],
        status=status,
        retry=problem.get("retry") is True,
    )


def _list(document: Document, name: str) -> list[object]:
    value = document.get(name)
    return value if isinstance(value, list) else []


def _rows(document: Document, name: str) -> list[Document]:
    return [row for row in _list(document, name) if isinstance(row, dict)]


def _quantities(document: Document) -> list[Document]:
    """Of numbers: mean and quantiles, under `label` like the rest."""
    found = [document["mean"]] if isinstance(document.get("mean"), dict) else []
    rows = [row for row in found if isinstance(row, dict)] + _rows(document, "quantiles")
    return [{"label": row["name"], **{k: v for k, v in row.items() if k != "name"}} for row in rows]
