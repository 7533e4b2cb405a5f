"""Compares the database with heads.json, and updates the file from the database.

Before a release the database must not be older than the file: a lost charge would be spent twice.
After the charge and before the draw the file is updated, so that a copy of the database from before
the charge is recognized.

The first check of a process computes the ledger's chain from the beginning. Later checks start at
the last charge in the file.
"""

from __future__ import annotations

import logging
import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from deniable_aggregator.access.tokens import TokenStore
from deniable_aggregator.base.errors import DamagedError
from deniable_aggregator.releases.rollback_guard import heads_file
from deniable_aggregator.releases.rollback_guard.heads import Heads
from deniable_aggregator.store.ledger_rows import ChainHead, extend_head, ledger_head
from deniable_aggregator.store.protocols import Audit, Collections, Ledger
from deniable_gateway.problem import Problem
from deniable_shared.wire.transparency_log import GENESIS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

logger = logging.getLogger(__name__)

BEHIND = (
    "the database does not match heads.json in the data directory: it is missing, empty or an "
    "older copy. Put the right one back and restart the service, or run `deniable ledger "
    "reconcile`, which continues with this one and adds the charges of the releases that it lacks"
)


OWED = (
    "a collection that the database had lost is registered again, but its charges are missing: "
    "run `deniable ledger reconcile` to add them"
)


class HeadStore(Audit, Collections, Ledger, TokenStore, Protocol):
    """The parts of a store whose ends are in the file, and its tokens."""


class RollbackGuard(Protocol):
    """Stores outside the database where ledger, log and sessions end."""

    def advance(self) -> None:
        """Record what is new. Raises Problem("ledger-behind") if the database is older."""
        ...

    def records_of(self, release: str) -> int:
        """The least number of records that the session has. Call it before reading the store."""
        ...

    def advance_session(self, release: str, records: int) -> None:
        """Record that the session has at least `records` records."""
        ...


class _NoGuard:
    def advance(self) -> None:
        """Nothing is recorded."""

    def records_of(self, _release: str) -> int:
        return 0

    def advance_session(self, release: str, records: int) -> None:
        """Nothing is recorded."""


NO_GUARD: RollbackGuard = _NoGuard()
"""The guard of a store without a data directory."""


class FileRollbackGuard:
    """See `RollbackGuard`. Safe for many threads, and for many processes of one data directory."""

    def __init__(self, data: Path, store: HeadStore) -> None:
        self._data = data
        self._store = store
        self._lock = threading.Lock()
        self._verified = False
        self._compared = False
        self._logged = False
        self._behind = False
        self._collection_ids: frozenset[str] = frozenset()
        self._owed: frozenset[str] = frozenset()

    def advance(self) -> None:
        with self._lock, _usable(), heads_file.exclusive(self._data):
            heads = heads_file.read(self._data)
            if heads is None and not self._store.tokens():
                heads = Heads(unknown=True)  # `deniable init` made a token, which is lost
                heads_file.write(self._data, heads)
            self._collection_ids = frozenset() if heads is None else heads.collection_ids
            self._owed = frozenset() if heads is None else frozenset(heads.owed)
            self._behind = heads is not None and not self._continues(heads)
            self._compared = True
            if self._behind:
                self._verified = False
                raise Problem("ledger-behind", BEHIND)
            self._verified = True
            if heads is None:
                newer = initial_heads(self._store)
            else:
                newer = updated_heads(heads, self._store)
            self._collection_ids = newer.collection_ids
            if newer != heads:
                heads_file.write(self._data, newer)
            if owes_charges(newer, self._store):
                raise Problem("ledger-behind", OWED)

    def try_advance(self) -> None:
        """Call `advance`, but log a problem once instead of raising it; see `behind`."""
        try:
            self.advance()
            self._logged = False
        except (Problem, DamagedError) as problem:
            self._compared |= isinstance(problem, DamagedError)  # it is the right one, with damage
            if not self._logged and not self._behind:
                logger.error("%s", problem)  # noqa: TRY400  (the problem says all)
            self._logged = True

    @property
    def behind(self) -> bool:
        """Whether the database was an older one at the last `advance` or `try_advance`."""
        return self._behind

    @property
    def never_compared(self) -> bool:
        """Whether this process could not yet compare the database with the file."""
        return not self._compared

    @property
    def collection_ids(self) -> frozenset[str]:
        """Ids of all collections that were ever registered here, from the file."""
        return self._collection_ids

    @property
    def owed_collections(self) -> frozenset[str]:
        """Ids whose whole budget is charged when they are registered again."""
        return self._owed

    def records_of(self, release: str) -> int:
        heads = heads_file.read(self._data)
        return 0 if heads is None else heads.sessions.get(release, 0)

    def advance_session(self, release: str, records: int) -> None:
        with self._lock, _usable(), heads_file.exclusive(self._data):
            heads = heads_file.read(self._data) or initial_heads(self._store)
            longest = max(records, heads.sessions.get(release, 0))
            heads_file.write(
                self._data, replace(heads, sessions={**heads.sessions, release: longest})
            )

    def _continues(self, heads: Heads) -> bool:
        if not self._verified:
            return not is_behind(heads, self._store)
        return not heads.unknown and _last_charge_matches(heads, self._store)


