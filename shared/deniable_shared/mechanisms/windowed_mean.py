"""Means by a window of outputs: the common part of `discrete-piecewise/1` and `optimal-mean/1`.

    an answer favours w of M outputs in a row, from c on: c is one of two neighbours, at random
    p = T/2^64     an output of the window, equally likely; else one of the M − w others

                (T/w)/((2^64 − T)/(M − w)) ≤ e^ε, as close as 64 bits allow

An output y has an integer score a_y; all scores add up to 0. Those of a window from c on add up to
W_c, which rises with c and ends at W = −W_0. A report's mean score is then

    (p − q)/w·W_c        q = (1 − p)w/(M − w)

and c is drawn so that the mean of W_c is W(2i − N)/N for an answer i of 0 … N. So the mean score is
exactly linear in the answer for all scores. They decide only the variance.
Payload: one byte, the output.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.duchi import MAX_VALUES
from deniable_shared.mechanisms.symbol_payload import IndexInput, SymbolPayload, WindowSymbol
from deniable_shared.randomness.dyadic import parse_epsilon, threshold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.randomness.coins import Coins


@dataclass(frozen=True, slots=True)
class WindowedMean(WindowSymbol, IndexInput, SymbolPayload[int], ABC):
    """One of `domain_size` equally spaced values, sent as one of M = `outputs`; w = `window`."""

    id: ClassVar[str]
    domain_types: ClassVar[frozenset[str]] = frozenset({"number"})
    releasable: ClassVar[bool] = True
    targets: ClassVar[frozenset[str]] = frozenset({"mean"})
    parameters: ClassVar[tuple[str, ...]]
    payload_size: ClassVar[int] = 1
    domain_size: int
    epsilon: Fraction
    outputs: int
    window: int
    threshold: int = field(init=False)

    def __post_init__(self) -> None:
        if not 2 <= self.domain_size <= MAX_VALUES:
            raise ParameterError(
                f"domain_size must lie in [2, {MAX_VALUES}], got {self.domain_size}"
            )
        self._check_shape()
        cut = threshold(
            parse_epsilon(self.epsilon), alphabet_size=self.outputs, support_size=self.window
        )
        object.__setattr__(self, "threshold", cut)

    @abstractmethod
    def _check_shape(self) -> None:
        """Raises ParameterError if outputs or window are out of range."""

    @property
    @abstractmethod
    def scores(self) -> Sequence[int]:
        """The score of each output, in any unit; their sum is 0."""

    @abstractmethod
    def _start(self, value: int) -> tuple[int, int, int]:
        """Return c, and the chance of c + 1 instead: a numerator and its denominator."""

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Return an output. Raises DomainError unless 0 ≤ value ≤ N."""
        start, chance, of = self._start(self._checked(value))
        start += coins.below(of) < chance
        favoured = coins.bernoulli(self.threshold)
        inside = start + coins.below(self.window)  # both drawn: run time reveals nothing
        outside = start + self.window + coins.below(self.outputs - self.window)
        return bytes([(outside, inside)[favoured] % self.outputs])

    def supports(self, payload: bytes, label: int) -> bool | None:
        """None: a report is about the mean, not about a label."""
        return None

    def pmf(self, value: int | Sequence[int]) -> dict[bytes, Fraction]:
        """Return the exact probability of every payload."""
        start, chance, of = self._start(self._checked(value))
        up = Fraction(chance, of)
        return {
            bytes([output]): (1 - up) * self._likelihood(output, start)
            + up * self._likelihood(output, start + 1)
            for output in range(self.outputs)
        }

    def moments(self, p: Fraction) -> tuple[tuple[Fraction, Fraction], ...]:
        """For each start: see `moments`; `p` is that of one report."""
        return moments(self.scores, self.window, p)

    def worst_variance(self, p: Fraction) -> Fraction:
        """See `worst_variance`; `p` is that of one report."""
        return worst_variance(self.scores, self.window, p)

    def _likelihood(self, output: int, start: int) -> Fraction:
        if start <= output < start + self.window:
            return self.p / self.window
        return (1 - self.p) / (self.outputs - self.window)

    def likely_windows(self) -> list[Fraction]:
        """For each output, the share of all values whose window contains it, rounding included."""
        starts = [Fraction()] * (self.outputs - self.window + 2)
        values = range(self.domain_size)
        first = 0
        while first < self.domain_size:
            start, least, of = self._start(first)
            after = bisect_right(values, start, key=lambda value: self._start(value)[0])
            _, most, _ = self._start(after - 1)
            up = Fraction((after - first) * (least + most), 2 * of)  # the mean rises by equal steps
            starts[start] += (after - first - up) / self.domain_size
            starts[start + 1] += up / self.domain_size
            first = after
        return [
            sum(starts[max(y - self.window + 1, 0) : y + 1], Fraction())
            for y in range(self.outputs)
        ]


@lru_cache(maxsize=64)
def moments(
    scores: Sequence[int], window: int, p: Fraction
) -> tuple[tuple[Fraction, Fraction], ...]:
    """Return for each start its place on [−1, 1], and a report's second moment in that unit."""
    outputs = len(scores)
    apart = (1 - p) / (outputs - window)
    gain = p / window - apart
    unit = gain * sum(scores[outputs - window :])
    every = apart * sum(score * score for score in scores)
    by_start = []
    for start in range(outputs - window + 1):
        near = scores[start : start + window]
        squares = sum(score * score for score in near)
        by_start.append((gain * sum(near) / unit, (every + gain * squares) / unit**2))
    return tuple(by_start)


def worst_variance(scores: Sequence[int], window: int, p: Fraction) -> Fraction:
    """Return n·Var of the mean of answers in [−1, 1], exactly, at the answer where it is largest.

    Between two starts the second moment of a report is linear in the answer x and x² is not. So the
    difference is largest where the slope is 2x, or else at an end.
    """
    starts = moments(scores, window, p)
    largest = max(moment - place * place for place, moment in starts)
    for (low, moment), (high, other) in pairwise(starts):
        half = (other - moment) / (high - low) / 2
        if low < half < high:
            largest = max(largest, moment + 2 * half * (half - low) - half * half)
    return largest
