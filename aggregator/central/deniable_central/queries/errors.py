"""What this room refuses, beside CentralError's own.

* CentralError (deniable_central.errors)
  x CountsError         counts or queries of a type, shape or size that cannot be answered from
  x EnumerationError    more candidates than can be gone through
  x SessionError        a session that cannot go on: its journal is broken, or was not kept
"""

from __future__ import annotations

from deniable_central.errors import CentralError


class CountsError(CentralError, ValueError):
    """Counts or queries of a type, shape or size that cannot be answered from."""


class EnumerationError(CentralError, ValueError):
    """More candidates than can be gone through."""


class SessionError(CentralError, RuntimeError):
    """A session that cannot go on: its journal is broken, or was not kept."""
