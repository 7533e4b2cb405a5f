"""The person's decision: unknown until the app asks, then granted or denied."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from deniable_client import keychain
from deniable_client.errors import ConfigurationError

if TYPE_CHECKING:
    import sqlite3

__all__ = ["Consent", "deny", "grant", "parse_consent"]


class Consent(StrEnum):
    """Only GRANTED records and sends. Only DENIED deletes."""

    UNKNOWN = "unknown"
    GRANTED = "granted"
    DENIED = "denied"


def parse_consent(answer: str) -> Consent:
    """Return the decision in `answer`.

    Raises ConfigurationError if it is neither granted nor denied.
    """
    if answer not in (Consent.GRANTED, Consent.DENIED):
        raise ConfigurationError(f'consent must be "granted" or "denied", got {answer!r}')
    return Consent(answer)


def grant(db: sqlite3.Connection) -> None:
    """Allow recording and make keys for collections without one. Spent budget stays spent."""
    db.execute("UPDATE installation SET consent = ?", (Consent.GRANTED,))
    keyless = db.execute("SELECT collection, epoch_at FROM course WHERE key IS NULL").fetchall()
    for row in keyless:
        by_epoch = None if row["epoch_at"] is None else keychain.new_key()
        db.execute(
            "UPDATE course SET key = ?, epoch_key = ? WHERE collection = ?",
            (keychain.new_key(), by_epoch, row["collection"]),
        )


def deny(db: sqlite3.Connection) -> None:
    """Delete queue, keys and permanent answers.

    A tombstone stays: the ε spent by name, the answered epochs and the settled holds.
    """
    db.execute("UPDATE installation SET consent = ?", (Consent.DENIED,))
    db.execute("UPDATE course SET key = NULL, epoch_key = NULL, permanent = NULL, joined = NULL")
    db.execute(
        "UPDATE outbox SET payload = NULL, report_id = NULL, state = 'wiped', reason = NULL,"
        " attempts = 0, send_at = 0, retry_at = 0, floor = 0, request_digest = NULL,"
        " request_bytes = NULL"
    )
