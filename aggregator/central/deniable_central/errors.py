"""All errors of deniable_central.

* DeniableError (deniable_shared.errors)
  x CentralError               a central release that was not made
    x AdjacencyError           an adjacency that this mechanism does not support
    x ScoresError              scores that are not exact
    x SensitivityError         a sensitivity that is missing, given twice or impossible
    x AccountError             accounting: a bound that does not exist
      x BudgetError            a release that would spend more than is left; has the numbers
    x HoldoutError             accounting: a holdout that is used up, or has other rows
    x MarketError              auctions: bids, values or a menu of a wrong type or shape
    x PricesError              auctions: prices that are not a finite grid, or too many
    x CountsError              queries: counts or queries of a wrong type, shape or size
    x EnumerationError         queries: too many candidates to enumerate
    x SessionError             queries: a session whose journal is broken, or was not stored
    x SubsetsError             reconstruction: subsets, secrets or answers of a wrong shape
    x DeltaError               stability: a δ out of range, or that no parameters reach
    x RowsError                stability: rows, blocks or answers of a wrong type or size

A message names arguments, types and sizes, never a score or a count. The caller sees a refusal, so
it depends only on public facts.
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
    """An adjacency that this mechanism does not support."""


class ScoresError(CentralError, ValueError):
    """Scores that are not exact."""


class SensitivityError(CentralError, ValueError):
    """A sensitivity that is missing, given twice or impossible."""


class AccountError(CentralError, ValueError):
    """A bound that does not exist."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """The numbers in one currency, "epsilon", "rho" or "delta": limit = spent + left, asked > left.

    `asked` is None if the release has no such number.
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
    """A holdout that is used up, or has other rows."""


class MarketError(CentralError, ValueError):
    """Bids, values or a menu of a wrong type or shape."""


class PricesError(CentralError, ValueError):
    """Prices that are not a finite grid, or too many."""


class CountsError(CentralError, ValueError):
    """Counts or queries of a wrong type, shape or size."""


class EnumerationError(CentralError, ValueError):
    """Too many candidates to enumerate."""


class SessionError(CentralError, RuntimeError):
    """A session that cannot go on: its journal is broken, or was not stored."""


class SubsetsError(CentralError, ValueError):
    """Subsets, secrets or answers of a wrong shape."""


class DeltaError(CentralError, ValueError):
    """A δ out of range, or that no parameters of this mechanism reach."""


class RowsError(CentralError, ValueError):
    """Rows, blocks or answers of a wrong type or size."""
