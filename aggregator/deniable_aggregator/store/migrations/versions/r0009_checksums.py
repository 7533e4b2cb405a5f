"""Checksums of counts, of epochs that closed, and of the ledger; computed once of what is there."""

from __future__ import annotations

from deniable_aggregator.store.migrations import checksums, script

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Forward only: an older program never opens a newer database."""
    script.run("0009_checksums")
    checksums.fill()
