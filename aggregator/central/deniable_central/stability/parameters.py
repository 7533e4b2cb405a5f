"""Reads ε and δ exactly, as a caller writes them."""

from __future__ import annotations

import re
from fractions import Fraction

from deniable_central.errors import DeltaError
from deniable_shared.randomness.dyadic import parse_epsilon

Epsilon = str | int | Fraction
Delta = str | Fraction

SMALLEST_EPSILON = Fraction(1, 10**6)
SMALLEST_DELTA = Fraction(1, 10**24)  # a guarantee states δ in steps of 2^−96
LARGEST_DELTA = Fraction(1, 2)
_DECIMAL = re.compile(r"[0-9](\.[0-9]{1,24})?(e-[0-9]{1,2})?")


def read_epsilon(value: Epsilon) -> Fraction:
    """Return ε in [10^−6, 20], exactly."""
    return parse_epsilon(value, low=SMALLEST_EPSILON)


def read_delta(value: object) -> Fraction:
    """Return δ in [10^−24, 1/2], exactly. Raises DeltaError for a float, 0 and anything else."""
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        value = Fraction(value)
    if not isinstance(value, Fraction):
        excerpt = repr(value[:20]) if isinstance(value, str) else type(value).__name__
        raise DeltaError(
            f'delta must be a Fraction or a decimal like "1e-6" or "0.000001", got {excerpt}'
        )
    if not SMALLEST_DELTA <= value <= LARGEST_DELTA:
        raise DeltaError(
            f"delta must lie in [1e-24, 0.5], got {float(value):.3g}: an answer tested for "
            "stability is never released under pure epsilon; central.selection does that"
        )
    return value
