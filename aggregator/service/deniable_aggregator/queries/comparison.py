"""Compares two periods of one collection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import UnsetType

from deniable_aggregator.documents.comparison import (
    ComparisonArguments,
    ComparisonDocument,
    DifferenceDocument,
    PeriodDocument,
)
from deniable_aggregator.documents.estimate_arguments import EstimatesArguments
from deniable_aggregator.queries.epoch_ranges import epoch_range
from deniable_aggregator.queries.labels import label_estimates
from deniable_aggregator.queries.numbers import (
    finite,
    mean_quantity,
    number_arguments,
    number_documents,
)
from deniable_aggregator.queries.pooled_tallies import EpochRange, PooledTally, pooled_tally
from deniable_aggregator.queries.tables import table_axes
from deniable_aggregator.queries.texts import check_candidates
from deniable_estimators.inference.difference import (
    Differences,
    PeriodEstimate,
    cautious_confidence,
    difference,
    difference_without_independence,
    halved_miss_confidence,
    independent_mean_difference,
)
from deniable_gateway.problem import refuse
from deniable_shared.domains import Number, Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.estimates import QuantityDocument
    from deniable_aggregator.store.protocols import Reports


def comparison(
    store: Reports, collection: Collection, question: ComparisonArguments
) -> ComparisonDocument:
    """The later period minus the earlier one. Raises as `estimates`."""
    before, after = _periods(collection, question)
    if isinstance(collection.manifest.domain, Text) and not question.candidate:
        raise refuse("candidate", accepted="given: the texts to compare", given="none")
    periods = [pooled_tally(store, collection, span) for span in (before, after)]
    numbers = isinstance(collection.manifest.domain, Number)
    rows_of = _number_differences if numbers else _label_differences
    rows = rows_of(collection, periods, question)
    unit: Literal["share", "value"] = "value" if numbers else "share"
    return ComparisonDocument(
        collection=collection.id,
        mechanism=collection.mechanism.id,
        repeat=collection.manifest.repeat,
        before=_period(periods[0]),
        after=_period(periods[1]),
        confidence=question.confidence,
        family=question.family,
        unit=unit,
        changed=sum(row.changed for row in rows),
        differences=rows,
    )


def _periods(
    collection: Collection, question: ComparisonArguments
) -> tuple[EpochRange, EpochRange]:
    """Both periods. Raises invalid-argument unless the later one starts after the other ends."""
    seconds = collection.manifest.epoch_seconds
    if isinstance(question.before_last, UnsetType):
        raise refuse("before_to", accepted="given: the end of the period before", given="nothing")
    if isinstance(question.first, UnsetType):
        raise refuse("from", accepted="given: the start of the later period", given="nothing")
    before = epoch_range(question.before_first, question.before_last, seconds)
    after = epoch_range(question.first, question.last, seconds)
    if after.first <= before.last:
        raise refuse(
            "from",
            accepted=f"after before_to ({question.before_last}), where the earlier period ends; "
            "swap the two periods if you named the later one first",
            given=question.first,
        )
    return before, after


def _period(reports: PooledTally) -> PeriodDocument:
    return PeriodDocument(list(reports.epochs), reports.n, reports.provisional)


def _label_differences(
    collection: Collection, periods: Sequence[PooledTally], question: ComparisonArguments
) -> list[DifferenceDocument]:
    """Differences of labels; for tables and texts the estimates may be dependent."""
    arguments = EstimatesArguments(
        confidence=halved_miss_confidence(question.confidence),
        family=question.family,
        marginal=question.marginal,
        candidate=question.candidate,
    )
    axes = table_axes(collection, question.marginal)
    check_candidates(collection, question.candidate)
    plain = not axes and not question.candidate and collection.estimator.estimand == "labels"
    if plain:
        before, after = (_period_estimate(collection, reports, question) for reports in periods)
        labels: Sequence[str] = collection.manifest.domain.labels
        values = [before.estimate.frequencies.tolist(), after.estimate.frequencies.tolist()]
        return _rows(labels, values, difference(before, after))
    one, other = (label_estimates(collection, reports, arguments, axes) for reports in periods)
    earlier, later = one.estimate, other.estimate
    values = [earlier.frequencies.tolist(), later.frequencies.tolist()]
    return _rows(one.labels, values, difference_without_independence(earlier, later))


def _period_estimate(
    collection: Collection, reports: PooledTally, question: ComparisonArguments
) -> PeriodEstimate:
    return PeriodEstimate.of(
        collection.estimator,
        reports.tally,
        reports.n,
        confidence=question.confidence,
        epochs=len(reports.epochs),
        family=question.family,
    )


def _rows(
    labels: Sequence[str], values: Sequence[Sequence[float]], changes: Differences
) -> list[DifferenceDocument]:
    columns = (
        labels,
        *values,
        changes.values.tolist(),
        changes.lower.tolist(),
        changes.upper.tolist(),
    )
    return [
        DifferenceDocument(
            label=label,
            before=finite(before),
            after=finite(after),
            difference=finite(value),
            lower=lower,
            upper=upper,
            changed=lower > 0 or upper < 0,
        )
        for label, before, after, value, lower, upper in zip(*columns, strict=True)
    ]


def _number_differences(
    collection: Collection, periods: Sequence[PooledTally], question: ComparisonArguments
) -> list[DifferenceDocument]:
    """Differences of mean and quantiles, if the mechanism has them.

    Only that of the mean uses that the periods are independent, where no one reports twice.
    """
    levels = number_arguments(collection, EstimatesArguments()).levels
    together = 1 + len(levels) if question.family == "all" else 1
    confidence = 1 - (1 - question.confidence) / together
    sure = EstimatesArguments(confidence=halved_miss_confidence(confidence))
    one, other = (_quantities(collection, reports, sure) for reports in periods)
    rows = [_quantity_difference(one[name], other[name]) for name in one if name in other]
    narrow = _mean_limits(collection, periods, confidence)
    if narrow is None:
        return rows
    return [_with_limits(row, *narrow) if row.label == "mean" else row for row in rows]


def _mean_limits(
    collection: Collection, periods: Sequence[PooledTally], confidence: float
) -> tuple[float, float] | None:
    """Limits of the change of the mean; None unless the periods are known to be independent."""
    if collection.estimator.repeat != "once":
        return None
    sure = cautious_confidence(confidence)
    before, after = (mean_quantity(collection, each, confidence=sure) for each in periods)
    if before is None or after is None:
        return None
    return independent_mean_difference(before, after, confidence=confidence)


def _quantities(
    collection: Collection, reports: PooledTally, question: EstimatesArguments
) -> dict[str, QuantityDocument]:
    document = number_documents(
        collection, reports, question, number_arguments(collection, question)
    )
    mean = [document["mean"]] if "mean" in document else []
    return {each.name: each for each in (*mean, *document.get("quantiles", ()))}


def _quantity_difference(before: QuantityDocument, after: QuantityDocument) -> DifferenceDocument:
    lower, upper = after.lower - before.upper, after.upper - before.lower
    both_estimated = before.value is not None and after.value is not None
    return DifferenceDocument(
        label=before.name,
        before=before.value,
        after=after.value,
        difference=(after.value or 0.0) - (before.value or 0.0) if both_estimated else None,
        lower=lower,
        upper=upper,
        changed=lower > 0 or upper < 0,
    )


def _with_limits(row: DifferenceDocument, lower: float, upper: float) -> DifferenceDocument:
    return msgspec.structs.replace(row, lower=lower, upper=upper, changed=lower > 0 or upper < 0)
