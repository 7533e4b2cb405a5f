"""Two periods of one collection held against each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec
from flask import Blueprint, Response
from msgspec import UnsetType

from deniable_aggregator.api.estimates import shown_of
from deniable_aggregator.api.operations import operation
from deniable_aggregator.documents.comparison import (
    ComparisonArguments,
    ComparisonDocument,
    DifferenceDocument,
    PeriodDocument,
)
from deniable_aggregator.documents.estimate_arguments import EstimatesArguments
from deniable_aggregator.documents.estimates import QuantityDocument
from deniable_aggregator.estimate.difference import (
    Differences,
    Period,
    apart,
    difference,
    halved,
)
from deniable_aggregator.problem import refuse
from deniable_aggregator.queries.numbers import asked_of_numbers, of_numbers
from deniable_aggregator.queries.pooled import Reading, Span, pooled
from deniable_aggregator.queries.spans import span_of
from deniable_aggregator.queries.tables import tables_asked
from deniable_aggregator.queries.texts import check_candidates
from deniable_aggregator.registry import Collection
from deniable_aggregator.web.application import service
from deniable_aggregator.web.formats import answered, tables
from deniable_aggregator.web.lists import COMPARISON_COLUMNS, compared_rows
from deniable_shared.domain import Number, Text

__all__ = ["blueprint", "compared"]

blueprint = Blueprint("comparison", __name__)


@blueprint.get("/v1/collections/<collection>/comparison")
@operation(
    tag="analysts",
    role="viewer",
    query=ComparisonArguments,
    answers=tables(ComparisonDocument),
    problems=("unknown-collection", "read-refused", "too-few-reports", "not-acceptable"),
)
def comparison(collection: str, query: ComparisonArguments) -> Response:
    """How much more or fewer people have each label between `from` and `to` than before.

    The period before is `before_from` to `before_to`; the two may not share an epoch. Intervals
    hold whatever device answered in which period, and together unless `family=each`. Numbers are
    compared by mean and quantiles, texts by the `candidate`s that are named.
    """
    document = compared(service().registry.get(collection), query)
    return answered(document, lambda: compared_rows(document), COMPARISON_COLUMNS)


def compared(found: Collection, query: ComparisonArguments) -> ComparisonDocument:
    """What the address answers, also for pages; raises what it refuses."""
    before, after = _periods(found, query)
    if isinstance(found.manifest.domain, Text) and not query.candidate:
        raise refuse("candidate", accepted="given for texts: which ones to compare", given="none")
    readings = [pooled(service().store, found, span) for span in (before, after)]
    numbers = isinstance(found.manifest.domain, Number)
    rows = _of_numbers(found, readings, query) if numbers else _of_labels(found, readings, query)
    unit: Literal["share", "value"] = "value" if numbers else "share"
    return ComparisonDocument(
        collection=found.id,
        mechanism=found.mechanism.id,
        repeat=found.manifest.repeat,
        before=_period(readings[0]),
        after=_period(readings[1]),
        confidence=query.confidence,
        family=query.family,
        unit=unit,
        changed=sum(row.changed for row in rows),
        differences=rows,
    )


def _periods(found: Collection, query: ComparisonArguments) -> tuple[Span, Span]:
    """Both, apart from each other."""
    seconds = found.manifest.epoch_seconds
    if isinstance(query.before_last, UnsetType):
        raise refuse("before_to", accepted="given: the end of the period before", given="nothing")
    if isinstance(query.first, UnsetType):
        raise refuse("from", accepted="given: the start of the later period", given="nothing")
    before = span_of(query.before_first, query.before_last, seconds)
    after = span_of(query.first, query.last, seconds)
    if before.last >= after.first and after.last >= before.first:
        accepted = "outside of the period before: the two may not share an epoch"
        raise refuse("from", accepted=accepted, given=query.first)
    return before, after


def _period(reading: Reading) -> PeriodDocument:
    return PeriodDocument(list(reading.epochs), reading.n, reading.provisional)


def _of_labels(
    found: Collection, readings: Sequence[Reading], query: ComparisonArguments
) -> list[DifferenceDocument]:
    """Label by label; of tables and texts by intervals that need not be independent."""
    asked = EstimatesArguments(
        confidence=halved(query.confidence),
        family=query.family,
        marginal=query.marginal,
        candidate=query.candidate,
    )
    axes = tables_asked(found, query.marginal)
    check_candidates(found, query.candidate)
    plain = not axes and not query.candidate and found.estimator.tells == "labels"
    if plain:
        before, after = (_told(found, reading, query) for reading in readings)
        labels: Sequence[str] = found.manifest.domain.labels
        values = [before.estimate.frequencies.tolist(), after.estimate.frequencies.tolist()]
        return _rows(labels, values, difference(before, after))
    one, other = (shown_of(found, reading, asked, axes) for reading in readings)
    values = [each.estimate.frequencies.tolist() for each in (one, other)]
    return _rows(one.labels, values, apart(one.estimate, other.estimate))


def _told(found: Collection, reading: Reading, query: ComparisonArguments) -> Period:
    return Period.of(
        found.estimator,
        reading.tally,
        reading.n,
        confidence=query.confidence,
        epochs=len(reading.epochs),
        family=query.family,
    )


def _rows(
    labels: Sequence[str], values: Sequence[Sequence[float]], found: Differences
) -> list[DifferenceDocument]:
    columns = (labels, *values, found.values.tolist(), found.lower.tolist(), found.upper.tolist())
    return [
        DifferenceDocument(
            label=label,
            before=_finite(before),
            after=_finite(after),
            difference=_finite(value),
            lower=lower,
            upper=upper,
            changed=lower > 0 or upper < 0,
        )
        for label, before, after, value, lower, upper in zip(*columns, strict=True)
    ]


def _of_numbers(
    found: Collection, readings: Sequence[Reading], query: ComparisonArguments
) -> list[DifferenceDocument]:
    """Mean and quantiles, as far as they are told; under family all they hold together."""
    base = EstimatesArguments(confidence=halved(query.confidence))
    asked = asked_of_numbers(found, base)
    told = 1 + len(asked.levels) if query.family == "all" else 1
    sure = msgspec.structs.replace(base, confidence=1 - (1 - base.confidence) / told)
    one, other = (_quantities(found, reading, sure) for reading in readings)
    return [_row(one[name], other[name]) for name in one if name in other]


def _quantities(
    found: Collection, reading: Reading, query: EstimatesArguments
) -> dict[str, QuantityDocument]:
    document = of_numbers(found, reading, query, asked_of_numbers(found, query))
    mean = [document["mean"]] if "mean" in document else []
    return {each.name: each for each in (*mean, *document.get("quantiles", ()))}


def _row(before: QuantityDocument, after: QuantityDocument) -> DifferenceDocument:
    lower, upper = after.lower - before.upper, after.upper - before.lower
    known = before.value is not None and after.value is not None
    return DifferenceDocument(
        label=before.name,
        before=before.value,
        after=after.value,
        difference=(after.value or 0.0) - (before.value or 0.0) if known else None,
        lower=lower,
        upper=upper,
        changed=lower > 0 or upper < 0,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
