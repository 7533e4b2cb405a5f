"""Linkage: how well two reports of one permanent answer betray that one device sent both.

The mutual information, in bits, of two reports of one permanent answer, when the value is uniform;
for bit vectors the sum over bits, each fair. Then each symbol of the permanent answer is uniform.
Each report keeps a symbol with probability a, so one report is the other sent through a channel
that keeps a symbol with probability c = a²:

    I = ((1 + (K−1)c)/K)·log2(1 + (K−1)c) + ((K−1)(1 − c)/K)·log2(1 − c)        for each symbol

What a report tells openly is told by both: it adds log2 of the number of choices. Where some codes
stand for no choice, the value is taken as uniform over all codes: a bit that is not fair tells
less. For affine/1 the number is that of the d choices to a relative 0.2% from d = 64 on; below, it
is at most 8% too little where it is more than 0.001 bits.

The d bits of a unary encoding are neither fair nor independent: one choice is behind them all. With
X the choice, R and R′ the reports and R_v one bit,

    I(R; R′) ≤ I(R; X) + I(R; R′ | X) ≤ Σ_v I(R_v; X) + Σ_v I(R_v; R′_v | X)

and that bound, of which every term belongs to one bit, is the number given. Of `dbitflip/1`, which
tells t of d such bits, it is t/d of that bound; of one bit it is that bit's, exactly.

Outputs in a window around a number are not uniform either, though the number is: those near the
ends are rarer. With π their law in the permanent answer, m = aπ + (1 − a)/K that of a report,

    I = Σ P(y, y′)·log2(P(y, y′)/(m_y m_y′))      P = m_y m_y′ − a²π_y π_y′ + a²π_y·1[y = y′]

summed over classes of outputs that are as likely.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import lru_cache

from deniable_shared.chains import Renewed
from deniable_shared.mechanisms.contract import Mechanism
from deniable_shared.mechanisms.dbitflip import BucketFlips
from deniable_shared.mechanisms.haar import HaarResponse
from deniable_shared.mechanisms.one_of_choices import OneOfChoices
from deniable_shared.mechanisms.square_wave import SquareWave
from deniable_shared.mechanisms.windowed import WindowedMean

__all__ = ["linkage"]


def linkage(mechanism: Mechanism) -> float:
    """Bits by which two reports of one permanent answer are linked; 0 for reports that keep none.

    Off by at most 1e-12 for each symbol, and by a relative 1e-15 for the open part and for symbols
    of more than 2^1000 values.
    """
    if not isinstance(mechanism, Renewed):
        return float(0)
    first = mechanism.first
    if isinstance(first, OneOfChoices):
        return _of_one_choice(first, mechanism.kept)
    if isinstance(first, HaarResponse):
        openly = math.log2(first.levels) + (first.levels - 1) / 2  # log2 of 2^l, on average
        return openly + _of_symbol(first.symbols, mechanism.kept)
    if isinstance(first, BucketFlips):
        return math.log2(first.public_choices) + _of_buckets(mechanism)
    if isinstance(first, WindowedMean | SquareWave):
        return _of_outputs(_classes(first), mechanism.kept)
    if first.places > 1 and "choice" in first.domain_types:
        return _of_encoding(mechanism)
    return math.log2(first.public_choices) + first.places * _of_symbol(
        first.symbols, mechanism.kept
    )


def _of_one_choice(first: OneOfChoices, kept: Fraction) -> float:
    """That of the place, which is open, and the mean over the choices of that of their symbol."""
    sizes = [choice.symbols for choice in first.choices]
    of_size = {symbols: _of_symbol(symbols, kept) for symbols in {*sizes}}
    mean = math.fsum(of_size[symbols] for symbols in sizes) / len(sizes)
    return math.log2(first.public_choices) + mean


def _of_symbol(symbols: int, kept: Fraction) -> float:
    """The formula above; each of its two terms is exact to a few units in the last place."""
    same = kept * kept
    likely, other = same + (1 - same) / symbols, (1 - same) * (symbols - 1) / symbols
    return float(likely) * _log2(symbols * likely) + float(other) * _log2(1 - same)


def _log2(number: Fraction) -> float:
    """To a few units in the last place near 1 as well, and beyond what a float can hold."""
    if number > 2:
        return math.log2(number.numerator) - math.log2(number.denominator)
    return math.log1p(float(number - 1)) / math.log(2)


def _of_encoding(chain: Renewed) -> float:
    """The bound on d bits: that of the choice, and d − 1 others."""
    first, others = chain.first, chain.domain_size - 1
    told = _divergence(chain.p, chain.q, others)
    kept = chain.kept
    return told + _of_bit(first.p, kept) + others * _of_bit(first.q, kept)


def _of_buckets(chain: Renewed) -> float:
    """That of the bits told: of one exactly, of more the bound above."""
    first = chain.first
    if first.places == 1:
        return _of_bit(first.q + (first.p - first.q) / first.domain_size, chain.kept)
    return float(first.told) * _of_encoding(chain)


def _classes(first: WindowedMean | SquareWave) -> tuple[tuple[Fraction, int], ...]:
    """Chances of outputs in the permanent answer to a uniform number, and how many have each."""
    inside = first.p / first.window
    outside = (1 - first.p) / (first.outputs - first.window)
    near = first.likely_windows()
    return tuple(Counter(outside + (inside - outside) * share for share in near).items())


@lru_cache(maxsize=32)
def _of_outputs(classes: tuple[tuple[Fraction, int], ...], kept: Fraction) -> float:
    """The sum over pairs of classes, and what two equal outputs add."""
    drawn = (1 - kept) / sum(many for _, many in classes)
    same = [float(kept * chance) for chance, _ in classes]
    told = [float(kept * chance + drawn) for chance, _ in classes]
    sizes = [many for _, many in classes]
    nats = float(0)
    for one, (own, mean, many) in enumerate(zip(same, told, sizes, strict=True)):
        for other in range(one + 1):
            apart, shared = mean * told[other], own * same[other]
            pairs = many * (many - 1) if one == other else 2 * many * sizes[other]
            nats += pairs * (apart - shared) * math.log1p(-shared / apart)
        alike = mean * mean - own * own + own * float(kept)
        nats += many * alike * math.log(alike / (mean * mean))
    return nats / math.log(2)


def _divergence(p: Fraction, q: Fraction, others: int) -> float:
    """d·I(R_v; X), where R_v is 1 with p for one of d choices and with q for the others."""
    mean = (p + others * q) / (others + 1)
    return _relative(p, mean) + others * _relative(q, mean)


def _relative(chance: Fraction, to: Fraction) -> float:
    """Relative entropy of two coins, in bits."""
    one = float(chance) * math.log1p(float(chance / to - 1))
    return (one + float(1 - chance) * math.log1p(float((1 - chance) / (1 - to) - 1))) / math.log(2)


def _of_bit(chance: Fraction, kept: Fraction) -> float:
    """Mutual information of two reports of a permanent bit that is 1 with a given chance."""
    one = kept * chance + (1 - kept) / 2
    both = kept * kept * chance * (1 - chance)  # the covariance of the two reports
    cells = ((one * one, both, 1), (one * (1 - one), -both, 2), ((1 - one) ** 2, both, 1))
    nats = sum(
        times * float(apart + more) * math.log1p(float(more / apart))
        for apart, more, times in cells
    )
    return nats / math.log(2)
