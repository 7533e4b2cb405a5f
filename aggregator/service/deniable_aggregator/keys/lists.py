"""Signs and logs the list of keys that devices encrypt to, and decides when a new one is due.

A list has the size and head of the log, and is an entry of the log itself. A new one is signed
after half its life, when the keys or the delegation change, or when the log has other new entries
and an hour has passed. So an idle log gains one entry a week, a busy one at most 24 lists a day.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.base.errors import KeyFileError, StoreError
from deniable_aggregator.keys.rotation import ListedKey
from deniable_aggregator.keys.vouchers import CLOCKS_APART_SECONDS
from deniable_aggregator.store.rows import KeyListRow
from deniable_shared.errors import DeniableError, ForkError, SignatureError
from deniable_shared.wire import dsse
from deniable_shared.wire.canonical import strict_json
from deniable_shared.wire.key_list import (
    DELEGATION_TYPE,
    KEYS_TYPE,
    KeyList,
    PublicKey,
    sign_key_list,
    verify_key_list,
)
from deniable_shared.wire.key_succession import check_successor_keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.store.protocols import Collections
    from deniable_shared.manifest.epochs import Clock

LIFE_SECONDS = 14 * 86_400
"""Seconds that devices accept a list."""

LOG_MOVED_SECONDS = 3_600
"""Least age in seconds of a list that is replaced only because the log has grown."""

WARNING_SECONDS = 60 * 86_400
ATTEMPTS = 10
DELEGATOR = "deniable keys delegate"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Signer:
    """The signer of lists: the operator's public key, its delegation, the online key."""

    trust: str
    online_seed: bytes
    delegation: bytes

    def __repr__(self) -> str:
        return f"Signer(trust={self.trust!r})"

    @property
    def delegated_until(self) -> int:
        """Unix seconds from which devices refuse signatures of the online key."""
        payload = dsse.unverified_payload(self.delegation, payload_type=DELEGATION_TYPE)
        body = strict_json(payload)
        return int(str(body["expires"])) if isinstance(body, dict) else 0

    def signed(self, envelope: bytes) -> bool:
        """Whether an earlier list has this delegation."""
        decoded = dsse.decode(envelope, payload_type=KEYS_TYPE, extra=frozenset({"delegation"}))
        return decoded.signatures[0].extra["delegation"] == strict_json(self.delegation)


