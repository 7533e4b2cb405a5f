"""A connection to one service: one method for each query, with answers as rows."""

from __future__ import annotations

import os
from datetime import date
from typing import TYPE_CHECKING, Any, Self

from deniable_aggregator.client.errors import NOTEBOOK_CURES, QueryError, UnreachableError
from deniable_aggregator.client.remote import remote
from deniable_aggregator.client.usual_periods import usual_periods
from deniable_aggregator.query.rows import Estimates, Rows, members

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from deniable_aggregator.client.connection import Argument
    from deniable_aggregator.client.service_client import ServiceClient

__all__ = ["Epoch", "Period", "Service", "connect"]

Epoch = int | str | date
"""An epoch index, or a day: a date or its text."""

Period = Epoch | tuple[Epoch | None, Epoch | None]
"""The first and the last epoch, None for no limit; or a single epoch."""


def connect(url: str | None = None, token: str | None = None) -> Service:
    """The service at `url`; by default at DENIABLE_URL with the token DENIABLE_TOKEN.

    Nothing is sent yet.
    """
    address = (url or os.environ.get("DENIABLE_URL", "")).rstrip("/")
    secret = token or os.environ.get("DENIABLE_TOKEN", "")
    if not address.startswith(("http://", "https://")):
        raise UnreachableError(
            f"url must begin with https:// or http://, got {address!r}: "
            "give it to connect() or set DENIABLE_URL"
        )
    return Service(remote(address, secret, cures=NOTEBOOK_CURES))


class Service:
    """Queries to one service. May be used as a context manager."""

    def __init__(self, client: ServiceClient) -> None:
        self._client = client
        self.address = client.address

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
        """The address, without the token."""
        return f"Service({self.address!r})"

    def close(self) -> None:
        """Close the sockets."""
        self._client.close()

    def collections(self, *, archived: bool = False) -> Rows:
        """Every collection, by its newest manifest; archived ones only if `archived`."""
        return Rows(self._client.collections(archived=archived).document.collections, {})

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
        """Estimated frequencies with intervals over all epochs; for numbers mean and quantiles.

        `further`: other arguments of `/v1/collections/{collection}/estimates`: `projection`,
        `significant`, `liars`, `set`, `marginal`, `candidate`, `range`, `quantile`.
        """
        span = _span(first, last)
        arguments = {**span, "confidence": confidence, "family": family, **further}
        document = self._client.estimates(collection, arguments).document
        quantities = [{"label": row.name, **members(row, "name")} for row in document.quantities]
        about = members(document, "estimates", "mean", "quantiles", "sets", "ranges")
        return Estimates([*quantities, *document.estimates], about)

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
        """Estimates epoch by epoch, in order of time. Do not average them."""
        span = _span(first, last)
        arguments = {**span, "confidence": confidence, "family": family, "label": list(labels)}
        document = self._client.series(collection, arguments)
        return Estimates(document.rows, members(document, "rows", "next"))

    def comparison(
        self,
        collection: str,
        *,
        before: Period | None = None,
        after: Period | None = None,
        confidence: float = 0.95,
        family: str = "all",
        **further: Sequence[str],
    ) -> Estimates:
        """The changes from one period to another: `after` must start after `before` ends.

        Without periods: the newest closed week against the week before.
        One row for each answer: `before`, `after`, `difference` with its interval, and `changed`.
        `about` has both periods. `further`: `marginal` for a record and `candidate` for texts.
        """
        arguments: Mapping[str, Argument] = {
            **self._periods(collection, before, after),
            "confidence": confidence,
            "family": family,
            **further,
        }
        document = self._client.comparison(collection, arguments).document
        return Estimates(document.differences, members(document, "differences"))

    def _periods(
        self, collection: str, before: Period | None, after: Period | None
    ) -> Mapping[str, Argument]:
        if before is None and after is None:
            return usual_periods(self._client.epochs(collection).document)
        if before is None or after is None:
            raise QueryError("name both periods, before and after, or neither")
        first, last = map(_text, _ends(before))
        return {"before_from": first, "before_to": last, **_span(*_ends(after))}

    def epochs(self, collection: str) -> Rows:
        """The epochs with their counts, if these may be read; `about` has the rejections."""
        document = self._client.epochs(collection).document
        return Rows(document.epochs, members(document, "epochs"))

    def releases(self, collection: str) -> Rows:
        """The releases, oldest first, without results."""
        document = self._client.releases(collection).document
        return Rows(document.releases, members(document, "releases"))

    def release(self, collection: str, release: str) -> dict[str, Any]:
        """One release as it was made, with every member that the service sends."""
        return self._client.release(collection, release).json()

    def ledger(self, collection: str | None = None) -> Rows:
        """The spent and remaining privacy budget, one row for each collection."""
        return Rows(self._client.ledger(collection).document.collections, {})


def _ends(period: Period) -> tuple[Epoch | None, Epoch | None]:
    return period if isinstance(period, tuple) else (period, period)


def _span(first: Epoch | None, last: Epoch | None) -> Mapping[str, Argument]:
    return {"from": _text(first), "to": _text(last)}


def _text(epoch: Epoch | None) -> str | None:
    if epoch is None:
        return None
    return epoch.isoformat()[:10] if isinstance(epoch, date) else str(epoch)
