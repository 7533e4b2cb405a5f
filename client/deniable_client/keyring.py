"""The operator's key list: fetched, verified, and held against what was seen before.

Each list says how long the operator's log is and how it ends. A list or a log that got shorter, or
one length with two ends, shows two different logs: this installation stops for good rather than be
told a story of its own.
"""

from __future__ import annotations

import sqlite3

from deniable_client import installation
from deniable_client.address import Address
from deniable_client.errors import LogForkedError, RefusedError
from deniable_client.line import Line
from deniable_client.state import State
from deniable_shared.epochs import Clock
from deniable_shared.errors import DeniableError
from deniable_shared.keylist import KeyList, PublicKey, verify_key_list

__all__ = ["Keyring"]


class Keyring:
    """Gives the key to seal to; a ClientError says why there is none."""

    def __init__(
        self, state: State, *, address: Address, trust: tuple[str, ...], clock: Clock
    ) -> None:
        self._state = state
        self._address = address
        self._trust = trust
        self._clock = clock
        self._list: KeyList | None = None

    def active(self, line: Line) -> PublicKey:
        """The strongest active key; the network is asked only if the list known is over."""
        if self._list is None:
            self._list = self._remembered()
        if self._list is None or self._clock() >= self._list.expires:
            self._list = self._fetched(line)
        return _active(self._list)

    def renew(self, line: Line) -> PublicKey:
        """The same, asking the network in any case."""
        self._list = self._fetched(line)
        return _active(self._list)

    def _remembered(self) -> KeyList | None:
        with self._state.reading() as db:
            envelope = db.execute("SELECT keys_envelope FROM installation").fetchone()[0]
        try:
            return envelope and self._verified(envelope)
        except RefusedError:
            return None

    def _fetched(self, line: Line) -> KeyList:
        envelope = line.get(self._address.keys)
        offered = self._verified(envelope)
        try:
            with self._state.transaction() as db:
                _check_log(db, offered)
                _remember(db, offered, envelope)
        except LogForkedError as error:
            with self._state.transaction() as db:
                installation.declare_fork(db, str(error))
            raise
        return offered

    def _verified(self, envelope: bytes) -> KeyList:
        try:
            return verify_key_list(envelope, trusted=self._trust, now=self._clock())
        except DeniableError as error:
            raise RefusedError(f"the key list is refused: {error}") from error


def _active(key_list: KeyList) -> PublicKey:
    try:
        return key_list.active
    except DeniableError as error:
        raise RefusedError(f"the key list is refused: {error}") from error


def _check_log(db: sqlite3.Connection, offered: KeyList) -> None:
    version, size, head = db.execute(
        "SELECT keys_version, log_size, log_head FROM installation"
    ).fetchone()
    if offered.version < version:
        raise LogForkedError(f"the key list fell from version {version} to {offered.version}")
    if offered.log_size < size:
        raise LogForkedError(f"the log shrank from {size} to {offered.log_size} entries")
    if head is not None and offered.log_size == size and offered.log_head != head:
        raise LogForkedError(f"the log of {size} entries ends in two different ways")


def _remember(db: sqlite3.Connection, offered: KeyList, envelope: bytes) -> None:
    db.execute(
        "UPDATE installation SET keys_version = ?, keys_envelope = ?, log_size = ?, log_head = ?",
        (offered.version, envelope, offered.log_size, offered.log_head),
    )
