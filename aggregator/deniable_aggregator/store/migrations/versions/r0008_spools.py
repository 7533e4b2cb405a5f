"""How far each spool is counted."""

from __future__ import annotations

from deniable_aggregator.store.migrations import script

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Forward only: an older program never opens a newer database."""
    script.run("0008_spools")
