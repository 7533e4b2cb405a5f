"""What this room refuses, beside CentralError's own.

* CentralError (deniable_central.errors)
  x DeltaError     a δ that is no δ, or that no parameters of this mechanism reach
  x RowsError      rows, blocks or answers of a type or size that cannot be released from
"""

from __future__ import annotations

from deniable_central.errors import CentralError


class DeltaError(CentralError, ValueError):
    """A δ that is no δ, or that no parameters of this mechanism reach."""


class RowsError(CentralError, ValueError):
    """Rows, blocks or answers of a type or size that cannot be released from."""
