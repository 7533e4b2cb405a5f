"""The mean with less error at larger ε: one of M outputs, more likely in a window near the answer.

    i of 0 … N     the window of w outputs starts at c: (M − w)·i/N, rounded at random, unbiased

The outputs are equally spaced scores, 2y − (M − 1), in the law of `windowed_mean`. The mean of the
outputs is (p − q)·c + const for q = (1 − p)w/(M − w), so it is exactly unbiased for the mean of the
answers. M and w are odd, and M is at most 127. They are the pair, among some sizes, whose largest
variance over all answers is least, in exact rationals. Payload: one byte, the output. References:
Wang et al. 2019 (the piecewise mechanism, of which this is the discrete form);
docs/mathematics/numbers.md, Windows of outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.windowed_mean import WindowedMean
from deniable_shared.randomness.dyadic import SCALE, threshold

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_OUTPUTS = 127
_SIZES = (3, 5, 7, 9, 11, 15, 19, 23, 31, 47, 63, 95, 127)


@dataclass(frozen=True, slots=True)
class PiecewiseMean(WindowedMean):
    """One of `domain_size` equally spaced values, sent as one of M = `outputs`; w = `window`."""

    id: ClassVar[str] = "discrete-piecewise/1"
    compared_from: ClassVar[int] = 9  # below, another one has less variance, and is built faster
    parameters: ClassVar[tuple[str, ...]] = ("outputs", "window")

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        """See `MechanismClass`.

        Outputs and window, given together, default to the best for one report.
        """
        if given and given.keys() != set(cls.parameters):
            raise ParameterError(f"{cls.id} takes outputs and window together, or neither")
        outputs, window = (given["outputs"], given["window"]) if given else best_window(report)
        return cls(domain_size, epsilon, outputs, window)

    @property
    def scores(self) -> range:
        """Equally spaced scores."""
        return range(1 - self.outputs, self.outputs, 2)

    def _start(self, value: int) -> tuple[int, int, int]:
        steps = self.domain_size - 1
        return *divmod((self.outputs - self.window) * value, steps), steps

    def _check_shape(self) -> None:
        _check_shape(self.outputs, self.window)


def _check_shape(outputs: int, window: int) -> None:
    if not 3 <= outputs <= MAX_OUTPUTS or not outputs % 2:
        raise ParameterError(f"outputs must be odd, in [3, {MAX_OUTPUTS}], got {outputs}")
    if not 1 <= window < outputs or not window % 2:
        raise ParameterError(f"window must be odd, in [1, {outputs - 2}], got {window}")


@lru_cache(maxsize=256)
def best_window(epsilon: Fraction) -> tuple[int, int]:
    """Return (M, w) of the least largest variance; fewer outputs win a tie."""
    shapes = ((outputs, w) for outputs in _SIZES for w in range(1, outputs // 2 + 1, 2))
    return min(shapes, key=lambda shape: (worst_variance(epsilon, *shape), shape))


def worst_variance(epsilon: Fraction, outputs: int, window: int) -> Fraction:
    """Return n·Var of the mean of answers in [−1, 1], at the answer where it is largest.

    Between two starts of the window the second moment of an output is linear in the answer and its
    square is not. So the largest is at a start, at the middle of two, or between them. All starts
    and middles are computed, and a quarter of the squared distance bounds the rest.
    """
    p = Fraction(threshold(epsilon, alphabet_size=outputs, support_size=window), SCALE)
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
