"""Single labels, or a mean, epoch by epoch: the numbers of the API, of these labels only.

The estimates are those that `group_by=epoch` answers with; what is left out are the documents of
all the other labels, which a wide domain has many of. So that a page stays quick only the newest
epochs are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from deniable_aggregator.api.estimates import shown_of
from deniable_aggregator.documents.estimate_arguments import EstimatesArguments
from deniable_aggregator.queries.numbers import asked_of_numbers, of_numbers
from deniable_aggregator.queries.pooled import Reading, Span, by_epoch, visible
from deniable_aggregator.queries.spans import span_of
from deniable_aggregator.queries.tables import tables_asked
from deniable_aggregator.registry import Collection
from deniable_aggregator.web.application import service

__all__ = ["MEAN", "Moment", "Series", "series_of"]

MEAN = "mean"
MOST_EPOCHS = 400
ENTRIES = 200_000
"""Most labels times epochs that are estimated for one picture."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One estimate of one epoch; None where it has none."""

    value: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True, slots=True)
class Series:
    """`lines` has a moment for each epoch of each label, `left_out` how many older epochs."""

    epochs: tuple[int, ...]
    n: tuple[int, ...]
    provisional: tuple[bool, ...]
    lines: dict[str, list[Moment]]
    too_few: int
    left_out: int


def series_of(found: Collection, query: EstimatesArguments, labels: Sequence[str]) -> Series:
    """Of these labels; raises what a reading refuses, too-few-reports among it."""
    asked = span_of(query.first, query.last, found.manifest.epoch_seconds)
    span, left_out = _newest(found, asked)
    readings, few = by_epoch(service().store, found, span)
    lines: dict[str, list[Moment]] = {label: [] for label in labels}
    epochs, n, provisional = [], [], []
    for reading in readings:
        epochs.append(reading.epochs[0])
        n.append(reading.n)
        provisional.append(reading.provisional)
        told = (
            _mean(found, reading, query)
            if labels == [MEAN]
            else _told(found, reading, query, labels)
        )
        for label in labels:
            lines[label].append(told.get(label, Moment(None, None, None)))
    return Series(tuple(epochs), tuple(n), tuple(provisional), lines, len(few), left_out)


def _newest(found: Collection, span: Span) -> tuple[Span, int]:
    """As many as there is time for, and how many older ones that leaves out."""
    rows = [
        row.epoch
        for row in visible(found, service().store.epochs(found.id))
        if span.first <= row.epoch <= span.last
    ]
    most = max(1, min(MOST_EPOCHS, ENTRIES // found.mechanism.tally_size))
    if len(rows) <= most:
        return span, 0
    return Span(rows[-most], span.last), len(rows) - most


def _mean(found: Collection, reading: Reading, query: EstimatesArguments) -> dict[str, Moment]:
    told = of_numbers(found, reading, query, asked_of_numbers(found, query)).get("mean")
    return {} if told is None else {MEAN: Moment(told.value, told.lower, told.upper)}


def _told(
    found: Collection, reading: Reading, query: EstimatesArguments, labels: Sequence[str]
) -> dict[str, Moment]:
    shown = shown_of(found, reading, query, tables_asked(found, query.marginal))
    estimate, wanted = shown.estimate, frozenset(labels)
    return {
        label: Moment(
            _finite(float(estimate.frequencies[place])),
            _finite(float(estimate.lower[place])),
            _finite(float(estimate.upper[place])),
        )
        for place, label in enumerate(shown.labels)
        if label in wanted
    }


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
