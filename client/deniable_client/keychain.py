"""The secrets of one collection on this device, and everything that is drawn from them.

    coins     = SHAKE-256(lp(key) ‖ lp("deniable/1 coins") ‖ lp(1) ‖ lp(identity) ‖ lp(hold)
                          ‖ lp(value))
    renewal   = SHAKE-256(lp(key) ‖ lp("deniable/1 coins") ‖ lp(2) ‖ lp(identity) ‖ lp(epoch)
                          ‖ lp(permanent answer))
    sampling  = SHAKE-256(lp(key) ‖ lp("deniable/1 sampling") ‖ lp(identity) ‖ lp(hold))
    public    = SHAKE-256(lp(key) ‖ lp("deniable/1 public") ‖ lp(identity) ‖ lp(hold))
    report id = SHAKE-256(lp(key) ‖ lp("deniable/1 rid") ‖ lp(collection) ‖ lp(epoch))[:16]
    next key  = HKDF-Expand-SHA-256(key, "next", 32)

No coin that touches an answer is keyed by the time alone: two answers never meet one stream. Only
what is told openly is, and must be: whether this device is asked, and which bits it speaks of. A
stepped key cannot be stepped back.
"""

from __future__ import annotations

import hmac
import os

from deniable_shared.randomness.coins import Coins

__all__ = [
    "KEY_BYTES",
    "advance",
    "coins",
    "fork",
    "new_key",
    "public_coins",
    "renewal_coins",
    "report_id",
    "sampling_coins",
    "step",
]

KEY_BYTES = 32

_NEXT = b"next\x01"  # HKDF-Expand's only block here: info, then the block's number
_COINS = b"deniable/1 coins"
_SAMPLING = b"deniable/1 sampling"
_PUBLIC = b"deniable/1 public"
_REPORT_ID = b"deniable/1 rid"
_FIRST_ROUND = b"\x01"
_SECOND_ROUND = b"\x02"
_ID_BYTES = 16


def new_key() -> bytes:
    """A fresh secret of the operating system."""
    return os.urandom(KEY_BYTES)


def step(key: bytes) -> bytes:
    """The key that overwrites this one once it has been used."""
    return hmac.digest(key, _NEXT, "sha256")


def advance(key: bytes, steps: int) -> bytes:
    """The key so many steps later."""
    for _ in range(steps):
        key = hmac.digest(key, _NEXT, "sha256")
    return key


def fork(key: bytes, collection: str) -> bytes:
    """A key for a collection that shared one with another until version 2 of the state file."""
    return hmac.digest(key, b"collection " + collection.encode() + b"\x01", "sha256")


def coins(key: bytes, *, identity: bytes, hold: int, value: bytes) -> Coins:
    """The coins of one toss: the same device, collection, hold and value toss them again."""
    return Coins.derive(key, _COINS, _FIRST_ROUND, identity, hold.to_bytes(4, "big"), value)


def renewal_coins(key: bytes, *, identity: bytes, epoch: int, permanent: bytes) -> Coins:
    """The coins of the second round in one epoch, for one permanent answer."""
    return Coins.derive(key, _COINS, _SECOND_ROUND, identity, epoch.to_bytes(4, "big"), permanent)


def sampling_coins(key: bytes, *, identity: bytes, hold: int) -> Coins:
    """The coin that decides, without the value, whether this device is asked in a hold."""
    return Coins.derive(key, _SAMPLING, identity, hold.to_bytes(4, "big"))


def public_coins(key: bytes, *, identity: bytes, hold: int) -> Coins:
    """The coins of what an answer tells openly, without the value: which bits it speaks of."""
    return Coins.derive(key, _PUBLIC, identity, hold.to_bytes(4, "big"))


def report_id(key: bytes, *, collection: str, epoch: int) -> bytes:
    """The one id a report of this collection and epoch can have on this device."""
    labels = (_REPORT_ID, collection.encode(), epoch.to_bytes(4, "big"))
    return Coins.derive(key, *labels).bytes(_ID_BYTES)
