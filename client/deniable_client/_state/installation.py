"""The row of an installation: consent, whether the log forked, and which process uploads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deniable_client._state import keychain
from deniable_client.consent import Consent
from deniable_client.opt_outs import OptOuts
from deniable_client.outcome import Outcome

if TYPE_CHECKING:
    import sqlite3

    from deniable_client._state.state import State
    from deniable_client.errors import ConfigurationError

LEASE_SECONDS = 30.0
"""Seconds for which a silent uploader keeps others out; no request takes half as long."""


@dataclass(slots=True)
class ConsentGate:
    """Decides whether this device may record or send. Every transaction checks it again."""

    state: State
    opt_outs: OptOuts = field(default_factory=OptOuts)
    fault: ConfigurationError | None = None
    """The developer's mistake; nothing is recorded while there is one."""
    consent: Consent = Consent.UNKNOWN
    forked: str | None = None
    vetoed: bool = False
    """A denial that this process obeys even if it could not be stored."""

    def look(self) -> None:
        """Read the state again, as other processes change it too."""
        with self.state.reading() as db:
            row = db.execute("SELECT consent, forked FROM installation").fetchone()
        self.consent, self.forked = Consent(row["consent"]), row["forked"]

    @property
    def word(self) -> Consent:
        """The person's last decision, even if it could not be stored."""
        return Consent.DENIED if self.vetoed else self.consent

    def refusal(self) -> Outcome | None:
        """Why nothing is recorded now, or None."""
        if self.fault is not None:
            return Outcome.DISABLED
        if self.vetoed or not (self._granted() or self._granted_by_now()):
            return Outcome.NO_CONSENT
        if self.opt_outs.denial() is not None:
            return Outcome.DISABLED
        return Outcome.LOG_FORKED if self.forked else None

    def open(self) -> bool:
        """Whether a socket may be opened now."""
        self.look()
        return self.refusal() is None

    def pause(self) -> str | None:
        """Why nothing is sent, in words, or None. Uses the state that was read last."""
        if self.fault is not None:
            return "the app is configured wrongly"
        if self.forked is not None:
            return "the operator contradicted itself"
        if self.word is not Consent.GRANTED:
            return "there is no consent"
        return self.opt_outs.denial()

    def _granted(self) -> bool:
        return self.consent is Consent.GRANTED

    def _granted_by_now(self) -> bool:
        self.look()
        return self._granted()


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


def declare_fork(db: sqlite3.Connection, reason: str) -> None:
    """Stop this installation permanently. The first reason is kept."""
    db.execute("UPDATE installation SET forked = ? WHERE forked IS NULL", (reason,))


def take_lease(db: sqlite3.Connection, holder: bytes, now: float) -> bool:
    """Become or stay the one uploader of this state file. Returns False while another is."""
    db.execute(
        "UPDATE installation SET lease_holder = ?, lease_until = ?"
        " WHERE lease_holder IS NULL OR lease_holder = ? OR lease_until <= ? OR lease_until > ?",
        # An end too far in the future was written before the clock was set back.
        (holder, now + LEASE_SECONDS, holder, now, now + LEASE_SECONDS),
    )
    return bool(db.execute("SELECT changes()").fetchone()[0])


def release_lease(db: sqlite3.Connection, holder: bytes) -> None:
    """Let another process upload."""
    db.execute(
        "UPDATE installation SET lease_holder = NULL, lease_until = 0 WHERE lease_holder = ?",
        (holder,),
    )
