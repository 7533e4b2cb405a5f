"""Mutual information of two reports of one permanent answer: the formulas of `linkage`.

Source: docs/mathematics/repeated-answers.md, Linkage.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction


def symbol_information(symbols: int, kept: Fraction) -> float:
    """The bits of a uniform symbol that is kept with this chance, to a few units of precision."""
    same = kept * kept
    likely, other = same + (1 - same) / symbols, (1 - same) * (symbols - 1) / symbols
    return float(likely) * _log2(symbols * likely) + float(other) * _log2(1 - same)


def _log2(number: Fraction) -> float:
    """Log2, exact to a few units in the last place, near 1 and beyond the range of floats, too."""
    if number > 2:
        return math.log2(number.numerator) - math.log2(number.denominator)
    return math.log1p(float(number - 1)) / math.log(2)


def encoding_information(p: Fraction, q: Fraction, bits: int, kept: Fraction) -> float:
    """Return a bound in bits on d bits of one choice: the bit that is true, and d − 1 others."""
    blurred, others = (1 - kept) / 2, bits - 1
    about_choice = _divergence(kept * p + blurred, kept * q + blurred, others)
    return about_choice + bit_information(p, kept) + others * bit_information(q, kept)


@lru_cache(maxsize=32)
def output_information(classes: tuple[tuple[Fraction, int], ...], kept: Fraction) -> float:
    """The bits of outputs in classes (chance, count), over pairs of classes and equal outputs."""
    drawn = (1 - kept) / sum(many for _, many in classes)
    same = [float(kept * chance) for chance, _ in classes]
    means = [float(kept * chance + drawn) for chance, _ in classes]
    sizes = [many for _, many in classes]
    nats = float(0)
    for one, (own, mean, many) in enumerate(zip(same, means, sizes, strict=True)):
        for other in range(one + 1):
            apart, shared = mean * means[other], own * same[other]
            pairs = many * (many - 1) if one == other else 2 * many * sizes[other]
            nats += pairs * (apart - shared) * math.log1p(-shared / apart)
        alike = mean * mean - own * own + own * float(kept)
        nats += many * alike * math.log(alike / (mean * mean))
    return nats / math.log(2)


def _divergence(p: Fraction, q: Fraction, others: int) -> float:
    """D·I(R_v; X) in bits, where R_v is 1 with p for one of d choices and q for the others."""
    mean = (p + others * q) / (others + 1)
    return _relative(p, mean) + others * _relative(q, mean)


def _relative(chance: Fraction, to: Fraction) -> float:
    """Return the relative entropy of two coins, in bits."""
    one = float(chance) * math.log1p(float(chance / to - 1))
    return (one + float(1 - chance) * math.log1p(float((1 - chance) / (1 - to) - 1))) / math.log(2)


def bit_information(chance: Fraction, kept: Fraction) -> float:
    """The mutual information, in bits, of two reports of a permanent bit with this chance of 1."""
    one = kept * chance + (1 - kept) / 2
    both = kept * kept * chance * (1 - chance)  # the covariance of the two reports
    cells = ((one * one, both, 1), (one * (1 - one), -both, 2), ((1 - one) ** 2, both, 1))
    nats = sum(
        times * float(apart + more) * math.log1p(float(more / apart))
        for apart, more, times in cells
    )
    return nats / math.log(2)
