"""HPKE base mode of suite 1 with a chosen ephemeral key, from RFC 9180: the tests' oracle."""

from __future__ import annotations

import hmac

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_KEM = b"KEM" + (0x0020).to_bytes(2, "big")
_HPKE = b"HPKE" + b"".join(part.to_bytes(2, "big") for part in (0x0020, 0x0001, 0x0001))


def seal_with(
    ephemeral: bytes, plaintext: bytes, *, public_key: bytes, info: bytes, aad: bytes = b""
) -> bytes:
    """enc ‖ ct, the same each time."""
    ours = X25519PrivateKey.from_private_bytes(ephemeral)
    enc = ours.public_key().public_bytes_raw()
    shared = ours.exchange(X25519PublicKey.from_public_bytes(public_key))
    prk = _extract(_KEM, b"", b"eae_prk", shared)
    secret = _expand(_KEM, prk, b"shared_secret", enc + public_key, 32)
    context = b"\0" + _extract(_HPKE, b"", b"psk_id_hash", b"")
    context += _extract(_HPKE, b"", b"info_hash", info)
    prk = _extract(_HPKE, secret, b"secret", b"")
    key = _expand(_HPKE, prk, b"key", context, 16)
    nonce = _expand(_HPKE, prk, b"base_nonce", context, 12)
    return enc + AESGCM(key).encrypt(nonce, plaintext, aad)


def _extract(suite: bytes, salt: bytes, label: bytes, key: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + key, "sha256")


def _expand(suite: bytes, prk: bytes, label: bytes, info: bytes, length: int) -> bytes:
    message = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(prk, message + b"\x01", "sha256")[:length]  # never more than one block here
