"""Estimates of numbers: mean, quantiles, ranges, and the clipping range.

Every mechanism with known covariances of its frequencies (`LinearEstimator`) gives each part:
all but those of the mean alone. Under family "all" the quantiles of a document hold together, and
so do its ranges (Bonferroni).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from deniable_aggregator.documents.estimates import (
    ClippedDocument,
    QuantityDocument,
    RangeDocument,
)
from deniable_estimators.inference.functionals import LinearEstimator
from deniable_estimators.inference.quantities import LEVELS, Quantity, mean, quantiles, ranges
from deniable_gateway.problem import Problem, refuse
from deniable_shared.domains import Number
from deniable_shared.domains.number import decimal_text
from deniable_shared.errors import DeniableError

if TYPE_CHECKING:
    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.estimate_arguments import EstimatesArguments
    from deniable_aggregator.queries.pooled_tallies import PooledTally

_HAVE_BOTH = "tree/1, haar/1 and square-wave/1 have ranges and quantiles"


class _NumberFields(TypedDict, total=False):
    clipped: ClippedDocument
    mean: QuantityDocument
    quantiles: list[QuantityDocument]
    ranges: list[RangeDocument]


@dataclass(frozen=True, slots=True)
class NumberArguments:
    """Ranges as first and last index, and levels of quantiles; by default the usual levels."""

    ranges: tuple[tuple[int, int], ...] = ()
    levels: tuple[float, ...] = LEVELS


def number_arguments(collection: Collection, question: EstimatesArguments) -> NumberArguments:
    """The requested ranges and quantiles. Raises invalid-argument if the mechanism has none."""
    domain = collection.manifest.domain
    if not isinstance(domain, Number):
        for name, given in (("range", question.ranges), ("quantile", question.quantiles)):
            if given:
                raise refuse(name, accepted="left out: only numbers have one", given=given[0])
        return NumberArguments()
    if not isinstance(collection.estimator, LinearEstimator):
        for name, given in (("range", question.ranges), ("quantile", question.quantiles)):
            if given:
                raise _refused_argument(collection, name, given[0])
    bounds = tuple(_range(domain, text) for text in question.ranges)
    return NumberArguments(bounds, tuple(map(_level, question.quantiles)) or LEVELS)


def _level(text: str) -> float:
    try:
        level = float(text)
    except ValueError:
        level = math.nan
    if not 0 < level < 1:
        raise refuse("quantile", accepted="a number strictly between 0 and 1", given=text)
    return level


def _range(domain: Number, text: str) -> tuple[int, int]:
    low, _, high = text.partition("..")
    first, last = (_place(domain, end.strip(), text) for end in (low, high))
    if first > last:
        raise refuse("range", accepted="a..b with a at most b", given=text)
    if (first, last) == (0, domain.size - 1):
        raise refuse("range", accepted="less than all values: the share of all is 1", given=text)
    return first, last


def _place(domain: Number, end: str, text: str) -> int:
    try:
        return domain.place(end)
    except DeniableError as error:
        accepted = f"a..b, values of {domain.steps}, both included"
        raise refuse("range", accepted=accepted, given=text) from error


def _refused_argument(collection: Collection, argument: str, given: str) -> Problem:
    has = "only the mean" if collection.estimator.estimand == "mean" else "no sums of values"
    accepted = f"left out for {collection.mechanism.id}, which has {has}: {_HAVE_BOTH}"
    return refuse(argument, accepted=accepted, given=given)


def number_documents(
    collection: Collection,
    reports: PooledTally,
    question: EstimatesArguments,
    numbers: NumberArguments,
) -> _NumberFields:
    """The fields of numbers; empty for other domains, without parts that the mechanism lacks."""
    domain, estimator = collection.manifest.domain, collection.estimator
    if not isinstance(domain, Number):
        return {}
    document = _NumberFields(clipped=_clipped(domain))
    counts, epochs = (reports.tally, reports.n), len(reports.epochs)
    middle = mean_of(collection, reports, confidence=question.confidence)
    if middle is not None:
        document["mean"] = middle
    sure = _confidence(question, len(numbers.levels))
    quantities = quantiles(
        estimator, domain, *counts, levels=numbers.levels, confidence=sure, epochs=epochs
    )
    if quantities:
        document["quantiles"] = list(map(_document, quantities))
    if numbers.ranges and isinstance(estimator, LinearEstimator):
        bounds = [(domain.value(first), domain.value(last)) for first, last in numbers.ranges]
        sure = _confidence(question, len(bounds))
        shares = ranges(estimator, domain, *counts, bounds, confidence=sure, epochs=epochs)
        document["ranges"] = [
            _range_document(domain, reports.n, ends, share)
            for ends, share in zip(numbers.ranges, shares, strict=True)
        ]
    return document


def mean_of(
    collection: Collection, reports: PooledTally, *, confidence: float
) -> QuantityDocument | None:
    """The mean of numbers; None for other domains, and if the mechanism has no mean."""
    middle = mean_quantity(collection, reports, confidence=confidence)
    return None if middle is None else _document(middle)


def mean_quantity(
    collection: Collection, reports: PooledTally, *, confidence: float
) -> Quantity | None:
    """As `mean_of`; without reports its value is NaN."""
    domain = collection.manifest.domain
    if not isinstance(domain, Number):
        return None
    return mean(
        collection.estimator,
        domain,
        reports.tally,
        reports.n,
        confidence=confidence,
        epochs=len(reports.epochs),
    )


def median_of(
    collection: Collection, reports: PooledTally, *, confidence: float
) -> QuantityDocument | None:
    """The median of numbers; None for other domains, and if the mechanism has no median."""
    domain = collection.manifest.domain
    if not isinstance(domain, Number):
        return None
    medians = quantiles(
        collection.estimator,
        domain,
        reports.tally,
        reports.n,
        levels=(0.5,),
        confidence=confidence,
        epochs=len(reports.epochs),
    )
    return _document(medians[0]) if medians else None


def _confidence(question: EstimatesArguments, together: int) -> float:
    return 1 - (1 - question.confidence) / (together if question.family == "all" else 1)


def _range_document(
    domain: Number, n: int, ends: tuple[int, int], share: Quantity
) -> RangeDocument:
    first, last = map(domain.decode, ends)
    return RangeDocument(
        low=first,
        high=last,
        count=finite(n * share.value),
        frequency=finite(share.value),
        std_error=finite(share.std_error),
        lower=share.lower,
        upper=share.upper,
    )


def influence_of(collection: Collection, influence: float) -> float:
    """The influence; in the units of the domain if the mechanism has only a mean."""
    domain = collection.manifest.domain
    if collection.estimator.estimand == "mean" and isinstance(domain, Number):
        return influence * float(domain.high - domain.low)
    return influence


def _clipped(domain: Number) -> ClippedDocument:
    low, high, step = map(decimal_text, (domain.low, domain.high, domain.step))
    return ClippedDocument(low=low, high=high, step=step)


def _document(quantity: Quantity) -> QuantityDocument:
    return QuantityDocument(
        name=quantity.name,
        value=finite(quantity.value),
        std_error=finite(quantity.std_error),
        lower=quantity.lower,
        upper=quantity.upper,
    )


def finite(value: float) -> float | None:
    """The value; None for NaN and infinity."""
    return value if math.isfinite(value) else None
