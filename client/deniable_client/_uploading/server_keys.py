"""The operator's key list: fetched, verified, checked against the last one, and stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_client._state import installation
from deniable_client._uploading import transparency_log
from deniable_client.errors import HaltedError, LogForkedError, RefusedError, TransportError
from deniable_shared.errors import DeniableError
from deniable_shared.wire.key_list import KeyList, PublicKey, verify_key_list

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from deniable_client._state.state import State
    from deniable_client._uploading.timed_transport import TimedTransport
    from deniable_client._uploading.transparency_log import LogSnapshot
    from deniable_client.address import Address
    from deniable_shared.manifest.epochs import Clock


class ServerKeys:
    """Provides the key to seal to. Raises ClientError if there is none."""

    def __init__(self, state: State, *, trust: tuple[str, ...], clock: Clock) -> None:
        self._state = state
        self._trust = trust
        self._clock = clock
        self._list: KeyList | None = None

    def active(self, transport: TimedTransport, addresses: Sequence[Address]) -> PublicKey:
        """Return the strongest active key. Uses the network only if the stored list has expired.

        Takes the first list from `addresses` that this device accepts.
        """
        if self._list is None:
            self._list = self._read_stored()
        if self._list is None or not self._list.usable(self._clock()):
            self._list = self._fetch(transport, addresses)
        return _active_key(self._list)

    def renew(self, transport: TimedTransport, addresses: Sequence[Address]) -> PublicKey:
        """Return the strongest active key of a newly fetched list."""
        self._list = self._fetch(transport, addresses)
        return _active_key(self._list)

    def _read_stored(self) -> KeyList | None:
        with self._state.reading() as db:
            envelope = db.execute("SELECT keys_envelope FROM installation").fetchone()[0]
        try:
            return envelope and self._verify(envelope)
        except RefusedError:
            return None

    def _fetch(self, transport: TimedTransport, addresses: Sequence[Address]) -> KeyList:
        for address in addresses[:-1]:
            try:
                return self._fetch_at(address, transport)
            except (TransportError, RefusedError):
                continue
        return self._fetch_at(addresses[-1], transport)

    def _fetch_at(self, address: Address, transport: TimedTransport) -> KeyList:
        envelope = transport.get(address.keys)
        offered = self._verify(envelope)
        with self._state.reading() as db:
            snapshot = transparency_log.read_snapshot(db, self._trust)
        try:
            transparency_log.check_list(snapshot, offered)
            transparency_log.check_log(snapshot, offered, transport, address)
        except LogForkedError as error:
            with self._state.transaction() as db:
                installation.declare_fork(db, str(error))
            raise
        with self._state.transaction() as db:
            _store(db, snapshot, offered, envelope)
        return offered

    def _verify(self, envelope: bytes) -> KeyList:
        try:
            return verify_key_list(envelope, trusted=self._trust, now=self._clock())
        except DeniableError as error:
            raise RefusedError(f"the key list is refused: {error}") from error


def _active_key(key_list: KeyList) -> PublicKey:
    try:
        return key_list.active
    except DeniableError as error:
        raise RefusedError(f"the key list is refused: {error}") from error


def _store(
    db: sqlite3.Connection, snapshot: LogSnapshot, offered: KeyList, envelope: bytes
) -> None:
    """Store this list, unless another process has stored one meanwhile."""
    db.execute(
        "UPDATE installation SET keys_version = ?, keys_envelope = ?, log_size = ?, log_head = ?"
        " WHERE keys_version = ? AND log_size = ?",
        (
            *(offered.version, envelope, offered.log_size, offered.log_head),
            *(snapshot.version, snapshot.size),
        ),
    )
    if not db.execute("SELECT changes()").fetchone()[0]:
        raise HaltedError("another process has stored a newer key list")
