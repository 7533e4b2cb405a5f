"""The stored state of one collection on this device: its keys, its hold, its permanent answer.

There are two chains of keys. A key is stepped forward and overwritten, never back:

* by hold: coins of tosses, sampling coins, public coins; for `once` and `fresh` also the report
  ids. The key stays that of the hold's start until the hold is settled. So a restored backup or a
  clone tosses the same coins, even if it first answers on another day of the hold.
* by epoch, only for `memoized`: report ids and coins of the second round.

Once an epoch's report is made or a hold is decided, the file holds only the next key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deniable_client._state import keychain
from deniable_client.consent import Consent
from deniable_shared.manifest.epochs import epoch_at

if TYPE_CHECKING:
    import sqlite3

    from deniable_shared.manifest.model import Manifest

_SLACK = 10_000
"""Steps that a new chain begins in the past: by so many epochs a clock may have been ahead. No
chain of a year of hours needs more; it bounds the work for the very short epochs of loopback."""


class CollectionState(NamedTuple):
    """One collection's row, and the highest epoch that it was ever answered in.

    `key` belongs to hold `at`, `epoch_key` to epoch `epoch_at`. `first` is the first epoch that was
    settled, `joined` the first one for which the default is sent. `hold` is the last hold settled;
    `asked` says whether sampling chose this device in it. `permanent` is the answer tossed in hold
    `tossed`.
    """

    key: bytes | None
    at: int
    epoch_key: bytes | None
    epoch_at: int | None
    first: int | None
    joined: int | None
    hold: int | None
    asked: int | None
    tossed: int | None
    permanent: bytes | None
    highest: int | None = None


_SAVED = CollectionState._fields[:-1]
_SAVE = f"UPDATE course SET {', '.join(f'{name} = ?' for name in _SAVED)} WHERE collection = ?"  # noqa: S608  (the names in it are fixed)


def join(db: sqlite3.Connection, manifest: Manifest, now: float) -> None:
    """Start a collection's chains, with keys if there is consent. Chains that exist stay."""
    at, by_epoch = _first_hold_and_epoch(manifest, now)
    db.execute(
        "INSERT OR IGNORE INTO course (collection, at, epoch_at) VALUES (?, ?, ?)",
        (manifest.collection, at, by_epoch),
    )
    db.execute(
        "UPDATE course SET key = ?, epoch_key = iif(epoch_at IS NULL, NULL, ?)"
        " WHERE collection = ? AND key IS NULL AND (SELECT consent FROM installation) = ?",
        (keychain.new_key(), keychain.new_key(), manifest.collection, Consent.GRANTED),
    )


def save(db: sqlite3.Connection, collection: str, state: CollectionState) -> None:
    """Overwrite the row."""
    db.execute(_SAVE, (*state[: len(_SAVED)], collection))


def _first_hold_and_epoch(manifest: Manifest, now: float) -> tuple[int, int | None]:
    """Return the hold and the epoch that new keys belong to."""
    first = manifest.first_epoch
    epoch = min(max(epoch_at(now, manifest.epoch_seconds), first), manifest.last_epoch)
    if manifest.repeat == "once":
        return 0, None
    if manifest.repeat == "fresh":
        return max(first, epoch - _SLACK), None
    return max(0, manifest.hold_at(epoch) - _SLACK), max(first, epoch - _SLACK)
