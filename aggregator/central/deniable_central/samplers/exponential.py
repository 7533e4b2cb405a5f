"""Exact draws from Pr[r] ∝ measure_r · e^(decay · score_r), by floats with proven error bounds.

64 bits of a uniform U are drawn. Floats add up the weights e^(−decay · depth), depth = top − score,
with a bounded error (`_margin`). If U · total is farther than that from both edges of a candidate,
the candidate is exact. Otherwise (less than one draw in 10^8 for 1,000 candidates, in 10^6 for a
million) the same U with more bits is compared with sums of certified integers. There are no
rejection loops and no sorting, and equally much is read of every data set: the work depends only on
the number of candidates.

Source: docs/mathematics/samplers.md, Drawing a candidate.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_central.samplers.noise import WORD_BITS, LazyUniform, decay_bracket

if TYPE_CHECKING:
    from fractions import Fraction

    from deniable_central.scores import Integers
    from deniable_shared.randomness.coins import Coins

Floats = npt.NDArray[np.float64]

BLOCK = 1024
CHUNK = 32 * BLOCK  # a quarter megabyte of floats stays in the cache
_FLOOR = -700.0  # e^−700 is still normal; all weights moved there together are below 2^−900
_EXP_ULP = 8  # numpy documents 4
_UNIT = 2.0**-53
_LOG_LARGEST_MEASURE = 44  # ln 2^63


@dataclass(frozen=True, slots=True)
class Weights:
    """measure_r · e^(−decay · (top − score_r)), top the largest score; every measure is ≥ 1."""

    scores: Integers
    decay: Fraction
    measure: Integers | None = None

    def floats(self, part: slice, top: np.int64) -> Floats:
        """Return the weights of some candidates as floats; `_margin` bounds their error."""
        depths = np.subtract(top, self.scores[part]).view(np.uint64)  # exact at any distance
        weights: Floats = depths.astype(np.float64)
        weights *= -float(self.decay)
        np.maximum(weights, _FLOOR, out=weights)
        np.exp(weights, out=weights)
        if self.measure is not None:
            weights *= self.measure[part]
        return weights

    def brackets(self, bits: int) -> tuple[list[int], list[int]]:
        """Return integers low ≤ 2^bits · weight ≤ high of every candidate."""
        depths, place = np.unique(self._depths(), return_inverse=True)
        bracket = _DecayTable(self.decay, int(depths[-1]), bits).bracket
        levels = [bracket(depth) for depth in depths.tolist()]
        measure = [1] * len(place) if self.measure is None else self.measure.tolist()
        pairs = [levels[p] for p in place.tolist()]
        return (
            [m * low for m, (low, _) in zip(measure, pairs, strict=True)],
            [m * high for m, (_, high) in zip(measure, pairs, strict=True)],
        )

    def _depths(self) -> npt.NDArray[np.uint64]:
        depths: npt.NDArray[np.uint64] = np.subtract(self.scores.max(), self.scores).view(np.uint64)
        return depths


Decision = Callable[[Weights, int], int | None]
"""Returns the candidate that 64 bits of U decide, or None if they do not suffice."""


def decide_in_floats(weights: Weights, drawn: int) -> int | None:
    """Return the exact candidate if floats prove it, else None."""
    n = len(weights.scores)
    share = drawn * 2.0**-WORD_BITS
    top = weights.scores.max()
    if n <= BLOCK:
        sums = weights.floats(slice(None), top).cumsum()
        total = sums[-1]
        return _place(sums, share * total, _margin(n, 1, n) * total)
    sums = _block_sums(weights, top).cumsum()
    total, margin = sums[-1], _margin(n, len(sums), BLOCK) * sums[-1]
    block = int(sums.searchsorted(share * total, side="right"))
    if block == len(sums):
        return None
    rest = share * total - (sums[block - 1] if block else 0.0)
    start = block * BLOCK
    place = _place(weights.floats(slice(start, start + BLOCK), top).cumsum(), rest, margin)
    return None if place is None else start + place


def _block_sums(weights: Weights, top: np.int64) -> Floats:
    n = len(weights.scores)
    sums = np.empty(-(-n // BLOCK))
    for start in range(0, n, CHUNK):
        part = weights.floats(slice(start, start + CHUNK), top)
        whole = len(part) // BLOCK
        first = start // BLOCK
        part[: whole * BLOCK].reshape(whole, BLOCK).sum(axis=1, out=sums[first : first + whole])
        if whole * BLOCK < len(part):
            sums[first + whole] = part[whole * BLOCK :].sum()
    return sums


def _place(sums: Floats, target: float, margin: float) -> int | None:
    """Where the target falls among the running sums; None if an edge is within the margin."""
    place = int(sums.searchsorted(target, side="right"))
    if place == len(sums):
        return None
    below = sums[place - 1] if place else 0.0
    near = sums[place] - target <= margin or target - below <= margin
    return None if near else place


def _margin(n: int, blocks: int, block: int) -> float:
    """Return twice the relative error of a running sum of n weights, and of U · total.

    In units of 2^−53 of the total: each exponent is off by 3 parts of its size x, and Σ x · weight
    ≤ total · ln Σ measure, since a relative entropy is not negative and the total is at least 1.
    e^x is off by 2 · 8, the measure by 2, a sum in any order by the number of its terms. Products
    of errors are below 1%.
    """
    exponent = 3 * (math.log(n) + _LOG_LARGEST_MEASURE)
    return 2 * (1.01 * (exponent + 2 * _EXP_ULP + 2 + blocks + block) + 4) * _UNIT


def decide_exactly(weights: Weights, uniform: LazyUniform) -> int:
    """Return the candidate that U falls on, by certified integers with as many bits as needed."""
    last = len(weights.scores) - 1
    while True:
        lows, highs = (
            list(accumulate(side)) for side in weights.brackets(uniform.size + WORD_BITS)
        )
        place = bisect_right(highs, uniform.bits * lows[-1] >> uniform.size)
        if place == last or (uniform.bits + 1) * highs[-1] <= lows[place] << uniform.size:
            return place
        uniform.extend()


def draw_index(weights: Weights, coins: Coins, *, decide: Decision = decide_in_floats) -> int:
    """Return one candidate, with exactly its probability."""
    drawn = coins.bits(WORD_BITS)
    place = decide(weights, drawn)
    if place is None:
        return decide_exactly(weights, LazyUniform(coins, bits=drawn, size=WORD_BITS))
    return place


class _DecayTable:
    """Brackets of e^(−decay · depth) as products of those at powers of two."""

    def __init__(self, decay: Fraction, deepest: int, bits: int) -> None:
        self._bits, self._far = bits, math.ceil(bits / decay)
        deepest = min(deepest, self._far)
        self._powers = [decay_bracket(decay * 2**j, bits) for j in range(deepest.bit_length())]

    def bracket(self, depth: int) -> tuple[int, int]:
        if depth >= self._far:
            return 0, 1
        low = high = 1 << self._bits
        for j, (low_power, high_power) in enumerate(self._powers):
            if depth >> j & 1:
                low = low * low_power >> self._bits
                high = (high * high_power >> self._bits) + 1
        return low, high
