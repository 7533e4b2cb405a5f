"""Charges, results and session records of central releases."""

from __future__ import annotations

from deniable_aggregator.store.migrations import script

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Forward only: an older program never opens a newer database."""
    script.run("0002_ledger")
