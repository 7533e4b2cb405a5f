"""The frequency of a declared set A of labels, from raw supports, with its exact variance.

k = how many labels of A one report supports, a = |A|, F = the share of people whose value is in A:

    E k = aq + (p − q)F        F̂ = (Σ_{v∈A} c_v/n − aq)/(p − q) = Σ_{v∈A} f̂_v
    n·Var = F·E[k² | in A] + (1 − F)·E[k² | not] − (E k)²

The two second moments are those of the mechanism. If they depend on the value, the largest ones are
used. So nothing is assumed about the covariance of labels, and the variance is never too small.
Reports of one device in T epochs add (T − 1) times their covariance, as in `clusters`.

If a report supports at most one label of A, the count is binomial and the limits are exact.
Otherwise they are those of `score_limits`: a piece of k pulls as far as its mean leaves room on
that side. Sources: Hoeffding 1963 (theorem 4, draws without replacement);
docs/mathematics/supports-and-estimates.md, Sums of labels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from deniable_estimators.inference.channel import Channel
from deniable_estimators.inference.clusters import Clusters
from deniable_estimators.inference.debias import check_epochs, debias, tail_of
from deniable_estimators.inference.projection import onto_box
from deniable_estimators.inference.score_limits import limits
from deniable_shared.errors import ParameterError


@dataclass(frozen=True, slots=True)
class SetLaw:
    """k of one report: `inside`, `outside` = E k² given a value in A or not.

    k is a sum of independent pieces, each in a range of `reach` = R, and at least `least`. Draws
    without replacement spread less than independent ones, so such a k counts as `pieces` pieces of
    0 or 1. 0 pieces mean one piece of the whole range.
    """

    size: int
    p: Fraction
    q: Fraction
    inside: Fraction
    outside: Fraction
    reach: int
    least: int = 0
    pieces: int = 0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ParameterError(f"size must be at least 1, got {self.size}")
        if self.inside < self.mean(1) or self.outside < self.mean(0):
            raise ParameterError("inside and outside must be second moments of whole numbers")

    def mean(self, share: Fraction | float) -> Fraction:
        """Return E k if a share F has a value in A."""
        return self.size * self.q + (self.p - self.q) * Fraction(share)

    def variance(self, share: float) -> float:
        """Return n times the variance of the mean of k over reports of independent devices."""
        part = Fraction(share)
        return float(part * self.inside + (1 - part) * self.outside - self.mean(share) ** 2)

    def pulls(self, share: float) -> tuple[float, float]:
        """Return how far a piece reaches below and above its mean."""
        mean, reach = float(self.mean(share)), float(self.reach)
        if self.pieces:
            mean, reach = mean / self.pieces, 1.0
        below = min(max(mean - self.least, 0.0), reach)
        return below, reach - below

    @property
    def binomial(self) -> bool:
        """Whether k is 0 or 1."""
        return (self.inside, self.outside) == (self.mean(1), self.mean(0))


@dataclass(frozen=True, slots=True)
class PermanentSetLaw:
    """The permanent answer of a chain, its own law, and how much of it one report keeps."""

    law: SetLaw
    share: Fraction
    blurred: Fraction


@dataclass(frozen=True, slots=True)
class SetEstimate:
    """One set: raw frequency and its interval of at least the given confidence; NaN at n = 0.

    It is about the population, like `Estimate`; the interval lies in [0, 1].
    """

    frequency: float
    std_error: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class _Sample:
    law: SetLaw
    n: int
    span: int
    kept: PermanentSetLaw | None

    def error(self, share: float) -> float:
        """Return the variance of the mean of k."""
        several = (self.span - 1) * self._shared(share) if self.span > 1 else 0.0
        return (self.law.variance(share) + several) / self.n

    def pulls(self, share: float) -> tuple[float, float]:
        """Return how far one device pulls the mean of k, down and up."""
        others = min(self.span, self.n) - 1
        gap = float(self.law.p - self.law.q)
        shared = (gap * share, gap * (1 - share)) if self.kept is None else self.law.pulls(share)
        below, above = (
            (one + others * more) / self.n
            for one, more in zip(self.law.pulls(share), shared, strict=True)
        )
        return below, above

    def _shared(self, share: float) -> float:
        """Return the covariance of two reports of one device."""
        if self.kept is None:
            return float((self.law.p - self.law.q) ** 2) * share * (1 - share)
        return float(self.kept.share) ** 2 * self.kept.law.variance(share)

    @property
    def step(self) -> float:
        """A third of the most that one device adds to the mean of k."""
        return self.law.reach * min(self.span, self.n) / self.n / 3


def estimate_set(  # noqa: PLR0913  (published: notebooks call it)
    law: SetLaw,
    count: int,
    n: int,
    *,
    confidence: float = 0.95,
    family: str = "each",
    sets: int = 1,
    span: int = 1,
    kept: PermanentSetLaw | None = None,
) -> SetEstimate:
    """Return F̂ from `count`, the supports of all labels of the set together among n reports.

    `span`: the most reports of one device, independent draws or, with `kept`, renewed. Under family
    "all" the intervals of `sets` sets hold together. Raises ParameterError as `debias` does.
    """
    tail = tail_of(confidence, family, sets)
    check_epochs(span)
    if not n:
        return SetEstimate(math.nan, math.nan, 0.0, 1.0)
    if law.binomial:
        return _exact(law, count, n, 1 - 2 * tail, _clusters(law, span, kept))
    sample = _Sample(law, n, span, kept)
    gap = law.p - law.q
    raw = float((Fraction(count, n) - law.size * law.q) / gap)
    near = min(max(raw, 0.0), 1.0)
    spread = sample.error(near) / float(gap) ** 2
    below, above = (np.array([pull / float(gap)]) for pull in sample.pulls(near))
    lower, upper = limits(np.array([raw]), np.array([spread]), below, above, tail)
    return SetEstimate(raw, math.sqrt(spread), *(float(onto_box(end)[0]) for end in (lower, upper)))


def _clusters(law: SetLaw, span: int, kept: PermanentSetLaw | None) -> Clusters | None:
    if span == 1:
        return None
    if kept is None:
        return Clusters(law.mean(0), law.mean(1), Fraction(span))
    low = law.size * kept.blurred
    return Clusters(low, low + kept.share, Fraction(span))


def _exact(
    law: SetLaw, count: int, n: int, confidence: float, clusters: Clusters | None
) -> SetEstimate:
    channel = Channel(law.mean(1), law.mean(0))
    estimate = debias(channel, np.array([count]), n, confidence=confidence, clusters=clusters)
    columns = estimate.frequencies, estimate.std_errors, estimate.lower, estimate.upper
    return SetEstimate(*(float(column[0]) for column in columns))


def tail_of_known(
    law: SetLaw,
    count: int,
    n: int,
    share: int,
    *,
    span: int = 1,
    kept: PermanentSetLaw | None = None,
) -> float:
    """Return a bound on the chance of a count this far from its mean, if F is known to be 0 or 1.

    It is Bernstein's, for both sides together. It holds for every n and all values.
    """
    sample = _Sample(law, n, span if kept is not None else 1, kept)
    far = float(abs(Fraction(count, n) - law.mean(share)))
    if not far:
        return 1.0
    spread = sample.error(share) + sample.step * far
    return min(2 * math.exp(-far * far / (2 * spread)), 1.0) if spread else 0.0
