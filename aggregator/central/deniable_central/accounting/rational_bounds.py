"""ln, e^x, √ and tanh of rationals, enclosed between rationals: all bounds are built from these."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

from deniable_shared.errors import ParameterError
from deniable_shared.randomness.dyadic import exp_bounds

Bounds = tuple[Fraction, Fraction]

_BITS = 160
_CONTEXT = Context(prec=60)
_ERROR = Fraction(1, 10**57)  # the quotient and its logarithm are each rounded once, at 10^−59
_HEADROOM = 1 << _BITS


def ln(x: Fraction) -> Bounds:
    """Return bounds of ln x, for x > 0, about 10^−57 of max(1, |ln x|) apart."""
    if x <= 0:
        raise ParameterError("a logarithm needs a positive number")
    if x == 1:
        return Fraction(0), Fraction(0)
    ratio = _CONTEXT.divide(Decimal(x.numerator), Decimal(x.denominator))
    middle = Fraction(_CONTEXT.ln(ratio))
    slack = (1 + abs(middle)) * _ERROR
    return middle - slack, middle + slack


def exp(x: Fraction) -> Bounds:
    """Return bounds of e^x, about a relative 2^−160 apart."""
    if x == 0:
        return Fraction(1), Fraction(1)
    low, high = exp_bounds(abs(x), bits=_BITS)
    return (low, high) if x > 0 else (1 / high, 1 / low)


def sqrt(x: Fraction) -> Bounds:
    """Return bounds of √x, for x ≥ 0, at most 2^−160 of max(1, √x) apart."""
    if x < 0:
        raise ParameterError("a square root needs a number of at least 0")
    scaled = x * _HEADROOM * _HEADROOM
    low = math.isqrt(math.floor(scaled))
    high = low if low * low == scaled else low + 1
    return Fraction(low, _HEADROOM), Fraction(high, _HEADROOM)


def tanh(x: Fraction) -> Bounds:
    """Return bounds of tanh x, for x ≥ 0."""
    low, high = exp(2 * x)
    return (low - 1) / (low + 1), (high - 1) / (high + 1)
