"""Views for dashboards that read the database, and what the housekeeping writes for them."""

from __future__ import annotations

from deniable_aggregator.store.migrations import script

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Forward only: an older program never opens a newer database."""
    script.run("0005_views")
