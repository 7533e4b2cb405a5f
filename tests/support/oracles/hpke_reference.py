"""HPKE base mode from RFC 9180, without its library.

Suite 1 is sealed with a chosen ephemeral key, suite 2 (X-Wing's KEM) is opened.
"""

from __future__ import annotations

import hmac
from hashlib import sha3_256, shake_256

from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_X25519, _XWING = 0x0020, 0x647A
_KEM = b"KEM" + _X25519.to_bytes(2, "big")
_CIPHERTEXT_BYTES = 1088


def seal_with(
    ephemeral: bytes, plaintext: bytes, *, public_key: bytes, info: bytes, aad: bytes = b""
) -> bytes:
    """enc ‖ ct, the same each time."""
    ours = X25519PrivateKey.from_private_bytes(ephemeral)
    enc = ours.public_key().public_bytes_raw()
    shared = ours.exchange(X25519PublicKey.from_public_bytes(public_key))
    prk = _extract(_KEM, b"", b"eae_prk", shared)
    secret = _expand(_KEM, prk, b"shared_secret", enc + public_key, 32)
    key, nonce = _schedule(_X25519, secret, info)
    return enc + AESGCM(key).encrypt(nonce, plaintext, aad)


def hybrid_public(seed: bytes) -> bytes:
    """The public key of a private one of suite 2."""
    lattice, curve = _hybrid(seed)
    return lattice.public_key().public_bytes_raw() + curve.public_key().public_bytes_raw()


def open_hybrid(seed: bytes, sealed: bytes, *, info: bytes) -> bytes:
    """The plaintext of suite 2: enc = ML-KEM ciphertext ‖ ephemeral X25519 key."""
    lattice, curve = _hybrid(seed)
    ciphertext, ephemeral = sealed[:_CIPHERTEXT_BYTES], sealed[_CIPHERTEXT_BYTES:][:32]
    exchanged = curve.exchange(X25519PublicKey.from_public_bytes(ephemeral))
    ours = curve.public_key().public_bytes_raw()
    parts = (lattice.decapsulate(ciphertext), exchanged, ephemeral, ours, b"\\.//^\\")
    key, nonce = _schedule(_XWING, sha3_256(b"".join(parts)).digest(), info)
    return AESGCM(key).decrypt(nonce, sealed[_CIPHERTEXT_BYTES + 32 :], b"")


def _hybrid(seed: bytes) -> tuple[MLKEM768PrivateKey, X25519PrivateKey]:
    expanded = shake_256(seed).digest(96)
    lattice = MLKEM768PrivateKey.from_seed_bytes(expanded[:64])
    return lattice, X25519PrivateKey.from_private_bytes(expanded[64:])


def _schedule(kem: int, secret: bytes, info: bytes) -> tuple[bytes, bytes]:
    """Key and nonce with HKDF-SHA256 and AES-128-GCM."""
    suite = b"HPKE" + b"".join(part.to_bytes(2, "big") for part in (kem, 0x0001, 0x0001))
    context = b"\0" + _extract(suite, b"", b"psk_id_hash", b"")
    context += _extract(suite, b"", b"info_hash", info)
    prk = _extract(suite, secret, b"secret", b"")
    return _expand(suite, prk, b"key", context, 16), _expand(suite, prk, b"base_nonce", context, 12)


def _extract(suite: bytes, salt: bytes, label: bytes, key: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + key, "sha256")


def _expand(suite: bytes, prk: bytes, label: bytes, info: bytes, length: int) -> bytes:
    message = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(prk, message + b"\x01", "sha256")[:length]  # never more than one block here
