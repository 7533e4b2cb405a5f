"""The mean with less error at larger ε: a value near the answer, among M, in a favoured window.

    i of 0 … N     the window of w outputs starts at c: (M − w)·i/N, rounded at random, unbiased
    p = T/2^64     an output of the window, each as likely; else one of the M − w others

                (T/w)/((2^64 − T)/(M − w)) ≤ e^ε, as close as 64 bits allow

The mean of the outputs is (p − q)·c + const for q = (1 − p)w/(M − w), so it is exactly unbiased
for the mean of the answers. M and w are odd, M is at most 127: of some sizes, the pair whose
largest variance over all answers is least, in exact rationals. Payload: one byte, the output.
References: Wang et al. 2019 (the piecewise mechanism, of which this is the discrete form); local-dp
§10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Self

from deniable_shared.coins import Coins
from deniable_shared.dyadic import parse_epsilon, threshold
from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.mechanisms.duchi import MAX_VALUES

__all__ = ["MAX_OUTPUTS", "PiecewiseMean", "best_window", "worst_variance"]

MAX_OUTPUTS = 127
_SCALE = 1 << 64
_SIZES = (3, 5, 7, 9, 11, 15, 19, 23, 31, 47, 63, 95, 127)


@dataclass(frozen=True, slots=True)
class PiecewiseMean:
    """One of `domain_size` equally spaced values, told as one of M = `outputs`; w = `window`."""

    id: ClassVar[str] = "discrete-piecewise/1"
    domain_types: ClassVar[frozenset[str]] = frozenset({"number"})
    parameters: ClassVar[tuple[str, ...]] = ("outputs", "window")
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
        _check_shape(self.outputs, self.window)
        cut = threshold(parse_epsilon(self.epsilon), messages=self.outputs, favoured=self.window)
        object.__setattr__(self, "threshold", cut)

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        """See `contract.Kind`; outputs and window are the best for a report, given together."""
        if given and given.keys() != set(cls.parameters):
            raise ParameterError(f"{cls.id} takes outputs and window together, or neither")
        outputs, window = (given["outputs"], given["window"]) if given else best_window(report)
        return cls(domain_size, epsilon, outputs, window)

    @property
    def payload_size(self) -> int:
        """One byte."""
        return 1

    @property
    def tally_size(self) -> int:
        """One count of reports an output."""
        return self.outputs

    @property
    def p(self) -> Fraction:
        """Exact probability that the output lies in the favoured window."""
        return Fraction(self.threshold, _SCALE)

    @property
    def q(self) -> Fraction:
        """Exact probability that it lies in a window that shares no output with that, if any."""
        return (1 - self.p) * self.window / (self.outputs - self.window)

    @property
    def symbols(self) -> int:
        """A symbol is an output."""
        return self.outputs

    @property
    def favoured(self) -> int:
        """The outputs of a window."""
        return self.window

    @property
    def places(self) -> int:
        """The payload is one symbol."""
        return 1

    @property
    def differing(self) -> int:
        """One symbol has all of ε."""
        return 1

    @property
    def public_choices(self) -> int:
        """Nothing is told openly."""
        return 1

    @property
    def told(self) -> Fraction:
        """Every report tells of the mean."""
        return Fraction(1)

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """An output; DomainError unless 0 ≤ value ≤ N."""
        steps = self.domain_size - 1
        start, rest = divmod((self.outputs - self.window) * self._checked(value), steps)
        start += coins.below(steps) < rest
        favoured = coins.bernoulli(self.threshold)
        inside = start + coins.below(self.window)  # both drawn: work must not tell the outcome
        outside = start + self.window + coins.below(self.outputs - self.window)
        return bytes([(outside, inside)[favoured] % self.outputs])

    def renewed(self, permanent: bytes, keep: int, coins: Coins) -> bytes:
        """The output kept with probability keep/2^64, else any of the M."""
        kept = coins.bernoulli(keep)
        drawn = coins.below(self.outputs)  # always drawn: work must not tell the outcome
        return bytes([(drawn, permanent[0])[kept]])

    def _checked(self, value: int | Sequence[int]) -> int:
        if not isinstance(value, int) or not 0 <= value < self.domain_size:
            raise DomainError(f"value must be an index in [0, {self.domain_size - 1}]")
        return value

    def supports(self, payload: bytes, label: int) -> None:
        """None: a report tells of the mean, and of no label."""

    def validate(self, payload: bytes) -> None:
        """DecodeError unless `payload` is one byte below M."""
        if len(payload) != 1 or payload[0] >= self.outputs:
            raise DecodeError(f"payload must be one byte, an output in [0, {self.outputs - 1}]")

    def pmf(self, value: int | Sequence[int]) -> dict[bytes, Fraction]:
        """Exact probability of every payload."""
        steps = self.domain_size - 1
        start, rest = divmod((self.outputs - self.window) * self._checked(value), steps)
        up = Fraction(rest, steps)
        return {
            bytes([output]): (1 - up) * self._chance(output, start)
            + up * self._chance(output, start + 1)
            for output in range(self.outputs)
        }

    def renewed_pmf(self, permanent: bytes, keep: int) -> dict[bytes, Fraction]:
        """Exact probability of every payload that `renewed` can give."""
        drawn = Fraction(_SCALE - keep, _SCALE * self.outputs)
        return {
            bytes([output]): drawn + (Fraction(keep, _SCALE) if output == permanent[0] else 0)
            for output in range(self.outputs)
        }

    def _chance(self, output: int, start: int) -> Fraction:
        if start <= output < start + self.window:
            return self.p / self.window
        return (1 - self.p) / (self.outputs - self.window)

    def likely_windows(self) -> list[Fraction]:
        """For each output the share of all values in whose window it lies, rounding included."""
        steps, starts = self.domain_size - 1, [Fraction()] * (self.outputs - self.window + 2)
        for value in range(self.domain_size):
            start, rest = divmod((self.outputs - self.window) * value, steps)
            up = Fraction(rest, steps)
            starts[start] += (1 - up) / self.domain_size
            starts[start + 1] += up / self.domain_size
        return [
            sum(starts[max(y - self.window + 1, 0) : y + 1], Fraction())
            for y in range(self.outputs)
        ]

    def inputs(self) -> Iterator[int]:
        """Every index."""
        return iter(range(self.domain_size))


def _check_shape(outputs: int, window: int) -> None:
    if not 3 <= outputs <= MAX_OUTPUTS or not outputs % 2:
        raise ParameterError(f"outputs must be odd, in [3, {MAX_OUTPUTS}], got {outputs}")
    if not 1 <= window < outputs or not window % 2:
        raise ParameterError(f"window must be odd, in [1, {outputs - 2}], got {window}")


@lru_cache(maxsize=256)
def best_window(epsilon: Fraction) -> tuple[int, int]:
    """(M, w) of the least largest variance; the fewer outputs in a tie."""
    shapes = ((outputs, w) for outputs in _SIZES for w in range(1, outputs // 2 + 1, 2))
    return min(shapes, key=lambda shape: (worst_variance(epsilon, *shape), shape))


def worst_variance(epsilon: Fraction, outputs: int, window: int) -> Fraction:
    """n·Var of the mean of answers in [−1, 1], at the answer where it is largest.

    Between two starts of the window the second moment of an output is linear in the answer and its
    square is not: the largest is at a start, at the middle of two, or between: all starts and
    middles are looked at, and a quarter of the squared distance bounds the rest.
    """
    p = Fraction(threshold(epsilon, messages=outputs, favoured=window), _SCALE)
    half, reach = (outputs - 1) // 2, Fraction(outputs - window, 2)
    gain = p - (1 - p) * window / (outputs - window)
    every = sum(output * output for output in range(-half, half + 1))
    largest = Fraction(0)
    for start in range((outputs - window) // 2 + 1):  # the other half mirrors these
        centre = start - half + (window - 1) // 2
        inside = window * centre * centre + window * (window * window - 1) // 12
        moment = p * inside / window + (1 - p) * (every - inside) / (outputs - window)
        answer = (start - reach) / reach
        largest = max(largest, moment / (gain * reach) ** 2 - answer * answer)
    return largest + 1 / (4 * reach * reach)
