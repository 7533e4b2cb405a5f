"""Linkage: how well two reports of one permanent answer betray that one device sent both.

The mutual information, in bits, of two reports of one permanent answer, when each symbol of it is
uniform, as it is if the value is (of affine/1 over all its codes, used or not); for bit vectors the
sum over bits, each fair. Each report keeps a symbol with probability a, so one
report is the other sent through a channel that keeps a symbol with probability c = a²:

    I = ((1 + (K−1)c)/K)·log2(1 + (K−1)c) + ((K−1)(1 − c)/K)·log2(1 − c)        for each symbol

What a report tells openly is told by both: it adds log2 of the number of choices.
"""

from __future__ import annotations

import math
from fractions import Fraction

from deniable_shared.chains import Renewed
from deniable_shared.mechanisms.contract import Mechanism

__all__ = ["linkage"]


def linkage(mechanism: Mechanism) -> float:
    """Bits by which two reports of one permanent answer are linked; 0 for reports that keep none.

    Off by at most 1e-12 for each symbol, and by a relative 1e-15 for the open part and for symbols
    of more than 2^1000 values.
    """
    if not isinstance(mechanism, Renewed):
        return float(0)
    first = mechanism.first
    return math.log2(first.public_choices) + first.places * _of_symbol(
        first.symbols, mechanism.kept
    )


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
