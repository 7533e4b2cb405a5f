"""Collections that lists leave out, and which manifests were deleted."""

from __future__ import annotations

from deniable_aggregator.store.migrations import script

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Forward only: an older program never opens a newer database."""
    script.run("0010_archived")
