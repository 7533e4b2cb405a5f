"""Sums of frequencies with public weights.

No count is a divisor, so the effect of a report is bounded.

    θ̂ = offset + (1/n)·Σ_t w_t·tally_t        E[φ(Y) | x] = a_x,   φ = offset + w·s(y)

φ is the score of one report y for Σ_v a_v·f_v, and s(y) is what it adds to the tally. If a report
is about one of several parts, drawn without the value, its weight is the number of parts. This
number is public, unlike n over the received reports, so θ̂ is linear in the tally. So the messages
alone bound the difference between neighbours that differ in one report.

The variance of θ̂ over people drawn from a population is at most

    (H(θ) − θ²)/n        H: the least concave function with E[φ² | x] ≤ H(a_x) for every x

for every distribution: it is a mixture of values, so (θ, E φ²) lies in their convex hull.
Source: docs/mathematics/supports-and-estimates.md, Public scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

import numpy as np

from deniable_estimators.inference.second_moments import scores_range, second_moments
from deniable_shared.mechanisms.structure import SampledBits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deniable_estimators.inference.channel import Floats
    from deniable_estimators.inference.protocols import HasMechanism


@dataclass(frozen=True, slots=True, eq=False)
class Ceiling:
    """H of one sum: `moments` at rising `places`, linear between them."""

    places: Floats
    moments: Floats

    @classmethod
    def over(cls, places: Floats, moments: Floats) -> Self:
        """Return the upper hull of these points."""
        order = np.lexsort((-moments, places))
        hull: list[int] = []
        for point in order.tolist():
            while hull and not _turns_right(places, moments, hull, point):
                hull.pop()
            if not hull or places[point] > places[hull[-1]]:
                hull.append(point)
        return cls(places[hull], moments[hull])

    @classmethod
    def between(cls, none: float, every: float) -> Self:
        """Return H of a sum that is 0 for all or 1 for all, with these second moments there."""
        return cls(np.array([0.0, 1.0]), np.array([none, every]))

    def variance(self, share: float) -> float:
        """Return H(θ) − θ², the largest variance of one report."""
        inside = min(max(share, float(self.places[0])), float(self.places[-1]))
        return max(float(np.interp(inside, self.places, self.moments)) - inside**2, 0.0)

    @property
    def largest(self) -> float:
        """The largest variance over all θ: H is linear between two places, and −θ² is concave."""
        slopes = np.diff(self.moments) / np.diff(self.places)
        tops = np.clip(slopes / 2, self.places[:-1], self.places[1:])
        return max(self.variance(float(place)) for place in (*self.places, *tops))


@dataclass(frozen=True, slots=True, eq=False)
class PublicScores:
    """k sums: `weights`, float64[k, counts of the tally], and `offset`, float64[k], give φ.

    `low` and `high`, float64[k], are its extremes, `ceilings` its second moments. `floor`,
    float64[k], is a variance that more reports do not lower. `permanent` has the second moments of
    a chain's mean score given a permanent answer; None if they are those of its first round.
    """

    weights: Floats
    offset: Floats
    low: Floats
    high: Floats
    ceilings: tuple[Ceiling, ...]
    floor: Floats | float = 0.0
    permanent: tuple[Ceiling, ...] | None = None

    @classmethod
    def of_messages(
        cls, weights: Floats, offset: Floats, ceilings: Iterable[Ceiling]
    ) -> PublicScores:
        """Return the scores if the tally is the histogram of the messages."""
        low, high = offset + weights.min(axis=1), offset + weights.max(axis=1)
        return cls(weights, offset, low, high, tuple(ceilings))


@runtime_checkable
class PublicMean(Protocol):
    """An estimator of the mean, as a share of the way from the lowest value to the highest."""

    def public_mean(self) -> PublicScores:
        """Return the scores of one sum."""
        ...


@runtime_checkable
class PublicSums(Protocol):
    """An estimator of sums over the values of a number."""

    def public_scores(self, rows: Floats) -> PublicScores:
        """Return the scores of each row of weights, float64[k, domain_size], all in [0, 1]."""
        ...


@runtime_checkable
class BlurredSums(PublicSums, Protocol):
    """A PublicSums for which a sum with a sharp step has a large error, and a ramp has not."""

    def blur(self, devices: float) -> int:
        """Return over how many further values a step should fall, by public facts."""
        ...


@runtime_checkable
class PublicTables(Protocol):
    """An estimator of the tables of some attributes of a record."""

    def public_tables(self, axes: Sequence[int]) -> PublicScores:
        """Return the scores of each cell, last attribute fastest.

        Raises ParameterError for attributes without a common table.
        """
        ...

    def public_covariance(
        self, axes: Sequence[int], frequencies: Floats, *, permanent: bool = False
    ) -> Floats:
        """Float64[cells, cells]: the covariance of a report's scores at these frequencies.

        `permanent`: of its mean given a chain's permanent answer.
        """
        ...


def ceilings_of(rows: Floats, moments: Floats) -> tuple[Ceiling, ...]:
    """Return H of each row of weights [k, values] with the second moments [k, values]."""
    return tuple(Ceiling.over(row, moment) for row, moment in zip(rows, moments, strict=True))


def label_scores(estimator: HasMechanism, rows: Floats) -> tuple[Floats, Floats, Floats]:
    """Low and high, float64[k], and E[φ² | x], float64[k, labels], for supports of labels."""
    mechanism = estimator.mechanism
    if isinstance(mechanism.structure, SampledBits):
        return _of_sampled_bits(estimator, rows, mechanism.structure)
    low, high = scores_range(mechanism, rows)
    return low, high, second_moments(estimator, mechanism, rows)


def _of_sampled_bits(
    estimator: HasMechanism, rows: Floats, bits: SampledBits
) -> tuple[Floats, Floats, Floats]:
    """Return the same for t bits of m that are independent: those that are not true have mean 0."""
    p, q = float(estimator.mechanism.p), float(estimator.mechanism.q)
    parts, gap = bits.bits / bits.sampled, p - q
    ordered = np.sort(rows, axis=1)[:, bits.bits - bits.sampled :].sum(axis=1) * parts / gap
    others = (rows**2).sum(axis=1, keepdims=True) - rows**2
    squares = parts / gap**2 * (others * q * (1 - q) + rows**2 * (p * (1 - p) + gap**2))
    return -q * ordered, (1 - q) * ordered, squares


def _turns_right(places: Floats, moments: Floats, hull: list[int], point: int) -> bool:
    """Whether the last corner of the hull stays above the line to the next point."""
    if len(hull) == 1:
        return True
    (x0, y0), (x1, y1), (x2, y2) = ((places[at], moments[at]) for at in (hull[-2], hull[-1], point))
    return bool((y1 - y0) * (x2 - x1) > (y2 - y1) * (x1 - x0))
