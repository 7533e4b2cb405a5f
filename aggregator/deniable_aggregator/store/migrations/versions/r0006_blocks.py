"""Which blocks of a spool a job has counted."""

from __future__ import annotations

from deniable_aggregator.store.migrations import script

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Forward only: an older program never opens a newer database."""
    script.run("0006_blocks")
