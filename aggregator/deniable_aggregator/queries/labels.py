"""The estimates of some reports with their labels: of all labels, of tables or of texts."""

from __future__ import annotations

from collections.abc import Sequence

from deniable_aggregator.documents.estimate_arguments import EstimatesArguments
from deniable_aggregator.queries.pooled_tallies import PooledTally
from deniable_aggregator.queries.tables import Shown, shown_tables
from deniable_aggregator.queries.texts import shown_texts
from deniable_aggregator.registry import Collection
from deniable_shared.domain import Text


def of_labels(
    collection: Collection,
    reports: PooledTally,
    question: EstimatesArguments,
    axes: Sequence[tuple[int, ...]] = (),
) -> Shown:
    """The tables of these axes if there are any; no labels where a mean alone is estimated."""
    if axes:
        return shown_tables(collection, reports, question, axes)
    if isinstance(collection.manifest.domain, Text):
        return shown_texts(collection, reports, question)
    estimate = collection.estimator.estimate(
        reports.tally,
        reports.n,
        confidence=question.confidence,
        epochs=len(reports.epochs),
        family=question.family,
    )
    labels = () if collection.estimator.tells == "mean" else collection.manifest.domain.labels
    return Shown((estimate,), labels)
