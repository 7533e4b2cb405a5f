"""Quantities: the results of a collection of numbers, in the units of its domain.

    mean        Σ_v x_v·f_v
    quantile t  the least value that at least a share t of all people do not exceed
    range       the share of people whose value lies between two ends, both included

All are about the reported values: clipped to the declared ends and rounded to a step. Rounding
moves a mean by at most half a step. The limits of a quantile are where the limits of the
distribution function pass t: the first place for the lower one and the last for the upper one. So
each misses as rarely as one limit of F at one fixed place. Its standard error is half the distance
between the quantiles of F shifted by one standard error up and down; 0 if that is within a step.
Source: docs/mathematics/numbers.md, Quantiles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from deniable_estimators.inference.functionals import Cumulative, LinearEstimator
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_estimators.inference.channel import Counts, Floats
    from deniable_estimators.inference.debias import Estimate
    from deniable_shared.domains import Number

LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
"""The default quantiles."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number. Value and error are NaN without reports.

    A value may lie outside its domain, its interval never does. `lower` ≤ `upper`.
    """

    name: str
    value: float
    std_error: float
    lower: float
    upper: float


class NumberEstimator(Protocol):
    """The part of an estimator that this module needs."""

    @property
    def estimand(self) -> str: ...

    def estimate(
        self,
        tally: Counts,
        n: int,
        *,
        confidence: float = 0.95,
        epochs: int = 1,
        family: str = "each",
    ) -> Estimate: ...


def mean(
    estimator: NumberEstimator,
    domain: Number,
    tally: Counts,
    n: int,
    *,
    confidence: float = 0.95,
    epochs: int = 1,
) -> Quantity | None:
    """Return the mean of all people; None if the estimator does not know the labels' covariance."""
    if estimator.estimand == "mean":
        estimate = estimator.estimate(tally, n, confidence=confidence, epochs=epochs)
        share = (
            estimate.frequencies[0],
            estimate.std_errors[0],
            estimate.lower[0],
            estimate.upper[0],
        )
    elif isinstance(estimator, LinearEstimator):
        weights = np.linspace(0.0, 1.0, domain.size)[None, :]
        estimates = estimator.functionals(weights, tally, n, confidence=confidence, epochs=epochs)
        share = (
            estimates.values[0],
            estimates.std_errors[0],
            estimates.lower[0],
            estimates.upper[0],
        )
    else:
        return None
    low, span = float(domain.low), float(domain.high - domain.low)
    value, error, lower, upper = map(float, share)
    return Quantity(
        "mean", low + span * value, span * error, low + span * lower, low + span * upper
    )


def quantiles(  # noqa: PLR0913  (published: notebooks call it)
    estimator: NumberEstimator,
    domain: Number,
    tally: Counts,
    n: int,
    *,
    levels: Sequence[float] = LEVELS,
    confidence: float = 0.95,
    epochs: int = 1,
) -> tuple[Quantity, ...]:
    """Return one quantile for each level, named p10 for 0.1; none if the estimator cannot.

    Raises ParameterError for a level outside (0, 1).
    """
    for level in levels:
        if not 0 < level < 1:
            raise ParameterError(f"levels must lie strictly between 0 and 1, got {level!r}")
    if not isinstance(estimator, LinearEstimator):
        return ()
    cumulative = estimator.cumulative(tally, n, confidence=confidence, epochs=epochs)
    has_reports = not np.isnan(cumulative.band.values).any()
    return tuple(_quantile(domain, cumulative, level, has_reports=has_reports) for level in levels)


def _quantile(
    domain: Number, cumulative: Cumulative, level: float, *, has_reports: bool
) -> Quantity:
    name = f"p{100 * level:g}"
    if not has_reports:
        low, high = float(domain.low), float(domain.high)
        return Quantity(name, math.nan, math.nan, low, high)
    band = cumulative.band
    place = int(np.searchsorted(cumulative.fitted, level, side="left"))
    first, last = _first_at(band.upper, level), _last_below(band.lower, level)
    near = _last_below(band.values - band.std_errors, level)
    far = _first_at(band.values + band.std_errors, level)
    return Quantity(
        name,
        float(domain.value(place)),
        max(near - far, 0) * float(domain.step) / 2,
        float(domain.value(min(first, place))),
        float(domain.value(max(last, place))),
    )


def _first_at(values: Floats, level: float) -> int:
    """Return the first place with a value of at least `level`; after the last place, F is 1."""
    reached = values >= level
    return int(np.argmax(reached)) if reached.any() else len(values)


def _last_below(values: Floats, level: float) -> int:
    """Return the place after the last one with a value below `level`; 0 if there is none."""
    below = np.flatnonzero(values < level)
    return int(below[-1]) + 1 if len(below) else 0


def ranges(  # noqa: PLR0913  (published: notebooks call it)
    estimator: LinearEstimator,
    domain: Number,
    tally: Counts,
    n: int,
    bounds: Sequence[tuple[object, object]],
    *,
    confidence: float = 0.95,
    epochs: int = 1,
) -> tuple[Quantity, ...]:
    """Return the share of people from one value to another, both included, for each of `bounds`.

    Raises DomainError if a bound is no number, and ParameterError for ends in the wrong order or
    the whole domain.
    """
    weights = np.zeros((len(bounds), domain.size))
    names = []
    for row, (low, high) in zip(weights, bounds, strict=True):
        first, last = domain.encode(low), domain.encode(high)
        if first > last:
            raise ParameterError(f"bounds must rise, got {low!r:.40} to {high!r:.40}")
        row[first : last + 1] = 1.0
        names.append(f"{domain.decode(first)} to {domain.decode(last)}")
    shares = estimator.functionals(weights, tally, n, confidence=confidence, epochs=epochs)
    columns = (shares.values, shares.std_errors, shares.lower, shares.upper)
    return tuple(
        Quantity(name, *map(float, row)) for name, *row in zip(names, *columns, strict=True)
    )


def isotonic_regression(values: Floats) -> Floats:
    """Return the nearest rising sequence in [0, 1], by pooling adjacent violators. O(d)."""
    sums: list[float] = []
    lengths: list[int] = []
    for value in values.tolist():
        total, length = value, 1
        while sums and sums[-1] * length >= total * lengths[-1]:
            total, length = total + sums.pop(), length + lengths.pop()
        sums.append(total)
        lengths.append(length)
    pooled: Floats = np.repeat(np.array(sums) / np.array(lengths), lengths)
    return np.clip(pooled, 0.0, 1.0, out=pooled)
