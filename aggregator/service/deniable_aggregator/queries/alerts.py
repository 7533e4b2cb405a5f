"""Alerts of a collection, and their checks, which spend no budget.

An alert compares whenever a period is finished: the newest periods with as many before. It uses the
intervals of *Compare*, all of which hold together with probability at least 1 − α. With α = risk/J
for at most J checks, the probability of any false alert is at most J·α = risk, even if the checks
depend on each other (Bonferroni). J is known in advance: a check needs a newly finished period, and
no version of a question lives longer than a year after the first one.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from deniable_aggregator.documents.alerts import AlertDocument, AlertsDocument
from deniable_aggregator.documents.comparison import ComparisonArguments
from deniable_aggregator.queries.comparison import comparison
from deniable_aggregator.queries.pooled_tallies import refuse_releases_only
from deniable_aggregator.queries.public_results import finished_periods
from deniable_gateway.problem import Problem
from deniable_shared.domains import Text
from deniable_shared.manifest.epochs import day_start, epoch_at
from deniable_shared.manifest.rules import MAX_EXTENSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.comparison import ComparisonDocument
    from deniable_aggregator.store.protocols import Reports, Sharing
    from deniable_aggregator.store.rows import AlertRow


def alerts(store: Sharing, collection: Collection) -> AlertsDocument:
    """Every alert of the collection, oldest first, without the keys of their signatures."""
    rows = msgspec.convert(store.alerts(collection.id), list[AlertDocument], from_attributes=True)
    return AlertsDocument(collection.id, rows)


def require_comparable(collection: Collection) -> None:
    """Raises Problem unless two periods of the collection can be compared without options."""
    refuse_releases_only(collection)
    if isinstance(collection.manifest.domain, Text):
        raise Problem(
            "conflict",
            f"{collection.id} asks for texts: choose the texts to compare on the page Compare",
        )


def newest_finished(store: Reports, collection: Collection) -> int:
    """The newest closed epoch with at least min_batch reports; 0 if there is none."""
    rows = finished_periods(store, collection).epochs(collection.id)
    return rows[-1].epoch if rows else 0


def most_looks(collection: Collection, compared: int) -> int:
    """The number of epochs that the collection can have after `compared`, at least 1."""
    first = collection.first
    end = day_start(first.expires + MAX_EXTENSION) - 1
    last = epoch_at(end, first.epoch_seconds)
    return max(1, last - max(compared, collection.first_epoch - 1))


def look_confidence(risk: str, looks: int) -> float:
    """1 − risk/looks, rounded up."""
    exact = 1 - Fraction(risk) / looks
    rounded = float(exact)
    return rounded if Fraction(rounded) >= exact else _next_up(rounded)


def _next_up(value: float) -> float:
    from math import inf, nextafter

    return nextafter(value, inf)


class Look(NamedTuple):
    """One check: the epoch that made it due, and the comparison, None if there was none."""

    epoch: int
    document: ComparisonDocument | None


def next_look(store: Reports, collection: Collection, alert: AlertRow) -> Look | None:
    """The first check that is due; None if every finished period was checked."""
    view = finished_periods(store, collection)
    epochs = [row.epoch for row in view.epochs(collection.id)]
    due = [epoch for epoch in epochs if epoch > alert.compared]
    if not due:
        return None
    upto = [epoch for epoch in epochs if epoch <= due[0]]
    return Look(due[0], _comparison(view, collection, alert, upto))


def _comparison(
    view: Reports, collection: Collection, alert: AlertRow, epochs: Sequence[int]
) -> ComparisonDocument | None:
    after, before = epochs[-alert.periods :], epochs[-2 * alert.periods : -alert.periods]
    if len(before) < alert.periods:
        return None
    question = ComparisonArguments(
        before_first=str(before[0]),
        before_last=str(before[-1]),
        first=str(after[0]),
        last=str(after[-1]),
        confidence=look_confidence(alert.risk, alert.looks),
        family="all",
    )
    try:
        return comparison(view, collection, question)
    except Problem as problem:
        if problem.slug != "too-few-reports":
            raise
        return None
