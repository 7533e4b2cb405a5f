"""The estimates of some reports with their labels: of all labels, of tables or of texts.

A chart over time shows a `LabelSeries`: single labels, or the mean of numbers, epoch by epoch.
The estimates are those of `estimates_by_epoch`, without the documents of all other labels. So that
a page stays quick, only the newest epochs are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.queries.epoch_ranges import epoch_range
from deniable_aggregator.queries.numbers import finite, mean_of
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
    """The tables of these axes if there are any; no labels where a mean alone is estimated."""
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


MEAN = "mean"
MOST_EPOCHS = 400
ENTRIES = 200_000
"""Most labels times epochs that are estimated for one picture."""


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """One estimate of one epoch; None where it has none."""

    value: float | None
    lower: float | None
    upper: float | None


NO_ESTIMATE = SeriesPoint(None, None, None)


@dataclass(frozen=True, slots=True)
class LabelSeries:
    """`lines` has a point for each epoch of each label, `left_out` how many older epochs."""

    epochs: tuple[int, ...]
    n: tuple[int, ...]
    provisional: tuple[bool, ...]
    lines: Mapping[str, Sequence[SeriesPoint]]
    too_few: int
    left_out: int


def label_series(
    store: Reports, collection: Collection, question: EstimatesArguments, *, labels: Sequence[str]
) -> LabelSeries:
    """These labels, epoch by epoch; of numbers the mean, by the label MEAN.

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
    """As many as there is time for, and how many older ones that leaves out."""
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
    """From the reports of one epoch to the points of the labels."""
    if isinstance(collection.manifest.domain, Number):
        return lambda reports: _mean(collection, reports, question)
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


def _mean(
    collection: Collection, reports: PooledTally, question: EstimatesArguments
) -> Mapping[str, SeriesPoint]:
    middle = mean_of(collection, reports, confidence=question.confidence)
    return {} if middle is None else {MEAN: SeriesPoint(middle.value, middle.lower, middle.upper)}
