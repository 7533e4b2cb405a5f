"""One remark of the linter, and how it writes numbers: exact, without floats."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Literal

Level = Literal["error", "warning", "note"]

LEVELS: tuple[Level, ...] = ("error", "warning", "note")

_MICRO = 10**6


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark: an error makes the collection useless, a warning asks to think again."""

    level: Level
    field: str
    message: str


def square_root(value: Fraction) -> Fraction:
    """Square root, rounded down to millionths."""
    return Fraction(isqrt(value.numerator * _MICRO**2 // value.denominator), _MICRO)


def percent(share: Fraction) -> str:
    """With two decimals."""
    hundredths = round(share * 10**4)
    return f"{hundredths // 100}.{hundredths % 100:02d} %"
