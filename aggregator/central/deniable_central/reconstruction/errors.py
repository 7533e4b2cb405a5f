"""What the attack refuses.

* CentralError (deniable_central.errors)
  x SubsetsError             subsets, secrets or answers of another shape than the attack needs
"""

from __future__ import annotations

from deniable_central.errors import CentralError


class SubsetsError(CentralError, ValueError):
    """Subsets, secrets or answers of another shape than the attack needs."""
