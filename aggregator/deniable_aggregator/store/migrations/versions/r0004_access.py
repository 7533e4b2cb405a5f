"""Scopes of tokens, local users, sessions, one-time links, and the audit log."""

from __future__ import annotations

from deniable_aggregator.store.migrations import script

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Forward only: an older program never opens a newer database."""
    script.run("0004_access")
