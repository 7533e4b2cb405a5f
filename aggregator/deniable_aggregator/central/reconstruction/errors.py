"""What the attack refuses.

* CentralError (deniable_aggregator.central.errors)
  x SubsetsError             subsets, secrets or answers of another shape than the attack needs
"""

from __future__ import annotations

from deniable_aggregator.central.errors import CentralError


class SubsetsError(CentralError, ValueError):
    """Subsets, secrets or answers of another shape than the attack needs."""
