"""The ends of ledger and log, kept in a file beside the database, which may be an older copy."""

from __future__ import annotations

from deniable_aggregator.releases.rollback_guard.guard import (
    NO_GUARD,
    FileRollbackGuard,
    RollbackGuard,
)

__all__ = ["NO_GUARD", "FileRollbackGuard", "RollbackGuard"]
