"""What this room refuses, beside CentralError's own.

* CentralError (deniable_central.errors)
  x MarketError        bids, values or a menu of a type or shape that cannot be worked with
  x PricesError        prices that are not a finite grid, or too many
"""

from __future__ import annotations

from deniable_central.errors import CentralError


class MarketError(CentralError, ValueError):
    """Bids, values or a menu of a type or shape that cannot be worked with."""


class PricesError(CentralError, ValueError):
    """Prices that are not a finite grid, or too many."""
