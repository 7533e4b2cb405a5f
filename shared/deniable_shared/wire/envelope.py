"""Seals a report to the aggregator: HPKE base mode, RFC 9180, with `cryptography`.

    suite 1   X25519                                     HKDF-SHA256, AES-128-GCM
    suite 2   MLKEM768-X25519: both must be broken       HKDF-SHA256, AES-128-GCM

Private keys have 32 bytes in both. That of suite 2 is a seed, which SHAKE-256 expands to the seed
of ML-KEM-768 (64 bytes) and the X25519 key (32). The one-shot API has no associated data. So the
context of a report goes into `info` (`report.seal_info`), which HPKE mixes into the key schedule: a
single different byte gives another key. Sources: RFC 9180; FIPS 203; draft-connolly-cfrg-xwing-kem.
"""

from __future__ import annotations

import os
from functools import lru_cache
from hashlib import shake_256
from typing import TYPE_CHECKING

from deniable_shared.errors import EnvelopeError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.hpke import (
        MLKEM768X25519PrivateKey,
        MLKEM768X25519PublicKey,
        Suite,
    )

KEY_BYTES = {1: 32, 2: 1216}
"""Length of a public key by suite."""

SEALED_BYTES = {1: 48, 2: 1136}
"""Bytes that sealing adds to a plaintext, by suite."""

PRIVATE_BYTES = 32
"""Length of a private key of any suite."""

_MLKEM_PUBLIC_BYTES = 1184
_MLKEM_SEED_BYTES = 64


class Opener:
    """Opens what was sealed to one key. The key is parsed once; threads may share an Opener."""

    __slots__ = ("_failures", "_key", "_suite")

    def __init__(self, private_key: bytes, suite: int = 1) -> None:
        from cryptography.exceptions import InvalidTag

        self._failures = (InvalidTag, ValueError)
        self._suite = _suite(suite)
        self._key = _private(private_key, suite)

    def open(self, sealed: bytes, *, info: bytes) -> bytes:
        """Return the plaintext. Raises EnvelopeError for another key, info or ciphertext."""
        try:
            return self._suite.decrypt(sealed, self._key, info=info)
        except self._failures as error:
            raise EnvelopeError("the report does not open with this key and this header") from error


def suites() -> tuple[int, ...]:
    """Return the suites that the installed `cryptography` supports, the strongest last."""
    return (1, 2) if _has_hybrid() else (1,)


def generate(suite: int = 1) -> tuple[bytes, bytes]:
    """Return a new (private, public) pair as raw bytes."""
    private = os.urandom(PRIVATE_BYTES)
    return private, public_of(private, suite)


def public_of(private: bytes, suite: int = 1) -> bytes:
    """Return the public half of a private key."""
    _suite(suite)
    if suite == 1:
        return _x25519(private).public_key().public_bytes_raw()
    lattice, curve = _halves(private)
    return lattice.public_key().public_bytes_raw() + curve.public_key().public_bytes_raw()


def seal(plaintext: bytes, *, public_key: bytes, info: bytes, suite: int = 1) -> bytes:
    """Return HPKE enc ‖ ct, SEALED_BYTES longer than the plaintext, with new randomness each time.

    Raises EnvelopeError if nothing can be sealed to the key.
    """
    sealer = _suite(suite)
    recipient = _public(public_key, suite)
    try:
        return sealer.encrypt(plaintext, recipient, info=info)
    except ValueError as error:
        raise EnvelopeError(
            "public_key is a point of low order: nothing can be sealed to it"
        ) from error


def _suite(suite: int) -> Suite:
    from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

    if suite not in KEY_BYTES:
        raise EnvelopeError(
            f"suite must be one of {sorted(KEY_BYTES)} in this version, got {suite}"
        )
    if suite == 1:
        return Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
    if not _has_hybrid():
        raise EnvelopeError(
            "suite 2 (MLKEM768-X25519) needs cryptography 48 over a library with ML-KEM, "
            "and the installed one is older: upgrade cryptography, or use suite 1"
        )
    return Suite(KEM.MLKEM768_X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)


def _has_hybrid() -> bool:
    from cryptography.hazmat.primitives import hpke

    if not hasattr(hpke.KEM, "MLKEM768_X25519"):
        return False
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey

    return _works(MLKEM768PrivateKey)


@lru_cache(maxsize=1)
def _works(lattice: type[MLKEM768PrivateKey]) -> bool:
    """Whether the library under `cryptography` supports it, too."""
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        lattice.from_seed_bytes(bytes(_MLKEM_SEED_BYTES))
    except UnsupportedAlgorithm:
        return False
    return True


def _private(raw: bytes, suite: int) -> X25519PrivateKey | MLKEM768X25519PrivateKey:
    if suite == 1:
        return _x25519(raw)
    from cryptography.hazmat.primitives.hpke import MLKEM768X25519PrivateKey

    return MLKEM768X25519PrivateKey(*_halves(raw))


def _halves(seed: bytes) -> tuple[MLKEM768PrivateKey, X25519PrivateKey]:
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey

    _check_length("private_key", seed, PRIVATE_BYTES)
    expanded = shake_256(seed).digest(_MLKEM_SEED_BYTES + PRIVATE_BYTES)
    lattice = MLKEM768PrivateKey.from_seed_bytes(expanded[:_MLKEM_SEED_BYTES])
    return lattice, _x25519(expanded[_MLKEM_SEED_BYTES:])


def _x25519(raw: bytes) -> X25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    _check_length("private_key", raw, PRIVATE_BYTES)
    return X25519PrivateKey.from_private_bytes(raw)


def _public(raw: bytes, suite: int) -> X25519PublicKey | MLKEM768X25519PublicKey:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    _check_length("public_key", raw, KEY_BYTES[suite])
    if suite == 1:
        return X25519PublicKey.from_public_bytes(raw)
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PublicKey
    from cryptography.hazmat.primitives.hpke import MLKEM768X25519PublicKey

    lattice, curve = raw[:_MLKEM_PUBLIC_BYTES], raw[_MLKEM_PUBLIC_BYTES:]
    try:
        return MLKEM768X25519PublicKey(
            MLKEM768PublicKey.from_public_bytes(lattice), X25519PublicKey.from_public_bytes(curve)
        )
    except ValueError as error:
        raise EnvelopeError("public_key is no key of ML-KEM-768 and X25519") from error


def _check_length(what: str, raw: bytes, wanted: int) -> None:
    if len(raw) != wanted:
        raise EnvelopeError(f"{what} must be {wanted} bytes, got {len(raw)}")
