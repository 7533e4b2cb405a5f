"""The one row of an installation: consent, whether the log forked, and who is uploading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_client import opt_outs
from deniable_client.consent import Consent
from deniable_client.outcome import Outcome

if TYPE_CHECKING:
    import sqlite3

    from deniable_client.state import State

__all__ = ["LEASE_SECONDS", "ConsentGate", "declare_fork", "release_lease", "take_lease"]

LEASE_SECONDS = 30.0
"""How long an uploader that fell silent keeps others out; no request takes half as long."""


@dataclass(slots=True)
class ConsentGate:
    """Whether this device may record or send; confirmed inside every transaction."""

    state: State
    consent: Consent = Consent.UNKNOWN
    forked: str | None = None
    vetoed: bool = False
    """A denial that holds in this process even if it could not be written down."""

    def look(self) -> None:
        """Read the state again: other processes change it too."""
        with self.state.reading() as db:
            row = db.execute("SELECT consent, forked FROM installation").fetchone()
        self.consent, self.forked = Consent(row["consent"]), row["forked"]

    def refusal(self) -> Outcome | None:
        """Why nothing is recorded now, or None."""
        if self.vetoed or not (self._granted() or self._granted_by_now()):
            return Outcome.NO_CONSENT
        if opt_outs.denial() is not None:
            return Outcome.DISABLED
        return Outcome.LOG_FORKED if self.forked else None

    def open(self) -> bool:
        """Whether a socket may be opened now."""
        self.look()
        return self.refusal() is None

    def _granted(self) -> bool:
        return self.consent is Consent.GRANTED

    def _granted_by_now(self) -> bool:
        self.look()
        return self._granted()


def declare_fork(db: sqlite3.Connection, reason: str) -> None:
    """Stop this installation for good; the first reason stays."""
    db.execute("UPDATE installation SET forked = ? WHERE forked IS NULL", (reason,))


def take_lease(db: sqlite3.Connection, holder: bytes, now: float) -> bool:
    """Become, or stay, the one uploader of this state file; False while another is."""
    db.execute(
        "UPDATE installation SET lease_holder = ?, lease_until = ?"
        " WHERE lease_holder IS NULL OR lease_holder = ? OR lease_until <= ? OR lease_until > ?",
        # A lease longer than any that is given was written under another clock.
        (holder, now + LEASE_SECONDS, holder, now, now + LEASE_SECONDS),
    )
    return bool(db.execute("SELECT changes()").fetchone()[0])


def release_lease(db: sqlite3.Connection, holder: bytes) -> None:
    """Let the next one upload."""
    db.execute(
        "UPDATE installation SET lease_holder = NULL, lease_until = 0 WHERE lease_holder = ?",
        (holder,),
    )
