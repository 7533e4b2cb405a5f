"""The laws of selection as certified probabilities. Tests compare every sampler with them.

Integers scaled by 2^bits carry lower bounds rounded down and upper bounds rounded up, so the true
probability always lies between. Written from the definitions, not from the samplers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING, TypeVar

from deniable_central.pmf import Pmf
from deniable_central.samplers.exponential import Weights
from deniable_central.samplers.noise import decay_bracket
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from deniable_central.scores import Integers

Interval = tuple[int, int]
Outcome = TypeVar("Outcome")

BITS = 128
_MOST_STEPS = 2 * 10**7
_MOST_DEPTH_BITS = 1 << 13


def exponential_pmf(weights: Weights, bits: int = BITS) -> Pmf[int]:
    """Return Pr[r] = measure_r e^(decay·s_r) / Σ_i measure_i e^(decay·s_i)."""
    pairs = list(zip(*weights.brackets(bits + _depth_bits(weights)), strict=True))
    total = _total(pairs)
    return _pmf(tuple(range(len(pairs))), [_share(pair, total) for pair in pairs])


def top_k_pmf(weights: Weights, picks: int, bits: int = BITS) -> Pmf[tuple[int, ...]]:
    """Return Pr of every order of `picks` candidates drawn one by one without replacement."""
    n = len(weights.scores)
    _affordable(math.perm(n, picks) * picks * n)
    pairs = list(zip(*weights.brackets(bits + _depth_bits(weights)), strict=True))
    orders = tuple(permutations(range(n), picks))
    return _pmf(orders, [_peel(order, pairs) for order in orders])


def _peel(order: Sequence[int], pairs: Sequence[Interval]) -> tuple[Fraction, Fraction]:
    low = high = Fraction(1)
    left = dict(enumerate(pairs))
    for pick in order:
        pick_low, pick_high = _share(left[pick], _total(left.values()))
        low, high = low * pick_low, high * pick_high
        del left[pick]
    return low, high


def _total(pairs: Collection[Interval]) -> Interval:
    return sum(low for low, _ in pairs), sum(high for _, high in pairs)


def _share(own: Interval, total: Interval) -> tuple[Fraction, Fraction]:
    """Return bounds of own/total: low own with high others, and the reverse."""
    if own == total:
        return Fraction(1), Fraction(1)
    low, high = own
    return Fraction(low, low + total[1] - high), Fraction(high, high + total[0] - low)


def _depth_bits(weights: Weights) -> int:
    """Return the bits by which the least weight is below the largest: they keep bounds relative."""
    gap = int(weights.scores.max()) - int(weights.scores.min())
    return min(math.ceil(weights.decay * gap * 3 / 2), _MOST_DEPTH_BITS)


def permute_and_flip_pmf(scores: Integers, decay: Fraction, bits: int = BITS) -> Pmf[int]:
    """Return Pr[r] = p_r ∫_0^1 Π_{i≠r} (1 − p_i x) dx, with p_i = e^(decay·(s_i − max s)).

    It rises with p_r and falls with every other p_i, so each bound uses the matching ends.
    """
    _affordable(len(scores) ** 3)
    weights = Weights(scores, decay)
    bits += _depth_bits(weights)
    heads = list(zip(*weights.brackets(bits), strict=True))
    one = 1 << bits
    misses = [(one - high, one - low) for low, high in heads]
    bounds = []
    for r, (low, high) in enumerate(heads):
        others = [i for i in range(len(heads)) if i != r]
        least = _uniform_share([(misses[i][0], heads[i][1]) for i in others], bits, up=0)
        most = _uniform_share([(misses[i][1], heads[i][0]) for i in others], bits, up=1)
        bounds.append((Fraction(low, one) * least, Fraction(high, one) * most))
    return _pmf(tuple(range(len(heads))), bounds)


def noisy_max_pmf(scores: Integers, decay: Fraction, bits: int = BITS) -> Pmf[int]:
    """Return Pr of the largest s_i + N_i, two-sided geometric of z = e^−decay, uniform among ties.

    Pr[r] = Σ_v Pr[s_r + N_r = v] ∫_0^1 Π_{i≠r} (Pr[s_i + N_i < v] + x Pr[s_i + N_i = v]) dx
    """
    values = [int(s) for s in scores]
    bits += _depth_bits(Weights(scores, decay))
    reach = math.ceil(bits / decay * 7 / 10)  # z^reach < 2^−bits: the rest widens the bounds
    n, span = len(values), range(min(values) - reach, max(values) + reach + 1)
    _affordable(len(span) * n**3)
    noise = _Geometric(decay, bits)
    totals = [[0, 4] for _ in values]
    for v in span:
        at = [noise.probability(v - s) for s in values]
        below = [noise.below(v - s) for s in values]
        for r, total in enumerate(totals):
            others = [i for i in range(n) if i != r]
            least = _uniform_share([(below[i][0], at[i][0]) for i in others], bits, up=0)
            most = _uniform_share([(below[i][1], at[i][1]) for i in others], bits, up=1)
            total[0] += math.floor(at[r][0] * least)
            total[1] += math.ceil(at[r][1] * most)
    one = 1 << bits
    return _pmf(
        tuple(range(n)), [(Fraction(low, one), Fraction(high, one)) for low, high in totals]
    )


class _Geometric:
    """Pr[N = k] = (1 − z)/(1 + z) z^|k| and Pr[N < k], scaled by 2^bits."""

    def __init__(self, decay: Fraction, bits: int) -> None:
        self._decay, self._bits, self._one = decay, bits, 1 << bits
        self._z = decay_bracket(decay, bits)

    def probability(self, k: int) -> Interval:
        low, high = self._tail(abs(k))
        above = _up(high * (self._one - self._z[0]), self._bits)
        return low * (self._one - self._z[1]) >> self._bits, above

    def below(self, k: int) -> Interval:
        if k <= 0:
            return self._tail(1 - k)
        low, high = self._tail(k)
        return self._one - high, self._one - low

    def _tail(self, k: int) -> Interval:
        """Return Pr[N ≥ k] = z^k/(1 + z) for k ≥ 0."""
        low, high = decay_bracket(self._decay * k, self._bits)
        above = -(-(high << self._bits) // (self._one + self._z[0]))
        return (low << self._bits) // (self._one + self._z[1]), above


def _uniform_share(coins: Sequence[Interval], bits: int, *, up: int) -> Fraction:
    """∫_0^1 Π (miss + x·hit) dx, rounded down or up: the mean share of one among the hits."""
    chances = [1 << bits]
    for miss, hit in coins:
        stay = [_shifted(c * miss, bits, up) for c in [*chances, 0]]
        move = [_shifted(c * hit, bits, up) for c in [0, *chances]]
        chances = [a + b for a, b in zip(stay, move, strict=True)]
    return sum((Fraction(c, k + 1) for k, c in enumerate(chances)), Fraction(0)) / (1 << bits)


def _shifted(product: int, bits: int, up: int) -> int:
    return _up(product, bits) if up else product >> bits


def _up(product: int, bits: int) -> int:
    return -(-product >> bits)


def _affordable(steps: int) -> None:
    if steps > _MOST_STEPS:
        raise ParameterError(
            f"this pmf would take {steps:,} steps, at most {_MOST_STEPS:,}: fewer candidates, "
            "or a larger epsilon; draws have no such limit"
        )


def _pmf(
    outcomes: tuple[Outcome, ...], bounds: Sequence[tuple[Fraction, Fraction]]
) -> Pmf[Outcome]:
    lower, upper = zip(*bounds, strict=True)
    return Pmf(outcomes, lower, upper)