@contextmanager
def _usable() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        detail = (
            f"{error.filename or 'heads.json'} cannot be read or written: {error.strerror}. It "
            "must belong to the user that runs the service"
        )
        raise Problem("unavailable", detail, retry_after=30) from error


def updated_heads(heads: Heads, store: HeadStore) -> Heads:
    """The heads, updated with everything that the store has added."""
    for row in store.ledger(heads.ledger.size):
        heads = heads.with_charge(row)
    newer = replace(without_deleted_collections(heads, store), log=ChainHead(*store.log_head()))
    ids = newer.collection_ids.union(store.collections())
    newer = replace(newer, collections=tuple(sorted(ids)))
    if audit_log_continues(heads, store):
        newer = replace(newer, audit=ChainHead(*store.audit_head()))
    return newer


def without_deleted_collections(heads: Heads, store: HeadStore) -> Heads:
    """The heads without the collections that were deleted since the file was written.

    Each deletion counts once: a collection that is registered again and then missing is lost.
    """
    deleted = store.deleted_manifests()
    ids = heads.collection_ids.difference(row.collection for row in deleted[heads.deletions :])
    return replace(heads, collections=tuple(sorted(ids)), deletions=len(deleted))


def audit_log_continues(heads: Heads, store: HeadStore) -> bool:
    """Whether the audit log continues from the end in the file."""
    if not heads.audit.size:
        return True
    rows = store.audit(heads.audit.size - 1)[:1]
    return bool(rows) and rows[0].head.hex() == heads.audit.head


def initial_heads(store: HeadStore) -> Heads:
    """The heads of a store that has no file yet."""
    return updated_heads(Heads(sessions=store.session_sizes()), store)


def owes_charges(heads: Heads, store: HeadStore) -> bool:
    """Whether a collection is registered again whose charges the database has lost."""
    return bool(heads.owed) and not store.collections().keys().isdisjoint(heads.owed)


def is_behind(heads: Heads, store: HeadStore) -> bool:
    """Whether the store lacks anything that is in the file; checks from the beginning."""
    rows = store.ledger()[: heads.ledger.size]
    same = len(rows) == heads.ledger.size and ledger_head(rows).hex() == heads.ledger.head
    return heads.unknown or not same or store.log_head_at(heads.log.size) != heads.log.head


def _last_charge_matches(heads: Heads, store: HeadStore) -> bool:
    if store.log_head_at(heads.log.size) != heads.log.head:
        return False
    if not heads.charges:
        return True
    before = heads.charges[-2].head if len(heads.charges) > 1 else GENESIS.hex()
    rows = store.ledger(heads.ledger.size - 1)[:1]
    return bool(rows) and extend_head(bytes.fromhex(before), rows[0]).hex() == heads.ledger.head
