"""Spending: what releases cost one report under replacement, and the limit for it.

    δ = 0    Σε ≤ limit; only releases of pure ε
    δ > 0    Σδ ≤ δ/2, and Σε ≤ limit or Σρ ≤ R, R the largest ρ that is (limit, δ/2)-DP

Both tests are filters: they hold even if each release is chosen from the answers before. Either one
is enough on each course of events: courses that pass the first need no second test, and those that
pass the second cost δ/2 in total. An (ε, δ) release is one of pure ε except with probability δ, so
it is part of Σρ, too. Rogers, Roth, Ullman, Vadhan 2016; Feldman, Zrnic 2021.

Source: docs/mathematics/accounting.md, What may still be released.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from deniable_central.accounting.composition import concentration
from deniable_central.accounting.concentrated import epsilon_of
from deniable_central.accounting.group import group_guarantee, replacement_guarantee
from deniable_central.errors import AccountError

if TYPE_CHECKING:
    from deniable_central.guarantee import Guarantee

_STEPS = 64


@dataclass(frozen=True, slots=True)
class Spending:
    """Σε, Σρ (except with probability Σδ) and Σδ; ε is None if a release claims none."""

    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction

    @classmethod
    def of(cls, guarantee: Guarantee, *, reports: int = 1) -> Spending:
        """Return what a release costs one person with `reports` of the reports that it reads.

        The guarantee is first stated for replacement: an add/remove ε enters as 2ε. Its ρ is the
        mechanism's own: ε·tanh(ε/2) for any pure release, a quarter of that only if the draw is of
        bounded range.
        """
        return _cost(guarantee, reports)

    def __add__(self, other: Spending) -> Spending:
        both_pure = self.epsilon is not None and other.epsilon is not None
        epsilon = (self.epsilon or 0) + (other.epsilon or 0) if both_pure else None
        return Spending(
            None if epsilon is None else Fraction(epsilon),
            self.rho + other.rho,
            self.delta + other.delta,
        )


@lru_cache(maxsize=1024)
def _cost(guarantee: Guarantee, reports: int) -> Spending:
    group = group_guarantee(replacement_guarantee(guarantee), reports)
    return Spending(group.epsilon, concentration(group), group.delta)


NOTHING = Spending(Fraction(0), Fraction(0), Fraction(0))


@dataclass(frozen=True, slots=True)
class Limit:
    """(ε, δ) for all releases together; with δ = 0 only pure ε is admitted."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.epsilon < 0:
            raise AccountError(f"epsilon must be at least 0, got {float(self.epsilon):.3g}")
        if not 0 <= self.delta < 1:
            raise AccountError(f"delta must lie in [0, 1), got {float(self.delta):.3g}")

    @property
    def own_delta(self) -> Fraction:
        """The largest sum of the releases' δ; the other half converts Σρ to an ε."""
        return self.delta / 2

    @property
    def rho(self) -> Fraction | None:
        """R, or None if δ is 0."""
        return largest_rho(self.epsilon, self.own_delta) if self.delta else None

    def admits(self, spending: Spending) -> bool:
        """Whether this total may be spent."""
        if spending.delta > self.own_delta:
            return False
        return self._pure(spending) or self._concentrated(spending)

    def _pure(self, spending: Spending) -> bool:
        return spending.epsilon is not None and spending.epsilon <= self.epsilon

    def _concentrated(self, spending: Spending) -> bool:
        return self.rho is not None and spending.rho <= self.rho


@lru_cache(maxsize=256)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest ρ for which ρ-zCDP is (ε, δ)-DP, rounded down."""
    low, high = Fraction(0), max(epsilon, Fraction(1, 1 << 30))
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_of(middle, delta) <= epsilon else (low, middle)
    return low
