"""The secrets of one collection on this device, and the coins and ids derived from them.

    coins     = SHAKE-256(lp(key) ‖ lp("deniable/1 coins") ‖ lp(1) ‖ lp(identity) ‖ lp(hold)
                          ‖ lp(value))
    renewal   = SHAKE-256(lp(key) ‖ lp("deniable/1 coins") ‖ lp(2) ‖ lp(identity) ‖ lp(epoch)
                          ‖ lp(permanent answer))
    sampling  = SHAKE-256(lp(key) ‖ lp("deniable/1 sampling") ‖ lp(identity) ‖ lp(hold))
    public    = SHAKE-256(lp(key) ‖ lp("deniable/1 public") ‖ lp(identity) ‖ lp(hold))
    report id = SHAKE-256(lp(key) ‖ lp("deniable/1 rid") ‖ lp(collection) ‖ lp(epoch))[:16]
    next key  = HKDF-Expand-SHA-256(key, "next", 32)

The coins of an answer also depend on the answer, so two answers never use one stream. Public
choices must not depend on it: whether sampling chooses this device, and which bits it reports. A
key that was stepped forward cannot be stepped back.
"""

from __future__ import annotations

import hmac
import os

from deniable_shared.randomness.coins import Coins

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
    """Return 32 random bytes of the operating system."""
    return os.urandom(KEY_BYTES)


def step(key: bytes) -> bytes:
    """Return the key that overwrites `key` once it has been used."""
    return hmac.digest(key, _NEXT, "sha256")


def advance(key: bytes, steps: int) -> bytes:
    """Return the key `steps` steps later."""
    for _ in range(steps):
        key = hmac.digest(key, _NEXT, "sha256")
    return key


def fork(key: bytes, collection: str) -> bytes:
    """Return a key for a collection that shared one with another in version 1 of the state file."""
    return hmac.digest(key, b"collection " + collection.encode() + b"\x01", "sha256")


def coins(key: bytes, *, identity: bytes, hold: int, value: bytes) -> Coins:
    """Return the coins of one toss.

    The same device, collection, hold and value get the same coins.
    """
    return Coins.derive(key, _COINS, _FIRST_ROUND, identity, hold.to_bytes(4, "big"), value)


def renewal_coins(key: bytes, *, identity: bytes, epoch: int, permanent: bytes) -> Coins:
    """Return the coins of the second round in one epoch, for one permanent answer."""
    return Coins.derive(key, _COINS, _SECOND_ROUND, identity, epoch.to_bytes(4, "big"), permanent)


def sampling_coins(key: bytes, *, identity: bytes, hold: int) -> Coins:
    """Return the coins that decide whether this device answers in a hold.

    The value plays no part.
    """
    return Coins.derive(key, _SAMPLING, identity, hold.to_bytes(4, "big"))


def public_coins(key: bytes, *, identity: bytes, hold: int) -> Coins:
    """Return the coins of the public part of an answer: which bits it reports.

    The value plays no part.
    """
    return Coins.derive(key, _PUBLIC, identity, hold.to_bytes(4, "big"))


def report_id(key: bytes, *, collection: str, epoch: int) -> bytes:
    """Return the only id that a report of this collection and epoch can have on this device."""
    labels = (_REPORT_ID, collection.encode(), epoch.to_bytes(4, "big"))
    return Coins.derive(key, *labels).bytes(_ID_BYTES)
