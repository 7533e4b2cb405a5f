"""The operator's key list: fetched, verified, held against what was seen before, and remembered."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from deniable_client import installation, logbook
from deniable_client.address import Address
from deniable_client.errors import HaltedError, LogForkedError, RefusedError, TransportError
from deniable_client.line import Line
from deniable_client.logbook import Known
from deniable_client.state import State
from deniable_shared.epochs import Clock
from deniable_shared.errors import DeniableError
from deniable_shared.keylist import KeyList, PublicKey, verify_key_list

__all__ = ["Keyring"]


class Keyring:
    """Gives the key to seal to; a ClientError says why there is none."""

    def __init__(self, state: State, *, trust: tuple[str, ...], clock: Clock) -> None:
        self._state = state
        self._trust = trust
        self._clock = clock
        self._list: KeyList | None = None

    def active(self, line: Line, places: Sequence[Address]) -> PublicKey:
        """The strongest active key; the network is asked only if the list known is over.

        Of `places` the first counts that gives a list which this device can follow.
        """
        if self._list is None:
            self._list = self._remembered()
        if self._list is None or not self._list.usable(self._clock()):
            self._list = self._fetched(line, places)
        return _active(self._list)

    def renew(self, line: Line, places: Sequence[Address]) -> PublicKey:
        """The same, asking the network in any case."""
        self._list = self._fetched(line, places)
        return _active(self._list)

    def _remembered(self) -> KeyList | None:
        with self._state.reading() as db:
            envelope = db.execute("SELECT keys_envelope FROM installation").fetchone()[0]
        try:
            return envelope and self._verified(envelope)
        except RefusedError:
            return None

    def _fetched(self, line: Line, places: Sequence[Address]) -> KeyList:
        for address in places[:-1]:
            try:
                return self._fetched_at(address, line)
            except (TransportError, RefusedError):
                continue
        return self._fetched_at(places[-1], line)

    def _fetched_at(self, address: Address, line: Line) -> KeyList:
        envelope = line.get(address.keys)
        offered = self._verified(envelope)
        with self._state.reading() as db:
            known = logbook.look_up(db, self._trust)
        try:
            logbook.check_list(known, offered)
            logbook.check_log(known, offered, line, address)
        except LogForkedError as error:
            with self._state.transaction() as db:
                installation.declare_fork(db, str(error))
            raise
        with self._state.transaction() as db:
            _remember(db, known, offered, envelope)
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


def _remember(db: sqlite3.Connection, known: Known, offered: KeyList, envelope: bytes) -> None:
    """Go on from this list, unless another process has gone on from the same one meanwhile."""
    db.execute(
        "UPDATE installation SET keys_version = ?, keys_envelope = ?, log_size = ?, log_head = ?"
        " WHERE keys_version = ? AND log_size = ?",
        (
            *(offered.version, envelope, offered.log_size, offered.log_head),
            *(known.version, known.size),
        ),
    )
    if not db.execute("SELECT changes()").fetchone()[0]:
        raise HaltedError("another process learned of a newer key list")
