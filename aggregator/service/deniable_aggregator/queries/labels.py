"""The estimates of some reports with their labels: of all labels, of tables or of texts."""

from __future__ import annotations

from collections.abc import Sequence

from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.documents.estimate_arguments import EstimatesArguments
from deniable_aggregator.queries.pooled_tallies import PooledTally
from deniable_aggregator.queries.tables import LabelledEstimates, table_estimates
from deniable_aggregator.queries.texts import text_estimates
from deniable_shared.domains import Text


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
