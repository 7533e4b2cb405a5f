"""The mean with almost the least possible error, at any ε: a window of unequally spaced scores.

The law is that of `windowed_mean`, with M ≤ 32 outputs. The scores of `optimal_mean_scores` make
the variance equal for all answers, and as small as possible under that condition. For 0.1 ≤ ε ≤ 6
it is at most 3% above the least worst case that a linear program gives over all mechanisms that
keep ε.

    odds/2^16      e^ε of one report, rounded down: the scores are computed for it

Outputs and window come from a table by ε, the result of a search over all up to 32. Both ends
compute the scores in exact fractions, in at most 20 ms. They are rounded to integers; any integers
would be exactly unbiased. Payload: one byte, the output. References: docs/mathematics/numbers.md,
Scores of least worst variance; Zheng et al. 2025 (optimal piecewise mechanisms).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.analysis.optimal_mean_scores import scores_for
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import windowed_mean
from deniable_shared.randomness.dyadic import exp_bounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_OUTPUTS = 32
_ODDS = 1 << 16
_MOST_ODDS = _ODDS << 29  # e^20 < 2^29

_SHAPES = (
    ("1.2", 18, 9),
    ("1.6", 9, 4),
    ("2.15", 25, 10),
    ("2.7", 30, 11),
    ("3.15", 32, 11),
    ("3.65", 27, 8),
    ("4.05", 29, 8),
    ("4.55", 25, 6),
    ("4.9", 32, 7),
    ("5.35", 31, 6),
    ("5.6", 28, 5),
    ("6.15", 32, 5),
    ("6.45", 29, 4),
    ("6.85", 31, 4),
    ("7.25", 28, 3),
    ("8", 32, 3),
    ("8.2", 27, 2),
    ("8.45", 29, 2),
    ("9.5", 31, 2),
    ("20", 31, 1),
)
"""(Largest ε, M, w): within 1.2% of the least worst case of all M ≤ 32, up to ε = 10."""


@dataclass(frozen=True, slots=True)
class OptimalMean(windowed_mean.WindowedMean):
    """One of `domain_size` equally spaced values, sent as one of M = `outputs`; w = `window`."""

    id: ClassVar[str] = "optimal-mean/1"
    parameters: ClassVar[tuple[str, ...]] = ("odds", "outputs", "window")
    odds: int
    _scores: tuple[int, ...] = field(init=False, repr=False)
    _sums: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        windowed_mean.WindowedMean.__post_init__(self)
        scores = scores_for(self.outputs, self.window, Fraction(self.odds, _ODDS))
        starts = range(self.outputs - self.window + 1)
        sums = tuple(sum(scores[start : start + self.window]) for start in starts)
        slopes = [low + high for low, high in zip(scores, scores[self.window :], strict=False)]
        if not (_rises(sums, 1) and _rises(slopes, 0)):
            raise ParameterError(
                f"window must have scores that rise at these outputs and odds, got {self.window}: "
                "leave all three out and they are chosen"
            )
        object.__setattr__(self, "_scores", scores)
        object.__setattr__(self, "_sums", sums)

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        """See `MechanismClass`.

        Outputs, window and odds are given together; they default to the best.
        """
        if given and given.keys() != set(cls.parameters):
            raise ParameterError(f"{cls.id} takes odds, outputs and window together, or none")
        if given:
            return cls(domain_size, epsilon, given["outputs"], given["window"], given["odds"])
        return cls(domain_size, epsilon, *best_shape(report))

    @property
    def scores(self) -> tuple[int, ...]:
        """The scores of `optimal_mean_scores`."""
        return self._scores

    def _start(self, value: int) -> tuple[int, int, int]:
        steps = self.domain_size - 1
        wanted = self._sums[-1] * (2 * value - steps)  # N times the mean sum
        start = min(bisect_right(self._sums, wanted // steps), len(self._sums) - 1) - 1
        low, high = self._sums[start : start + 2]
        return start, wanted - steps * low, steps * (high - low)

    def _check_shape(self) -> None:
        if not 2 <= self.outputs <= MAX_OUTPUTS:
            raise ParameterError(f"outputs must lie in [2, {MAX_OUTPUTS}], got {self.outputs}")
        if not 1 <= self.window <= self.outputs // 2:
            raise ParameterError(f"window must lie in [1, outputs/2], got {self.window}")
        if not _ODDS < self.odds <= _MOST_ODDS:
            raise ParameterError(f"odds must lie in ({_ODDS}, {_MOST_ODDS}], got {self.odds}")


def _rises(numbers: Sequence[int], least: int) -> bool:
    return all(low + least <= high for low, high in pairwise(numbers))


def best_shape(epsilon: Fraction) -> tuple[int, int, int]:
    """Return M, w and odds for one report."""
    outputs, window = next((m, w) for most, m, w in _SHAPES if epsilon <= Fraction(most))
    low, _ = exp_bounds(epsilon, bits=64)
    return outputs, window, int(low * _ODDS)


def worst_case(epsilon: Fraction) -> Fraction:
    """N·Var of the mean of answers in [−1, 1], exactly, at the answer where it is largest."""
    mechanism = OptimalMean(2, epsilon, *best_shape(epsilon))
    return windowed_mean.worst_variance(mechanism.scores, mechanism.window, mechanism.p)
