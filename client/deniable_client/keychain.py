"""The secret of one collection name, and everything that is drawn from it.

    coins     = SHAKE-256(lp(key) ‖ lp("deniable/1 coins") ‖ lp(round) ‖ lp(identity) ‖ lp(hold)
                          ‖ lp(value))
    report id = SHAKE-256(lp(key) ‖ lp("deniable/1 rid") ‖ lp(collection) ‖ lp(epoch))[:16]
    next key  = HKDF-Expand-SHA-256(key, "next", 32)

No coin is keyed by the time alone: two values never meet one stream. A stepped key cannot be
stepped back.
"""

from __future__ import annotations

import hmac
import os

from deniable_shared.coins import Coins

__all__ = ["KEY_BYTES", "coins", "new_key", "report_id", "step"]

KEY_BYTES = 32

_NEXT = b"next\x01"  # HKDF-Expand's only block here: info, then the block's number
_COINS = b"deniable/1 coins"
_REPORT_ID = b"deniable/1 rid"
_FIRST_ROUND = b"\x01"
_ID_BYTES = 16


def new_key() -> bytes:
    """A fresh secret of the operating system."""
    return os.urandom(KEY_BYTES)


def step(key: bytes) -> bytes:
    """The key that overwrites this one once it has been used."""
    return hmac.digest(key, _NEXT, "sha256")


def coins(key: bytes, *, identity: bytes, hold: int, value: bytes) -> Coins:
    """The coins of one answer: the same device, question, hold and value toss them again."""
    return Coins.derive(key, _COINS, _FIRST_ROUND, identity, hold.to_bytes(4, "big"), value)


def report_id(key: bytes, *, collection: str, epoch: int) -> bytes:
    """The one id a report of this collection and epoch can have on this device."""
    labels = (_REPORT_ID, collection.encode(), epoch.to_bytes(4, "big"))
    return Coins.derive(key, *labels).bytes(_ID_BYTES)
