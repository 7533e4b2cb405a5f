"""Checks the operator's log: compares a new key list with what this device knows.

Every key list is signed over the log's size and head. A list with a larger log is accepted once
`GET /v1/log` returns entries that lead from the known head to the new one. Two kinds of failure:

* `LogForkedError`, permanently: the log shrank, ends in two ways or does not extend the known one,
  or two lists cannot follow each other. The operator has shown two stories.
* `RefusedError`, until the next attempt: an older list, or pages that are late, cut short or not
  JSON. The cause may be a replica that lags, a cache, or an attacker on the way. None of it is
  signed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_client.errors import LogForkedError, RefusedError
from deniable_shared.errors import DeniableError, ForkError
from deniable_shared.wire.key_list import KeyList, verify_key_list
from deniable_shared.wire.key_succession import check_successor_keys
from deniable_shared.wire.transparency_log import extend, parse_log_page, verify_extension

if TYPE_CHECKING:
    import sqlite3

    from deniable_client._uploading.timed_transport import TimedTransport
    from deniable_client.address import Address

_MOST_PAGES = 1_000
"""Pages of one run: a million entries, far more than any operator writes between two of them."""


@dataclass(frozen=True, slots=True)
class LogSnapshot:
    """What was seen last: the log's size and head and the list that was signed over it, or nothing.

    `key_list` is also None if the app now trusts other keys.
    """

    version: int
    size: int
    head: bytes | None
    key_list: KeyList | None


def read_snapshot(db: sqlite3.Connection, trust: tuple[str, ...]) -> LogSnapshot:
    """Return the snapshot in the state file."""
    row = db.execute(
        "SELECT keys_version, keys_envelope, log_size, log_head FROM installation"
    ).fetchone()
    head = row["log_head"] and bytes.fromhex(row["log_head"])
    key_list = _decode_list(row["keys_envelope"], trust)
    return LogSnapshot(row["keys_version"], row["log_size"], head, key_list)


def check_list(snapshot: LogSnapshot, offered: KeyList) -> None:
    """Check the list alone. The module says which errors it raises."""
    if snapshot.head is None:
        return
    if offered.version < snapshot.version:
        _check_older_list(snapshot, offered)
    if offered.log_size < snapshot.size:
        raise LogForkedError(f"the log shrank from {snapshot.size} to {offered.log_size} entries")
    if offered.log_size == snapshot.size and offered.log_head != snapshot.head.hex():
        raise LogForkedError(f"the log of {snapshot.size} entries ends in two different ways")
    if snapshot.key_list is not None:
        _check_newer_list(snapshot.key_list, offered)


def check_log(
    snapshot: LogSnapshot, offered: KeyList, transport: TimedTransport, address: Address
) -> None:
    """Fetch the new entries, and follow them to the head that the list names."""
    if snapshot.head is None:
        return
    size, head = snapshot.size, snapshot.head
    for _ in range(_MOST_PAGES):
        if size == offered.log_size:
            break
        size, head = _follow_page(size, head, offered, transport.get(address.log(size)))
    else:
        raise RefusedError(f"the log grew by more than {_MOST_PAGES} pages")
    try:
        verify_extension(size, head, (), offered.log_size, bytes.fromhex(offered.log_head))
    except ForkError as error:
        raise LogForkedError(f"known were {snapshot.size} entries: {error}") from error


def _follow_page(size: int, head: bytes, offered: KeyList, data: bytes) -> tuple[int, bytes]:
    try:
        page = parse_log_page(data, first=size)
    except DeniableError as error:
        raise RefusedError(f"the log is refused: {error}") from error
    if page.size < offered.log_size:
        raise RefusedError(
            f"the log is refused: the key list names {offered.log_size} entries, "
            f"the log has {page.size}"
        )
    entries = page.entries[: offered.log_size - size]
    return size + len(entries), extend(head, entries)


def _check_older_list(snapshot: LogSnapshot, offered: KeyList) -> None:
    fell = f"the key list fell from version {snapshot.version} to {offered.version}"
    if snapshot.key_list is not None:
        try:
            check_successor_keys(offered, snapshot.key_list)
        except ForkError as error:
            raise LogForkedError(f"{fell}, and could not have come before: {error}") from error
    raise RefusedError(f"{fell}: a replica lags, or an attacker holds newer lists back")


def _check_newer_list(old: KeyList, offered: KeyList) -> None:
    if offered.version == old.version:
        if offered.encode() != old.encode():
            raise LogForkedError(f"key list {old.version} was signed with two different bodies")
        return
    try:
        check_successor_keys(old, offered)
    except ForkError as error:
        raise LogForkedError(str(error)) from error


def _decode_list(envelope: bytes | None, trust: tuple[str, ...]) -> KeyList | None:
    """Return the stored list, expired or not."""
    if envelope is None:
        return None
    try:
        return verify_key_list(envelope, trusted=trust, now=0.0)
    except DeniableError:
        return None
