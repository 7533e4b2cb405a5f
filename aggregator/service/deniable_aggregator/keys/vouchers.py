"""The keys that sign vouchers: one for each collection and epoch, all in secret files.

    first key of a collection = HMAC-SHA256(secret, "deniable/1 voucher key" ‖ collection id)
    a key that replaces it    = 32 random bytes, from an epoch on that has no report yet

    vouchers.key                        the secret
    vouchers-<collection>-<epoch>.key   the key that is valid from this epoch on

The operator's backend gets the keys of its own collections, never the secret: see
`deniable keys vouchers show`. The key of an epoch never changes, so that a person cannot get two
vouchers for it. The folder is read each time, so a key of another process is valid here at once.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from hmac import digest
from typing import TYPE_CHECKING

from deniable_aggregator.keys import files as key_files
from deniable_shared.manifest.epochs import EARLY_SECONDS, epoch_at

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME = "vouchers.key"
CLOCKS_APART_SECONDS = 300
"""Seconds that the clocks of machines with one database may differ."""

_LABEL = b"deniable/1 voucher key"
_PREFIX, _SUFFIX = "vouchers-", ".key"


@dataclass(frozen=True, slots=True)
class VoucherPeriod:
    """The epochs of one key: from `first` to before `next`, which is None for the newest key."""

    first: int
    next: int | None


class VoucherKeys:
    """Gives each collection its key of an epoch."""

    def __init__(self, folder: Path, secret: bytes) -> None:
        self._folder = folder
        self._first = lru_cache(maxsize=1024)(
            lambda collection: digest(secret, _LABEL + collection.encode(), sha256)
        )
        self._read = lru_cache(maxsize=1024)(
            lambda path: key_files.read_private(path, kind=key_files.VOUCHERS)
        )

    @classmethod
    def open(cls, folder: Path) -> VoucherKeys:
        """Read the secret in `folder`, or make it if it is missing."""
        path = folder / FILE_NAME
        if not path.exists():
            with suppress(FileExistsError):
                secret = os.urandom(key_files.SECRET_BYTES)
                key_files.write_private(path, secret, kind=key_files.VOUCHERS)
        return cls(folder, key_files.read_private(path, kind=key_files.VOUCHERS))

    def of(self, collection: str, epoch: int) -> bytes:
        """The one key of this epoch. Raises KeyFileError if its file cannot be read."""
        first = self.period(collection, epoch).first
        path = self._path(collection, first)
        return self._read(path) if first else self._first(collection)

    def period(self, collection: str, epoch: int) -> VoucherPeriod:
        """The epochs that share the key of this one."""
        firsts = self._firsts(collection)
        return VoucherPeriod(
            max((first for first in firsts if first <= epoch), default=0),
            min((first for first in firsts if first > epoch), default=None),
        )

    def replace(self, collection: str, first: int) -> int:
        """Make a new key from epoch `first` on, unless one from then or later on exists.

        Returns the first epoch of that key. Two concurrent calls get the same key.
        """
        newest = max(self._firsts(collection), default=0)
        if newest >= first:
            return newest
        with suppress(FileExistsError):
            key = os.urandom(key_files.SECRET_BYTES)
            key_files.write_private(self._path(collection, first), key, kind=key_files.VOUCHERS)
        return first

    def _path(self, collection: str, first: int) -> Path:
        return self._folder / f"{_PREFIX}{collection}-{first}{_SUFFIX}"

    def _firsts(self, collection: str) -> list[int]:
        """The first epochs of the further keys."""
        start = f"{_PREFIX}{collection}-"
        ends = (
            path.name[len(start) : -len(_SUFFIX)]
            for path in self._folder.iterdir()
            if path.name.startswith(start) and path.name.endswith(_SUFFIX)
        )
        return [int(end) for end in ends if end.isdecimal()]


def next_first(now: float, epoch_seconds: int) -> int:
    """The first epoch for which no machine can have accepted a report yet."""
    return epoch_at(now + EARLY_SECONDS + CLOCKS_APART_SECONDS, epoch_seconds) + 1
