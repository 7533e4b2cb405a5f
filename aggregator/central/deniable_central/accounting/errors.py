"""What this room refuses, beside CentralError's own.

* CentralError (deniable_central.errors)
  x AccountError       a bound that cannot be stated: no finite ε, a δ out of reach
    x BudgetError      a release that would spend more than is left; carries the numbers
  x HoldoutError       a holdout that is worn out, or rows that it cannot be asked about
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from deniable_central.errors import CentralError


class AccountError(CentralError, ValueError):
    """A bound that cannot be stated."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """In one currency, "epsilon", "rho" or "delta": limit = spent + left, and asked > left.

    What was asked is None where the release has no such number.
    """

    currency: str
    limit: Fraction
    spent: Fraction | None
    requested: Fraction | None
    left: Fraction
    releases: tuple[str, ...]


class BudgetError(AccountError):
    """A release that would spend more than is left."""

    def __init__(self, message: str, shortage: Shortage) -> None:
        super().__init__(message)
        self.shortage = shortage


class HoldoutError(CentralError, ValueError):
    """A holdout that is worn out, or rows that it cannot be asked about."""
