"""Reads ε, δ, ρ and counts exactly, as a caller writes them. Floats are never accepted as exact."""

from __future__ import annotations

import re
from fractions import Fraction

from deniable_central.errors import AccountError
from deniable_shared.randomness.dyadic import parse_epsilon

Epsilon = str | int | Fraction
Delta = str | Fraction

LARGEST_EPSILON = Fraction(10**6)
SMALLEST_DELTA = Fraction(1, 10**30)
LARGEST_COUNT = 10**9
_DECIMAL = re.compile(r"[0-9](\.[0-9]{1,30})?(e-[0-9]{1,2})?")


def read_epsilon(value: Epsilon, *, argument: str = "epsilon") -> Fraction:
    """Return ε in [0, 10^6], exactly: composed budgets exceed those of one release."""
    return parse_epsilon(value, argument=argument, low=Fraction(0), high=LARGEST_EPSILON)


def read_delta(value: object) -> Fraction:
    """Return δ in [10^−30, 1), exactly. Raises AccountError for a float and for 0."""
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        value = Fraction(value)
    if not isinstance(value, Fraction):
        excerpt = repr(value[:20]) if isinstance(value, str) else type(value).__name__
        raise AccountError(
            f'delta must be a Fraction or a decimal like "1e-6" or "0.000001", got {excerpt}'
        )
    if not SMALLEST_DELTA <= value < 1:
        raise AccountError(
            f"delta must lie in [1e-30, 1), got {float(value):.3g}: at delta 0 only pure epsilons "
            "are accounted for, and they add up"
        )
    return value


def read_rho(value: object) -> Fraction:
    """Return ρ ≥ 0, exactly."""
    if isinstance(value, bool) or not isinstance(value, int | Fraction) or value < 0:
        raise AccountError(f"rho must be an int or a Fraction of at least 0, got {value!r:.40}")
    return Fraction(value)


def read_count(value: object, *, argument: str, most: int = LARGEST_COUNT) -> int:
    """Return a whole number from 1."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise AccountError(f"{argument} must be an int in [1, {most:,}], got {value!r:.40}")
    return value
