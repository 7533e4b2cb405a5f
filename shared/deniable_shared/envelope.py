"""Sealing a report to the aggregator: HPKE base mode, RFC 9180, through `cryptography`.

The one-shot API has no associated data, so what a report is bound to travels in `info`
(`report.seal_info`), which HPKE mixes into the key schedule: one other byte gives another key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_shared.errors import EnvelopeError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.hpke import Suite

__all__ = ["KEY_BYTES", "Opener", "generate", "public_of", "seal"]

KEY_BYTES = {1: 32}
"""Length of a public key by suite. 1 = X25519, HKDF-SHA256, AES-128-GCM."""


class Opener:
    """Opens what was sealed to one key; the key is parsed once. Safe to share between threads."""

    __slots__ = ("_failures", "_key", "_suite")

    def __init__(self, private_key: bytes, suite: int = 1) -> None:
        from cryptography.exceptions import InvalidTag

        self._failures = (InvalidTag, ValueError)
        self._suite = _suite(suite)
        self._key = _private(private_key)

    def open(self, sealed: bytes, *, info: bytes) -> bytes:
        """The plaintext; EnvelopeError for another key, another info or any other byte."""
        try:
            return self._suite.decrypt(sealed, self._key, info=info)
        except self._failures as error:
            raise EnvelopeError("the report does not open with this key and this header") from error


def generate(suite: int = 1) -> tuple[bytes, bytes]:
    """A new (private, public) pair as raw bytes."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    _suite(suite)
    key = X25519PrivateKey.generate()
    return key.private_bytes_raw(), key.public_key().public_bytes_raw()


def public_of(private: bytes, suite: int = 1) -> bytes:
    """The public half of a private key."""
    _suite(suite)
    return _private(private).public_key().public_bytes_raw()


def seal(plaintext: bytes, *, public_key: bytes, info: bytes, suite: int = 1) -> bytes:
    """HPKE enc ‖ ct, 48 bytes longer than the plaintext; fresh randomness each time."""
    sealer = _suite(suite)
    recipient = _public(public_key)
    try:
        return sealer.encrypt(plaintext, recipient, info=info)
    except ValueError as error:
        raise EnvelopeError(
            "public_key is a point of low order: nothing can be sealed to it"
        ) from (error)


def _suite(suite: int) -> Suite:
    from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

    if suite not in KEY_BYTES:
        raise EnvelopeError(
            f"suite must be one of {sorted(KEY_BYTES)} in this version, got {suite}"
        )
    return Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)


def _private(raw: bytes) -> X25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    try:
        return X25519PrivateKey.from_private_bytes(raw)
    except ValueError as error:
        raise EnvelopeError(f"private_key must be 32 bytes, got {len(raw)}") from error


def _public(raw: bytes) -> X25519PublicKey:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    try:
        return X25519PublicKey.from_public_bytes(raw)
    except ValueError as error:
        raise EnvelopeError(f"public_key must be 32 bytes, got {len(raw)}") from error
