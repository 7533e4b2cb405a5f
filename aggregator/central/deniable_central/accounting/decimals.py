"""Rationals as decimals to print: what is spent never too little, what is left never too much.

Twelve digits where they say it exactly, as of every ε; else six, rounded against us.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

_EXACT_DIGITS, _DIGITS = 12, 6
_PLAIN = Decimal("0.0001")


def at_most(value: Fraction) -> str:
    """A cost: the decimal is never below it."""
    return _written(value, ROUND_CEILING)


def at_least(value: Fraction) -> str:
    """What may still be spent: the decimal is never above it."""
    return _written(value, ROUND_FLOOR)


def _written(value: Fraction, rounding: str) -> str:
    for digits in (_EXACT_DIGITS, _DIGITS):
        context = Context(prec=digits, rounding=rounding)
        decimal = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize()
        if Fraction(decimal) == value:
            break
    return f"{decimal:f}" if not value or abs(decimal) >= _PLAIN else f"{decimal:e}"
