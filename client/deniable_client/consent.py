"""The person's word: unknown until they were asked, then granted or denied."""

from __future__ import annotations

import sqlite3
from enum import StrEnum

from deniable_client import keychain
from deniable_client.errors import ConfigurationError

__all__ = ["Consent", "deny", "grant", "parse_consent"]


class Consent(StrEnum):
    """Only GRANTED records and sends; only DENIED wipes."""

    UNKNOWN = "unknown"
    GRANTED = "granted"
    DENIED = "denied"


def parse_consent(answer: str) -> Consent:
    """The answer a person can give; ConfigurationError for any other."""
    if answer not in (Consent.GRANTED, Consent.DENIED):
        raise ConfigurationError(f'consent must be "granted" or "denied", got {answer!r}')
    return Consent(answer)


def grant(db: sqlite3.Connection) -> None:
    """Allow recording. Names without a key get one; what was spent before a denial stays spent."""
    db.execute("UPDATE installation SET consent = ?", (Consent.GRANTED,))
    keyless = db.execute("SELECT name FROM name WHERE key IS NULL").fetchall()
    for (name,) in keyless:
        db.execute("UPDATE name SET key = ? WHERE name = ?", (keychain.new_key(), name))


def deny(db: sqlite3.Connection) -> None:
    """Wipe queue and keys; the ε spent by name and the epochs answered stay as a tombstone."""
    db.execute("UPDATE installation SET consent = ?", (Consent.DENIED,))
    db.execute("UPDATE name SET key = NULL")
    db.execute(
        "UPDATE outbox SET payload = NULL, report_id = NULL, state = 'wiped', reason = NULL,"
        " attempts = 0, send_at = 0, retry_at = 0, floor = 0"
    )
