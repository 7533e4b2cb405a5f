"""Holds the database against the file, and takes the file along with the database.

Before a release the database must be no older than the file: a charge it has forgotten would be
spent twice. Behind the charge, and before the draw, the file is brought up to date: from then on a
copy of the database from before the charge is known for what it is.

The first time a process looks, it computes the ledger's chain from its beginning; later it looks
at the last charge that the file knows, and at what came after.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from deniable_aggregator.access.tokens import TokenStore
from deniable_aggregator.errors import DamagedError
from deniable_aggregator.releases.rollback_guard import heads_file
from deniable_aggregator.releases.rollback_guard.heads import Heads
from deniable_aggregator.store.ledger_chain import ChainHead, extend_head, ledger_head
from deniable_aggregator.store.protocols import Audit, Collections, Ledger
from deniable_gateway.problem import Problem
from deniable_shared.transparency_log import GENESIS

logger = logging.getLogger(__name__)

BEHIND = (
    "the database is not the one that heads.json in the data directory knows: it is missing, "
    "emptied or an older copy. Put the right one back and restart the service, or run `deniable "
    "ledger reconcile`, which goes on with this one and charges what releases have cost since"
)


OWED = (
    "a collection that the database had lost is registered again, and its charges are missing: "
    "`deniable ledger reconcile` charges them"
)


class HeadStore(Audit, Collections, Ledger, TokenStore, Protocol):
    """The parts of a store whose ends the file knows, and whether it has tokens."""


class Witness(Protocol):
    """Knows outside of the database how far ledger, log and sessions have come."""

    def keep(self) -> None:
        """Take up what is new; Problem("ledger-behind") where the database is the older one."""
        ...

    def records_of(self, release: str) -> int:
        """How many records the session is known to have, at least: to be asked before the store."""
        ...

    def keep_session(self, release: str, records: int) -> None:
        """From now on it has at least so many."""
        ...


class _Unwatched:
    def keep(self) -> None:
        """Nothing outside is kept."""

    def records_of(self, _release: str) -> int:
        return 0

    def keep_session(self, release: str, records: int) -> None:
        """Nothing outside is kept."""


UNWATCHED: Witness = _Unwatched()
"""For a store without a data directory."""


class Keeper:
    """See `Witness`. Thread-safe, and safe beside other processes of one data directory."""

    def __init__(self, data: Path, store: HeadStore) -> None:
        self._data = data
        self._store = store
        self._looking = threading.Lock()
        self._whole = False
        self._told = False
        self._behind = False
        self._known: frozenset[str] = frozenset()
        self._owed: frozenset[str] = frozenset()

    def keep(self) -> None:
        with self._looking, _writable(), heads_file.exclusive(self._data):
            heads = heads_file.read(self._data)
            if heads is None and not self._store.tokens():
                heads = Heads(unknown=True)  # preparing a directory makes a token: this lost it
                heads_file.write(self._data, heads)
            self._known = frozenset() if heads is None else heads.known
            self._owed = frozenset() if heads is None else frozenset(heads.owed)
            self._behind = heads is not None and not self._continues(heads)
            if self._behind:
                self._whole = False
                raise Problem("ledger-behind", BEHIND)
            self._whole = True
            newer = begun(self._store) if heads is None else followed(heads, self._store)
            self._known = newer.known
            if newer != heads:
                heads_file.write(self._data, newer)
            if is_owed(newer, self._store):
                raise Problem("ledger-behind", OWED)

    def follow(self) -> None:
        """As `keep`, but what is wrong is in the log, once; `behind` says if it is the database."""
        try:
            self.keep()
            self._told = False
        except (Problem, DamagedError) as problem:
            if not self._told and not self._behind:
                logger.error("%s", problem)
            self._told = True

    @property
    def behind(self) -> bool:
        """Whether the database was an older one when `keep` or `follow` last looked."""
        return self._behind

    @property
    def known(self) -> frozenset[str]:
        """Ids of the collections that were ever registered here, as the file says."""
        return self._known

    @property
    def owed(self) -> frozenset[str]:
        """Those of them that are charged their whole budget once they are registered again."""
        return self._owed

    def records_of(self, release: str) -> int:
        heads = heads_file.read(self._data)
        return 0 if heads is None else heads.sessions.get(release, 0)

    def keep_session(self, release: str, records: int) -> None:
        with self._looking, _writable(), heads_file.exclusive(self._data):
            heads = heads_file.read(self._data) or begun(self._store)
            longest = max(records, heads.sessions.get(release, 0))
            heads_file.write(
                self._data, replace(heads, sessions={**heads.sessions, release: longest})
            )

    def _continues(self, heads: Heads) -> bool:
        if not self._whole:
            return not is_behind(heads, self._store)
        return not heads.unknown and _last_is_there(heads, self._store)


@contextmanager
def _writable() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        detail = f"the data directory cannot keep the head of the ledger: {error.strerror}"
        raise Problem("unavailable", detail, retry_after=30) from error


def followed(heads: Heads, store: HeadStore) -> Heads:
    """With everything that the store has beyond them."""
    for row in store.ledger(heads.ledger.size):
        heads = heads.after(row)
    found = replace(without_deleted(heads, store), log=ChainHead(*store.log_head()))
    known = found.known.union(store.collections())
    found = replace(found, collections=tuple(sorted(known)))
    return (
        replace(found, audit=ChainHead(*store.audit_head())) if has_audit(heads, store) else found
    )


def without_deleted(heads: Heads, store: HeadStore) -> Heads:
    """Without the collections that were deleted since the file was written.

    Each deletion counts once: what is registered again and then lost is lost.
    """
    deleted = store.deleted_manifests()
    known = heads.known.difference(row.collection for row in deleted[heads.deletions :])
    return replace(heads, collections=tuple(sorted(known)), deletions=len(deleted))


def has_audit(heads: Heads, store: HeadStore) -> bool:
    """Whether the audit log goes on from what the file has seen; where not, the file stays."""
    if not heads.audit.size:
        return True
    rows = store.audit(heads.audit.size - 1)[:1]
    return bool(rows) and rows[0].head.hex() == heads.audit.head


def begun(store: HeadStore) -> Heads:
    """Of a store that no file knows yet."""
    return followed(Heads(sessions=store.session_sizes()), store)


def is_owed(heads: Heads, store: HeadStore) -> bool:
    """Whether a collection is there again whose charges the database has lost."""
    return bool(heads.owed) and not store.collections().keys().isdisjoint(heads.owed)


def is_behind(heads: Heads, store: HeadStore) -> bool:
    """Whether the store lacks anything that the file has seen, from the beginning on."""
    rows = store.ledger()[: heads.ledger.size]
    same = len(rows) == heads.ledger.size and ledger_head(rows).hex() == heads.ledger.head
    return heads.unknown or not same or store.log_head_at(heads.log.size) != heads.log.head


def _last_is_there(heads: Heads, store: HeadStore) -> bool:
    if store.log_head_at(heads.log.size) != heads.log.head:
        return False
    if not heads.charges:
        return True
    before = heads.charges[-2].head if len(heads.charges) > 1 else GENESIS.hex()
    rows = store.ledger(heads.ledger.size - 1)[:1]
    return bool(rows) and extend_head(bytes.fromhex(before), rows[0]).hex() == heads.ledger.head
