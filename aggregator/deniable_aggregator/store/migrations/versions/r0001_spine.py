"""Collections, log, cells and their pages, seen ids, closed epochs, rejections, tokens."""

from __future__ import annotations

from deniable_aggregator.store.migrations import script

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Forward only: an older program never opens a newer database."""
    script.run("0001_spine")
