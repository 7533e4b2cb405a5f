"""Everything that deniable_central refuses.

* DeniableError (deniable_shared.errors)
  x CentralError               a central release that was not made
    x AdjacencyError           neighbours that this mechanism cannot speak of
    x ScoresError              scores that cannot be selected from exactly
    x SensitivityError         a sensitivity that is missing, given twice or impossible
    x AccountError             accounting: a bound that cannot be stated
      x BudgetError            a release that would spend more than is left; carries the numbers
    x HoldoutError             accounting: a holdout that is worn out, or rows it does not have
    x MarketError              auctions: bids, values or a menu of a type or shape of no use
    x PricesError              auctions: prices that are not a finite grid, or too many
    x CountsError              queries: counts or queries of a type, shape or size of no use
    x EnumerationError         queries: more candidates than can be gone through
    x SessionError             queries: a session whose journal is broken, or was not kept
    x SubsetsError             reconstruction: subsets, secrets or answers of another shape
    x DeltaError               stability: a δ that is no δ, or that no parameters reach
    x RowsError                stability: rows, blocks or answers of a type or size of no use

A message names arguments, types and sizes, never a score or a count: the caller sees a refusal,
so it is a function of public facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_shared.errors import DeniableError

if TYPE_CHECKING:
    from fractions import Fraction


class CentralError(DeniableError):
    """A central release that was not made."""


class AdjacencyError(CentralError, ValueError):
    """Neighbours that this mechanism cannot speak of."""


class ScoresError(CentralError, ValueError):
    """Scores that cannot be selected from exactly."""


class SensitivityError(CentralError, ValueError):
    """A sensitivity that is missing, given twice or impossible."""


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


class MarketError(CentralError, ValueError):
    """Bids, values or a menu of a type or shape that cannot be worked with."""


class PricesError(CentralError, ValueError):
    """Prices that are not a finite grid, or too many."""


class CountsError(CentralError, ValueError):
    """Counts or queries of a type, shape or size that cannot be answered from."""


class EnumerationError(CentralError, ValueError):
    """More candidates than can be gone through."""


class SessionError(CentralError, RuntimeError):
    """A session that cannot go on: its journal is broken, or was not kept."""


class SubsetsError(CentralError, ValueError):
    """Subsets, secrets or answers of another shape than the attack needs."""


class DeltaError(CentralError, ValueError):
    """A δ that is no δ, or that no parameters of this mechanism reach."""


class RowsError(CentralError, ValueError):
    """Rows, blocks or answers of a type or size that cannot be released from."""
