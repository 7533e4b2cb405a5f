"""Epochs whose counts are deleted when their time is over."""

from __future__ import annotations

from deniable_aggregator.store.migrations import script

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Forward only: an older program never opens a newer database."""
    script.run("0003_retention")
