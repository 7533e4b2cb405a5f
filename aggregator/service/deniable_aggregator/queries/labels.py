"""Estimates of some reports with their labels: of all labels, of tables or of texts.

A chart over time shows a `LabelSeries`: single labels, or mean and median of numbers, by epoch.
Its estimates equal those of `estimates_by_epoch`, without all other labels. It reads only the
newest epochs, so that a page stays quick.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.queries.epoch_ranges import epoch_range
from deniable_aggregator.queries.numbers import finite, mean_of, median_of
from deniable_aggregator.queries.pooled_tallies import (
    EpochRange,
    PooledTally,
    readable_rows,
    tallies_by_epoch,
)
from deniable_aggregator.queries.tables import LabelledEstimates, table_axes, table_estimates
from deniable_aggregator.queries.texts import text_estimates
from deniable_shared.domains import Number, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.estimate_arguments import EstimatesArguments
    from deniable_aggregator.store.protocols import Reports


def label_estimates(
    collection: Collection,
    reports: PooledTally,
    question: EstimatesArguments,
    axes: Sequence[tuple[int, ...]] = (),
) -> LabelledEstimates:
    """The tables of these axes, else all labels; no labels if only a mean is estimated."""
    if axes:
        return table_estimates(collection, reports, question, axes)
    if isinstance(collection.manifest.domain, Text):
        return text_estimates(collection, reports, question)
    estimate = collection.estimator.estimate(
        reports.tally,
        reports.n,
        confidence=question.confidence,
        epochs=len(reports.epochs),
        family=question.family,
    )
    labels = () if collection.estimator.estimand == "mean" else collection.manifest.domain.labels
    return LabelledEstimates((estimate,), labels)


MEAN, MEDIAN = "mean", "p50"
MOST_EPOCHS = 400
ENTRIES = 200_000
"""Most labels times epochs that are estimated for one chart."""


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """One estimate of one epoch; None if there is none."""

    value: float | None
    lower: float | None
    upper: float | None


NO_ESTIMATE = SeriesPoint(None, None, None)


@dataclass(frozen=True, slots=True)
class LabelSeries:
    """`lines`: one point for each epoch of each label; `left_out`: the number of older epochs."""

    epochs: tuple[int, ...]
    n: tuple[int, ...]
    provisional: tuple[bool, ...]
    lines: Mapping[str, Sequence[SeriesPoint]]
    too_few: int
    left_out: int


def label_series(
    store: Reports, collection: Collection, question: EstimatesArguments, *, labels: Sequence[str]
) -> LabelSeries:
    """These labels, epoch by epoch; for numbers the labels are MEAN and MEDIAN.

    Raises read-refused, too-few-reports and invalid-argument.
    """
    whole_range = epoch_range(question.first, question.last, collection.manifest.epoch_seconds)
    span, left_out = _newest_epochs(store, collection, whole_range)
    tallies, few = tallies_by_epoch(store, collection, span)
    points_of = _point_reader(collection, question, labels)
    epochs, n, provisional, points = [], [], [], []
    for reports in tallies:
        epochs.append(reports.epochs[0])
        n.append(reports.n)
        provisional.append(reports.provisional)
        points.append(points_of(reports))
    lines = {label: [each.get(label, NO_ESTIMATE) for each in points] for label in labels}
    return LabelSeries(tuple(epochs), tuple(n), tuple(provisional), lines, len(few), left_out)


def _newest_epochs(
    store: Reports, collection: Collection, span: EpochRange
) -> tuple[EpochRange, int]:
    """As many newest epochs as time allows, and the number of older ones left out."""
    rows = [
        row.epoch
        for row in readable_rows(collection, store.epochs(collection.id))
        if span.first <= row.epoch <= span.last
    ]
    most = max(1, min(MOST_EPOCHS, ENTRIES // collection.mechanism.tally_size))
    if len(rows) <= most:
        return span, 0
    return EpochRange(rows[-most], span.last), len(rows) - most


def _point_reader(
    collection: Collection, question: EstimatesArguments, labels: Sequence[str]
) -> Callable[[PooledTally], Mapping[str, SeriesPoint]]:
    """A function from the reports of one epoch to the points of the labels."""
    if isinstance(collection.manifest.domain, Number):
        return lambda reports: _quantities(collection, reports, question, labels)
    axes, wanted = table_axes(collection, question.marginal), frozenset(labels)

    def points(reports: PooledTally) -> Mapping[str, SeriesPoint]:
        labelled = label_estimates(collection, reports, question, axes)
        estimate = labelled.estimate
        return {
            label: SeriesPoint(
                finite(float(estimate.frequencies[place])),
                finite(float(estimate.lower[place])),
                finite(float(estimate.upper[place])),
            )
            for place, label in enumerate(labelled.labels)
            if label in wanted
        }

    return points


_QUANTITIES = {MEAN: mean_of, MEDIAN: median_of}


def _quantities(
    collection: Collection,
    reports: PooledTally,
    question: EstimatesArguments,
    labels: Sequence[str],
) -> Mapping[str, SeriesPoint]:
    rows = {
        label: _QUANTITIES[label](collection, reports, confidence=question.confidence)
        for label in labels
        if label in _QUANTITIES  # numbers without covariances have only labels
    }
    return {
        label: SeriesPoint(row.value, row.lower, row.upper)
        for label, row in rows.items()
        if row is not None
    }