class KeyLists:
    """Holds the current list; `renew` replaces it when a new one is due.

    Any thread may call `current`; the caller must order other calls.
    """

    def __init__(
        self, signer: Signer, *, store: Collections, clock: Clock, believed: Callable[[], bool]
    ) -> None:
        self._store = store
        self._clock = clock
        self._believed = believed
        self._delegate(signer)
        self._last: KeyList | None = None
        self._envelope = b""
        self._since: dict[int, int] = {}
        self._read_last()

    def current(self) -> bytes:
        """The newest list as a DSSE envelope."""
        return self._envelope

    @property
    def listed_keys(self) -> tuple[ListedKey, ...]:
        """The keys of the newest list; none before the first."""
        if self._last is None:
            return ()
        return tuple(ListedKey(key, self._since[key.id]) for key in self._last.keys)

    @property
    def issued(self) -> int:
        """Unix seconds when the newest list was signed; 0 before the first."""
        return self._last.issued if self._last else 0

    @property
    def expires(self) -> int:
        """Unix seconds from which devices refuse the newest list; 0 before the first."""
        return self._last.expires if self._last else 0

    @property
    def delegated_until(self) -> int:
        """Unix seconds from which devices refuse lists under this delegation."""
        return self._delegated_until

    @property
    def delegated(self) -> bool:
        """Whether devices would accept a list that is signed now."""
        return self._clock() < self._delegated_until

    def delegate(self, delegation: bytes) -> None:
        """Use this delegation from now on, if it is a new one."""
        if delegation != self._signer.delegation:
            self._delegate(replace(self._signer, delegation=delegation))

    def listed_before(self, public_key: bytes) -> PublicKey | None:
        """The last listed form of a key that the newest list lacks; None for a new key."""
        version = self._last.version if self._last else 0
        for earlier in range(version - 1, 0, -1):
            for key in self._of_version(earlier).keys:
                if key.public_key == public_key:
                    return key
        return None

    def renew(
        self, wanted: Callable[[], tuple[PublicKey, ...]], *, audit: AuditEntry | None
    ) -> bool:
        """Sign and log a list of the wanted keys if one is due; returns whether it was.

        The audit entry is written with the list; the first list under a new delegation also gets an
        entry of its own.

        `wanted` is called after reading the newest list, also of other processes. The new list is
        signed only if the log has not grown since, so that it follows the list it was made from.
        """
        for _ in range(ATTEMPTS):
            size, head = self._store.log_head()
            last = self._read_last()
            keys = wanted()
            if last is not None and not self._due(last, keys, size):
                return False
            if self._add(keys, log_size=size, log_head=head, audit=audit):
                return True
        raise StoreError(f"the log grew {ATTEMPTS} times while a key list was signed: try again")

    def _delegate(self, signer: Signer) -> None:
        self._signer = signer
        self._delegated_until = signer.delegated_until
        self._warn()

    def _read_last(self) -> KeyList | None:
        row = self._store.latest_key_list()
        if row is not None and row.envelope != self._envelope:
            self._take(self._verified(row), row.envelope)
        return self._last

    def _take(self, key_list: KeyList, envelope: bytes) -> None:
        """Use a list that another process or an earlier run has signed."""
        before = set(self._last.keys) if self._last else set()
        self._since = {
            key.id: self._since[key.id] if key in before else self._entered(key, key_list.version)
            for key in key_list.keys
        }
        self._last, self._envelope = key_list, envelope

    def _of_version(self, version: int) -> KeyList:
        row = self._store.key_list(version)
        if row is None:
            raise StoreError(f"key list {version} is missing in the database: restore a backup")
        return self._verified(row)

    def _verified(self, row: KeyListRow) -> KeyList:
        # Verified at its own time: an expired list still defines the next version.
        try:
            return verify_key_list(row.envelope, trusted=[self._signer.trust], now=row.issued)
        except DeniableError as error:
            raise StoreError(
                f"key list {row.version} in the database is refused: {error}. "
                "Restore a backup with `deniable store restore`"
            ) from error

    def _entered(self, key: PublicKey, last: int) -> int:
        """Unix seconds since when a key has had its state."""
        first = 1
        while first < last:
            middle = (first + last) // 2
            there = key in self._of_version(middle).keys
            first, last = (first, middle) if there else (middle + 1, last)
        return self._of_version(last).issued

    def _due(self, last: KeyList, keys: tuple[PublicKey, ...], log_size: int) -> bool:
        if not self._believed() or not self.delegated:
            return False  # without a delegation devices would refuse the next list, too
        now = self._clock()
        if now >= (last.issued + last.expires) / 2 or not self._signer.signed(self._envelope):
            return True
        if last.keys != keys:
            return True
        others = log_size - (last.log_size + 1)  # its own entry follows its head
        ahead = now < last.issued - CLOCKS_APART_SECONDS  # such a list would stay for too long
        return others > 0 and (ahead or now >= last.issued + LOG_MOVED_SECONDS)

    def _add(
        self, keys: tuple[PublicKey, ...], *, log_size: int, log_head: str, audit: AuditEntry | None
    ) -> bool:
        issued = max(int(self._clock()), self._last.issued if self._last else 0)
        key_list = KeyList(
            version=self._last.version + 1 if self._last else 1,
            issued=issued,
            expires=issued + LIFE_SECONDS,
            log_size=log_size,
            log_head=log_head,
            keys=keys,
        )
        envelope = self._signed(key_list)
        row = KeyListRow(
            version=key_list.version,
            issued=issued,
            expires=key_list.expires,
            digest=hashlib.sha256(key_list.encode()).digest(),
            envelope=envelope,
        )
        audit = self._delegated(issued) or audit
        if not self._store.add_key_list(row, log_size=log_size, audit=audit):
            return False
        before = set(self._last.keys) if self._last else set()
        self._since = {key.id: self._since[key.id] if key in before else issued for key in keys}
        self._last, self._envelope = key_list, envelope
        logger.info("signed key list %d over %d log entries", key_list.version, log_size)
        return True

    def _delegated(self, now: int) -> AuditEntry | None:
        """The audit entry of a new delegation, for the first list under it; else None."""
        if self._last is None or self._signer.signed(self._envelope):
            return None
        until = self._delegated_until
        return AuditEntry.of("keys-delegated", actor=DELEGATOR, at=now, until=until)

    def _signed(self, key_list: KeyList) -> bytes:
        """Sign a list and verify it as a device does: a refused list must not use up a version."""
        signer = self._signer
        envelope = sign_key_list(
            key_list, online_seed=signer.online_seed, delegation=signer.delegation
        )
        try:
            verify_key_list(envelope, trusted=[signer.trust], now=key_list.issued)
            if self._last is not None:
                check_successor_keys(self._last, key_list)
        except (SignatureError, ForkError) as error:
            raise KeyFileError(
                f"devices would refuse the key list: {error}; "
                "run `deniable keys delegate` with the operator's key"
            ) from error
        return envelope

    def _warn(self) -> None:
        left = self._delegated_until - self._clock()
        if left < WARNING_SECONDS:
            logger.warning(
                "the operator's delegation of the online key ends in %d days: renew it",
                left // 86_400,
            )
