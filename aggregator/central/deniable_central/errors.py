"""Everything the central room refuses.

* DeniableError (deniable_shared.errors)
  x CentralError               a central release that was not made
    x AdjacencyError           neighbours that this mechanism cannot speak of
    x ScoresError              scores that cannot be selected from exactly
    x SensitivityError         a sensitivity that is missing, given twice or impossible

A message names arguments, types and sizes, never a score or a count: a refusal is seen by whoever
asked, so it is a function of public facts.
"""

from __future__ import annotations

from deniable_shared.errors import DeniableError


class CentralError(DeniableError):
    """A central release that was not made."""


class AdjacencyError(CentralError, ValueError):
    """Neighbours that this mechanism cannot speak of."""


class ScoresError(CentralError, ValueError):
    """Scores that cannot be selected from exactly."""


class SensitivityError(CentralError, ValueError):
    """A sensitivity that is missing, given twice or impossible."""
