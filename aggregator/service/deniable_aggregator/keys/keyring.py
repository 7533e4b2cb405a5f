"""The keys of a service: they open reports and sign the key list, and are replaced over time.

The files are the keys, the signed lists are their states, and the clock decides the next states.
Nothing else is stored.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from deniable_aggregator.base.errors import KeyFileError
from deniable_aggregator.keys import rotation
from deniable_aggregator.keys.files import read_public, read_seed, read_trust
from deniable_aggregator.keys.lists import KeyLists, Signer
from deniable_aggregator.keys.report_keys import ReportKey, ReportKeys
from deniable_aggregator.keys.rotation import ListedKey
from deniable_gateway.problem import Problem
from deniable_shared.errors import EnvelopeError
from deniable_shared.wire.key_list import PublicKey

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from deniable_aggregator.access.audit import AuditEntry
    from deniable_aggregator.store.protocols import Audit, Collections
    from deniable_shared.manifest.epochs import Clock
    from deniable_shared.wire.envelope import Opener

    class KeyStore(Audit, Collections, Protocol):
        """The store of signed lists and of the audit log."""


STEPS = 3
"""The number of lists in which a key passes through all states."""

logger = logging.getLogger(__name__)


class Keys:
    """The operator's public key, the keys for reports, and the current key list. Thread-safe."""

    def __init__(
        self,
        data: Path,
        *,
        store: KeyStore,
        clock: Clock = time.time,
        shared: bool = False,
        believed: Callable[[], bool] = lambda: True,
    ) -> None:
        """Raises KeyFileError or DataDirectoryError if a file is missing or not what it should be.

        While the clock is not `believed`, it signs no list except the very first.

        `shared`: other processes sign lists of the same keys. Then the file of a listed key may be
        on another machine, so the key keeps its listed state.
        """
        self._shared = shared
        self.trust = read_trust(data)
        self._delegation = data / "keys" / "delegation.json"
        self._clock = clock
        self._changing = threading.Lock()
        self._new: set[bytes] = set()
        self._retired: set[bytes] = set()
        self._destroyed: set[bytes] = set()
        self._files = ReportKeys(data / "keys")
        seed = read_seed(data / "keys" / "online.key")
        signer = Signer(self.trust, seed, read_public(self._delegation))
        self._store = store
        self._lists = KeyLists(signer, store=store, clock=clock, believed=believed)
        self._openers: Mapping[int, Opener] = {}
        self._renew()

    def key_list(self) -> bytes:
        """The current list as a DSSE envelope. Signs nothing: see `renew`."""
        return self._lists.current()

    @property
    def listed_keys(self) -> tuple[ListedKey, ...]:
        """The keys of the current list with their states."""
        return self._lists.listed_keys

    @property
    def listed_until(self) -> int:
        """Unix seconds from which devices refuse the current list."""
        return self._lists.expires

    @property
    def delegated_until(self) -> int:
        """Unix seconds from which the online key may not sign lists."""
        return self._lists.delegated_until

    def opener(self, key_id: int) -> Opener | None:
        """The opener of reports to that key; None if the key is unknown or destroyed."""
        return self._openers.get(key_id)

    def renew(self) -> bool:
        """Reload changed files; sign and log a new key list if one is due.

        Returns whether it signed one: a key became active, the list is old, or the log has grown.
        """
        with self._changing:
            self._files.reread()
            self._lists.delegate(read_public(self._delegation))
            return self._renew()

    def rotate(
        self, suite: int = 1, *, at_once: bool = False, audit: AuditEntry | None
    ) -> ListedKey:
        """Make a pending key of that suite, or return the existing one; `at_once` activates it.

        Problem("conflict") where the online key is not delegated any more, where this machine has
        no such suite, or no id is free.
        """
        with self._changing:
            self._require_signer()
            self._files.reread()
            self._renew()
            pending = rotation.newest(self._lists.listed_keys, suite=suite, state="pending")
            key_id = self._make(suite) if pending is None else pending.key.id
            audit = None if self._renew(audit=audit) else audit
            if at_once and self._renew(at_once=key_id, audit=audit):
                audit = None
            if pending is None and audit is not None:  # another process has listed the key
                self._store.record_act(audit)
            return next(each for each in self._lists.listed_keys if each.key.id == key_id)

    def rotate_overdue(self, seconds: int) -> None:
        """Make a pending successor for every active key older than `seconds`."""
        old = rotation.overdue_suites(self._lists.listed_keys, now=self._clock(), seconds=seconds)
        for suite in old if self._lists.delegated else ():
            self.rotate(suite, audit=None)

    def destroy_expired(self, finished: Callable[[int], bool]) -> None:
        """Destroy expired keys if `finished` is true for the second in which they expired."""
        over = [
            each.key
            for each in self._lists.listed_keys
            if each.key.state == "expired" and finished(each.since)
        ]
        with self._changing:
            for key in over:
                self._files.destroy(key.id)
                self._destroyed.add(key.public_key)
                logger.info("key %d is destroyed", key.id)
            if over:
                self._renew()

    def _renew(self, *, at_once: int | None = None, audit: AuditEntry | None = None) -> bool:
        """Sign lists until every key has the state that it should have."""
        has_signed = False
        for _ in range(STEPS):
            if not self._lists.renew(lambda: self._wanted(at_once), audit=audit):
                break
            has_signed, audit = True, None
        listed = {each.key.id for each in self._lists.listed_keys}
        self._openers = {
            key_id: key.opener for key_id, key in self._files.all.items() if key_id in listed
        }
        return has_signed

    def _wanted(self, at_once: int | None) -> tuple[PublicKey, ...]:
        """The wanted keys. Reads files after the list: a key has a file before it is listed."""
        self._files.reread()
        return rotation.next_states(self._usable_keys(), now=self._clock(), at_once=at_once)

    def _usable_keys(self) -> list[ListedKey]:
        """The listed keys that have a file, and the new keys with a file."""
        now, files = int(self._clock()), self._files.all
        first = not self._lists.listed_keys
        usable = []
        for each in self._lists.listed_keys:
            file = files.get(each.key.id)
            if file is not None and file.public_key != each.key.public_key:
                raise KeyFileError(
                    f"report-{each.key.id}.key differs from the key that is listed under this id: "
                    "give a new key a new id"
                )
            if file is not None:
                usable.append(each)
            elif self._shared:
                usable += self._elsewhere(each)
            elif each.key.state == "active":
                logger.error("report-%d.key is missing: reports for it are lost", each.key.id)
                usable.append(ListedKey(replace(each.key, state="expired"), now))
        listed_ids = {each.key.id for each in self._lists.listed_keys}
        for key in files.values():
            if key.id not in listed_ids and not self._was_destroyed(key):
                state = "active" if first else "pending"
                listed = PublicKey(key.id, key.suite, key.public_key, state)
                usable.append(ListedKey(listed, now))
        return usable

    def _elsewhere(self, listed: ListedKey) -> list[ListedKey]:
        """A key without a file here stays listed, unless this process destroyed it."""
        key = listed.key
        if key.public_key in self._destroyed:
            return []
        if key.state != "expired":
            logger.error("report-%d.key is not here: reports for it cannot be opened", key.id)
        return [listed]

    def _was_destroyed(self, key: ReportKey) -> bool:
        """Whether a destroyed key's file is back, as from a backup: it must not open reports."""
        if key.public_key in self._new | self._retired:
            return key.public_key in self._retired
        if self._lists.listed_before(key.public_key) is None:
            self._new.add(key.public_key)
            return False
        self._retired.add(key.public_key)
        logger.warning("report-%d.key was destroyed before and is not used", key.id)
        return True

    def _make(self, suite: int) -> int:
        used = {each.key.id for each in self._lists.listed_keys} | self._files.all.keys()
        key_id = rotation.next_id(sorted(used))
        if key_id is None:
            raise Problem("conflict", "256 keys are listed: wait until expired ones are destroyed")
        try:
            self._files.make(key_id, suite)
        except EnvelopeError as error:
            raise Problem("conflict", str(error)) from error
        except FileExistsError as error:
            raise Problem("conflict", "another process is making a key: try again") from error
        self._new.add(self._files.all[key_id].public_key)
        return key_id

    def _require_signer(self) -> None:
        if not self._lists.delegated:
            raise Problem(
                "conflict",
                "the operator's delegation of the online key has ended: `deniable keys delegate`",
            )
