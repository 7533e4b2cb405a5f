"""Guarantee: what one release costs, as exact rationals, never too small.

    pure ε        (ε, 0), and ρ = ε·tanh(ε/2) in zCDP, tight at randomized response
    bounded range the exponential mechanism: all log-ratios of two neighbours lie within ε of each
                  other, and ρ = ε/(e^ε − 1) − 1 − ln(ε/(e^ε − 1)) ≤ ε²/8, about a quarter
    approximate   (ε, δ), no ρ
    zCDP          ρ alone, no ε: a Gaussian release

Dong, Durfee, Rogers 2020 (bounded range); Bun, Steinke 2016 (zCDP).

Every ε, ρ and δ is a statement about neighbours. `Adjacency` says which data sets are neighbours:

    replace       one row, or report, is exchanged for another; n is public
    add/remove    one row, or report, is added or left out; n is private

A replacement is a removal and an addition. So a guarantee for add/remove holds for replace as one
for a group of two: (2ε, (1 + e^ε)δ) and 4ρ. The converse is false: n is no secret under replace.

Printed decimals never show too little of what is spent, or too much of what is left. They have
twelve digits if that is exact, as for every ε; otherwise six, rounded against us.

Source: docs/mathematics/accounting.md, Concentrated privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from deniable_central.errors import AdjacencyError
from deniable_shared.errors import ParameterError
from deniable_shared.randomness.dyadic import exp_bounds


class Adjacency(StrEnum):
    """The neighbours of a guarantee."""

    REPLACE = "replace"
    ADD_REMOVE = "add/remove"

    @property
    def rows_replaced(self) -> int:
        """How many of these steps make one replacement: the size of the group."""
        return 2 if self is Adjacency.ADD_REMOVE else 1


def parse_adjacency(value: str) -> Adjacency:
    """Return the adjacency. Raises AdjacencyError for anything but the two names."""
    try:
        return Adjacency(value)
    except ValueError:
        raise AdjacencyError(
            'adjacency must be "replace" (one row exchanged, n public) or "add/remove" '
            f"(one row more or less), got {value!r}"
        ) from None


_CONTEXT = Context(prec=60)
_SLACK = Fraction(1, 10**40)  # the four roundings below are each under 10^-50
_GRID_BITS = 96
_EXP_BITS = 128


@dataclass(frozen=True, slots=True)
class Guarantee:
    """(ε, δ) and ρ-zCDP for one pair of neighbours; None is not claimed.

    Raises ParameterError for a negative number, for δ of 1 or more, and if nothing is claimed.
    """

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction
    adjacency: Adjacency

    def __post_init__(self) -> None:
        if self.epsilon is None and self.rho is None:
            raise ParameterError("a guarantee must claim epsilon or rho, got neither")
        for name in ("epsilon", "rho"):
            bound = getattr(self, name)
            if bound is not None and bound < 0:
                raise ParameterError(f"{name} must be at least 0, got {bound}")
        if not 0 <= self.delta < 1:
            raise ParameterError(f"delta must lie in [0, 1), got {self.delta}")

    @classmethod
    def pure(cls, epsilon: Fraction, adjacency: Adjacency) -> Guarantee:
        """Return the guarantee of an ε-DP release: geometric noise, permute-and-flip, noisy max."""
        return cls(epsilon, pure_rho(epsilon), Fraction(0), adjacency)

    @classmethod
    def bounded_range(cls, epsilon: Fraction, adjacency: Adjacency, *, times: int = 1) -> Guarantee:
        """That of `times` adaptive draws of the exponential mechanism, each ε-bounded-range."""
        rho = times * bounded_range_rho(epsilon)
        return cls(times * epsilon, rho, Fraction(0), adjacency)

    @classmethod
    def approximate(cls, epsilon: Fraction, delta: Fraction, adjacency: Adjacency) -> Guarantee:
        """Return that of an (ε, δ) release: propose-test-release and what is built on it."""
        return cls(epsilon, None, delta, adjacency)

    @classmethod
    def concentrated(cls, rho: Fraction, adjacency: Adjacency) -> Guarantee:
        """Return that of a ρ-zCDP release without any pure ε: Gaussian noise."""
        return cls(None, rho, Fraction(0), adjacency)


@lru_cache(maxsize=1024)
def pure_rho(epsilon: Fraction) -> Fraction:
    """Return ε·tanh(ε/2), rounded up to a multiple of 2^−96: the zCDP of any ε-DP release."""
    if epsilon == 0:
        return Fraction(0)
    _, e = exp_bounds(epsilon, bits=_EXP_BITS)
    return round_up(epsilon * (e - 1) / (e + 1))


@lru_cache(maxsize=1024)
def bounded_range_rho(epsilon: Fraction) -> Fraction:
    """Return t − 1 − ln t for t = ε/(e^ε − 1), rounded up to a multiple of 2^−96, at most ε²/8."""
    if epsilon == 0:
        return Fraction(0)
    _, e = exp_bounds(epsilon, bits=_EXP_BITS + 2 * epsilon.denominator.bit_length())
    t = epsilon / (e - 1)  # at most the true t; t − 1 − ln t falls as t rises to 1
    ratio = _CONTEXT.divide(Decimal(t.numerator), Decimal(t.denominator))
    rho = t - 1 - Fraction(_CONTEXT.ln(ratio)) + _SLACK
    return min(round_up(rho), round_up(epsilon * epsilon / 8))


def round_up(bound: Fraction) -> Fraction:
    """The least multiple of 2^−96 not below the bound: prints exactly, never in our favour."""
    return Fraction(-(-(bound.numerator << _GRID_BITS) // bound.denominator), 1 << _GRID_BITS)


_EXACT_DIGITS, _DIGITS = 12, 6
_PLAIN = Decimal("0.0001")


def at_most(value: Fraction) -> str:
    """Return a cost as a decimal that is never too small."""
    return _written(value, ROUND_CEILING)


def at_least(value: Fraction) -> str:
    """Return what is left as a decimal that is never too large."""
    return _written(value, ROUND_FLOOR)


def _written(value: Fraction, rounding: str) -> str:
    for digits in (_EXACT_DIGITS, _DIGITS):
        context = Context(prec=digits, rounding=rounding)
        decimal = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize()
        if Fraction(decimal) == value:
            break
    return f"{decimal:f}" if not value or abs(decimal) >= _PLAIN else f"{decimal:e}"
