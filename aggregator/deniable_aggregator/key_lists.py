"""The signed, logged list of the keys that reports are sealed to, and when a new one is due.

A list carries the size and head of the log and is an entry of the log itself. A new one is signed
when half its life is over, when the keys or the delegation have changed, or when the log has grown
by anything but the list and an hour has passed: an idle log gains one entry a week, a busy one at
most 24 lists a day.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from deniable_aggregator.errors import KeyFileError, StoreError
from deniable_aggregator.store.contract import KeyListRow, Store
from deniable_shared import dsse
from deniable_shared.epochs import Clock
from deniable_shared.errors import SignatureError
from deniable_shared.keylist import (
    DELEGATION_TYPE,
    KEYS_TYPE,
    KeyList,
    PublicKey,
    sign_key_list,
    verify_key_list,
)

__all__ = ["LIFE_SECONDS", "LOG_MOVED_SECONDS", "KeyLists", "Signer"]

LIFE_SECONDS = 14 * 86_400
"""How long devices take a list."""

LOG_MOVED_SECONDS = 3_600
"""Least age of a list that is replaced only because the log has grown."""

WARNING_SECONDS = 60 * 86_400
ATTEMPTS = 10

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Signer:
    """Who vouches for the list: the operator's public key, its delegation, the online key."""

    trust: str
    online_seed: bytes
    delegation: bytes

    def __repr__(self) -> str:
        return f"Signer(trust={self.trust!r})"

    @property
    def delegated_until(self) -> int:
        """The second from which devices refuse what the online key signs."""
        payload = dsse.unverified_payload(self.delegation, payload_type=DELEGATION_TYPE)
        body = dsse.strict_json(payload)
        return int(str(body["expires"])) if isinstance(body, dict) else 0

    def signed(self, envelope: bytes) -> bool:
        """Whether an earlier list carries this very delegation."""
        found = dsse.decode(envelope, payload_type=KEYS_TYPE, extra=frozenset({"delegation"}))
        return found.signatures[0].extra["delegation"] == dsse.strict_json(self.delegation)


class KeyLists:
    """Holds the current list and replaces it when `renew` finds one due. Thread-safe."""

    def __init__(
        self, signer: Signer, keys: Mapping[int, bytes], *, store: Store, clock: Clock
    ) -> None:
        """`keys` maps the ids of the HPKE keys that are there to their public halves."""
        self._signer = signer
        self._keys = dict(keys)
        self._store = store
        self._clock = clock
        self._renewing = threading.Lock()
        self._delegated_until = signer.delegated_until
        self._warn()
        self.renew()

    def current(self) -> bytes:
        """The newest list as a DSSE envelope."""
        return self._envelope

    def renew(self) -> bool:
        """Sign and log a new list if one is due; True if it was."""
        with self._renewing:
            for _ in range(ATTEMPTS):
                last = self._last()
                size, head = self._store.log_head()
                if last is not None and not self._due(last, size):
                    return False
                if self._add(last, log_size=size, log_head=head):
                    return True
        raise StoreError(f"the log grew {ATTEMPTS} times while a key list was being signed")

    def _last(self) -> KeyList | None:
        row = self._store.latest_key_list()
        if row is None:
            return None
        self._envelope = row.envelope
        # At its own moment: an expired list still says which version comes next.
        return verify_key_list(row.envelope, trusted=[self._signer.trust], now=row.issued)

    def _due(self, last: KeyList, log_size: int) -> bool:
        now = self._clock()
        if now >= self._delegated_until:
            return False  # devices would refuse the next one too
        if now >= (last.issued + last.expires) / 2 or not self._signer.signed(self._envelope):
            return True
        if {key.id: key.public_key for key in last.keys} != self._keys:
            return True
        others = log_size - (last.log_size + 1)  # its own entry comes right after its head
        return others > 0 and now >= last.issued + LOG_MOVED_SECONDS

    def _add(self, last: KeyList | None, *, log_size: int, log_head: str) -> bool:
        issued = int(self._clock())
        key_list = KeyList(
            version=last.version + 1 if last else 1,
            issued=issued,
            expires=issued + LIFE_SECONDS,
            log_size=log_size,
            log_head=log_head,
            keys=self._listed(last),
        )
        envelope = self._signed(key_list)
        row = KeyListRow(
            version=key_list.version,
            issued=issued,
            expires=key_list.expires,
            digest=hashlib.sha256(key_list.encode()).digest(),
            envelope=envelope,
        )
        if not self._store.add_key_list(row, log_size=log_size):
            return False
        self._envelope = envelope
        logger.info("signed key list %d over %d log entries", key_list.version, log_size)
        return True

    def _listed(self, last: KeyList | None) -> tuple[PublicKey, ...]:
        states = {key.id: key.state for key in last.keys} if last else {}
        return tuple(
            PublicKey(key_id, 1, public, states.get(key_id, "active"))
            for key_id, public in sorted(self._keys.items())
        )

    def _signed(self, key_list: KeyList) -> bytes:
        """Checked as a device does: a list that is refused must not use up a version."""
        signer = self._signer
        envelope = sign_key_list(
            key_list, online_seed=signer.online_seed, delegation=signer.delegation
        )
        try:
            verify_key_list(envelope, trusted=[signer.trust], now=key_list.issued)
        except SignatureError as error:
            raise KeyFileError(
                f"devices would refuse the key list: {error}; "
                "the operator key must delegate the online key anew"
            ) from error
        return envelope

    def _warn(self) -> None:
        left = self._delegated_until - self._clock()
        if left < WARNING_SECONDS:
            logger.warning(
                "the operator's delegation of the online key ends in %d days: renew it",
                left // 86_400,
            )
