"""Detects an old copy of the database, by a file with the ends of ledger and log."""

from __future__ import annotations

from deniable_aggregator.releases.rollback_guard.guard import (
    NO_GUARD,
    FileRollbackGuard,
    RollbackGuard,
)

__all__ = ["NO_GUARD", "FileRollbackGuard", "RollbackGuard"]
