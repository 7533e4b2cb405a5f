"""Sums Σ_v a_v·f_v of frequencies, estimated by averaging a score of each message.

    θ̂ = Σ_y (c_y/n)·φ(y)      E[φ(Y) | x] = a_x for every value x, so that θ̂ is unbiased

A mean, the share of people in a range and a value of the distribution function are such sums. The
variance of θ̂ is that of φ over the received messages. It contains all covariances of the
frequencies, which a sum of their variances would miss. It is at least the least variance of φ for
any one value, because a population's variance is that within values plus that between them. So a
lucky sample never claims certainty.

Reports of one device in T epochs share its value (`fresh`), whose variance is at most θ(1 − θ) for
0 ≤ a ≤ 1, or its permanent answer (`memoized`), whose messages have the law of the reports without
their uniform part: n·Var(θ̂) ≤ V + (T − 1)·C.

Limits are those of `score_limits`. A report pulls θ̂ as far as φ reaches, but not further than the
law of one value allows: the skew of φ is at most its third moment around θ̂, E(φ − θ̂)³ over Var φ,
for the value where that is largest. Source: docs/mathematics/supports-and-estimates.md, Sums of
labels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

import numpy as np

from deniable_estimators.inference.debias import check_epochs, tail_of
from deniable_estimators.inference.score_limits import limits
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_estimators.inference.channel import Counts, Floats
    from deniable_shared.mechanisms.protocols import Mechanism


@dataclass(frozen=True, slots=True, eq=False)
class Functionals:
    """Estimated sums, each array of shape [k]: values, standard errors, intervals within [0, 1]."""

    values: Floats
    std_errors: Floats
    lower: Floats
    upper: Floats

    def __post_init__(self) -> None:
        for each in (self.std_errors, self.lower, self.upper):
            if each.shape != self.values.shape:
                raise ParameterError(f"functionals must have one length, got {each.shape}")


@dataclass(frozen=True, slots=True, eq=False)
class Cumulative:
    """The distribution function F at all values but the last, where it is 1.

    `band` has raw values and limits, each alone at `confidence`. `fitted` is a presentable F:
    rising, in [0, 1], biased.
    """

    band: Functionals
    fitted: Floats


@runtime_checkable
class LinearEstimator(Protocol):
    """An estimator that knows the joint law of its frequencies, and so the error of their sums."""

    def functionals(
        self,
        weights: Floats,
        tally: Counts,
        n: int,
        *,
        confidence: float = 0.95,
        epochs: int = 1,
    ) -> Functionals:
        """Return Σ_v a_v·f_v for each row a of `weights`: float64[k, domain_size], all in [0, 1].

        Each interval holds alone. Raises ParameterError for a tally that n reports cannot give.
        """
        ...

    def cumulative(
        self, tally: Counts, n: int, *, confidence: float = 0.95, epochs: int = 1
    ) -> Cumulative:
        """Return the share of people whose value is at most v, for each v but the last."""
        ...


@dataclass(frozen=True, slots=True)
class Repetition:
    """How often a device reported: in up to `epochs`; by a permanent answer if `kept` is given.

    `kept` is the chance that a report repeats the permanent answer.
    """

    epochs: int = 1
    kept: float | None = None

    def __post_init__(self) -> None:
        check_epochs(self.epochs)

    @classmethod
    def of(cls, mechanism: Mechanism, repeat: str, epochs: int) -> Self:
        """The repetition of a mechanism used once, fresh or memoized, in this many epochs."""
        check_epochs(epochs)
        if repeat == "once":
            return cls()
        return cls(
            epochs,
            float(mechanism.keep_probability) if isinstance(mechanism, MemoizedChain) else None,
        )

    def pulls(self, mean: Floats, below: Floats, above: Floats, n: int) -> tuple[Floats, Floats]:
        """How far one device pulls the mean of n reports, if one report pulls a sum that far.

        The further reports of a fresh value share only something in [0, 1].
        """
        others = min(self.epochs, n) - 1
        if self.kept is not None:
            return (others + 1) / n * below, (others + 1) / n * above
        value = np.clip(mean, 0.0, 1.0)
        return (below + others * value) / n, (above + others * (1 - value)) / n


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """The messages' evidence on k sums, each an array of k.

    `mean` and `variance` are those of φ over the received messages, `low` and `high` its extremes.
    `least` is its least variance for any one value. `uniform_mean` and `uniform_variance` are its
    moments if all messages are equally likely. `pulls` bound the third moment over the variance,
    down and up, for any one value; infinite if unknown. `permanent` is the variance of permanent
    answers if a report keeps their symbols one by one; None if it keeps all or none of them, as it
    then follows from the others.
    """

    mean: Floats
    variance: Floats
    low: Floats
    high: Floats
    least: Floats
    pulls: tuple[Floats, Floats]
    uniform_mean: Floats
    uniform_variance: Floats
    permanent: Floats | None = None

    @classmethod
    def of_scores(
        cls, rows: Floats, scores: Floats, counts: Counts, back: Callable[[Floats], Floats]
    ) -> Moments:
        """Return the moments of scores, float64[k, messages], of the weights `rows`.

        `counts` is how often each message came. `back` maps scores to their expectation for each
        value.
        """
        share = counts / max(int(counts.sum()), 1)
        squares, mean = scores * scores, scores @ share
        variance = np.maximum(squares @ share - mean * mean, 0.0)
        least = np.maximum(back(squares) - rows * rows, 0.0).min(axis=1)
        off = scores - mean[:, None]
        cubes, usual = back(off * off * off), np.maximum(variance, least)
        return cls(
            mean=mean,
            variance=variance,
            low=scores.min(axis=1),
            high=scores.max(axis=1),
            least=least,
            pulls=(-cubes.min(axis=1) / usual, cubes.max(axis=1) / usual),
            uniform_mean=scores.mean(axis=1),
            uniform_variance=scores.var(axis=1),
        )

    def functionals(self, n: int, repeated: Repetition, confidence: float) -> Functionals:
        """Return values, errors and limits of n reports."""
        tail = tail_of(confidence, "each", 1)
        if not n:
            return unknown_functionals(len(self.mean))
        variance = np.maximum(self.variance, self.least)
        together = variance + (repeated.epochs - 1) * self._shared(variance, repeated)
        down, up = self.pulls
        below = np.maximum(np.minimum(self.mean - self.low, down), 0.0)
        above = np.maximum(np.minimum(self.high - self.mean, up), 0.0)
        pulls = repeated.pulls(self.mean, below, above, n)
        return with_limits(self.mean, together / n, pulls, tail)

    def _shared(self, variance: Floats, repeated: Repetition) -> Floats:
        """Return the largest covariance of two reports of one device."""
        if repeated.kept is None:
            value = np.clip(self.mean, 0.0, 1.0)
            return np.minimum(value * (1 - value), variance)
        if self.permanent is not None:
            return np.minimum(self.permanent, variance)
        kept, uniform = repeated.kept, self.uniform_mean
        mean = (self.mean - (1 - kept) * uniform) / kept
        square = self.variance + self.mean**2
        drawn = (1 - kept) * (self.uniform_variance + uniform**2)
        shared = kept * (square - drawn) - (kept * mean) ** 2
        return np.clip(shared, 0.0, variance)


def unknown_functionals(sums: int) -> Functionals:
    """Return `sums` unknown results, for sums without reports."""
    nothing, zeros = np.full(sums, math.nan), np.zeros(sums)
    return Functionals(nothing, nothing.copy(), zeros, zeros + 1)


def with_limits(
    mean: Floats, variance: Floats, pulls: tuple[Floats, Floats], tail: float
) -> Functionals:
    """Return results with the limits of `score_limits`, clipped to [0, 1]."""
    lower, upper = limits(mean, variance, *pulls, tail)
    return Functionals(mean, np.sqrt(variance), np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0))


def checked_weights(weights: Floats, domain_size: int) -> Floats:
    """Return the weights if each row has one in [0, 1] for every value, and they differ.

    Raises ParameterError otherwise.
    """
    rows = np.asarray(weights, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != domain_size:
        raise ParameterError(f"weights must have {domain_size} columns, got shape {rows.shape}")
    if not ((rows >= 0) & (rows <= 1)).all():
        raise ParameterError("weights must lie in [0, 1]")
    if (rows.min(axis=1) == rows.max(axis=1)).any():
        raise ParameterError("weights of one row must differ: with equal weights the sum is known")
    return rows
