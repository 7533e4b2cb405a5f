"""A finding of the linter, and its exact numbers without floats."""

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
    """One finding. An error makes the collection useless; a warning is a likely mistake.

    `message` is in the words of the TOML text. `form` is the same in the words of the page
    *Set up*, where they differ.
    """

    level: Level
    field: str
    message: str
    form: str = ""

    @property
    def in_form(self) -> str:
        """The remark for people who fill in the form: a sentence without its full stop."""
        text = self.form or self.message
        return text[:1].upper() + text[1:]


def square_root(value: Fraction) -> Fraction:
    """Square root, rounded down to millionths."""
    return Fraction(isqrt(value.numerator * _MICRO**2 // value.denominator), _MICRO)


def percent(share: Fraction) -> str:
    """A share as a percentage with two decimals."""
    hundredths = round(share * 10**4)
    return f"{hundredths // 100}.{hundredths % 100:02d} %"
