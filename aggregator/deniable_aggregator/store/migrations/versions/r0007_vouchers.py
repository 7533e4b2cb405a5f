"""Serials of vouchers, each redeemed by one report."""

from __future__ import annotations

from deniable_aggregator.store.migrations import script

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Forward only: an older program never opens a newer database."""
    script.run("0007_vouchers")
