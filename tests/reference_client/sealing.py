"""HPKE base mode, suite 1: X25519, HKDF-SHA256, AES-128-GCM (RFC 9180, NIST SP 800-38D)."""

from __future__ import annotations

import hmac

from reference_client.curves import x25519

KEM = b"KEM" + bytes.fromhex("0020")
SUITE = b"HPKE" + bytes.fromhex("002000010001")


def seal(ephemeral: bytes, public_key: bytes, info: bytes, plaintext: bytes) -> bytes:
    """enc ‖ ct; `ephemeral` is 32 random bytes, fresh each time."""
    enc = x25519(ephemeral)
    exchanged = _extract(KEM, b"", b"eae_prk", x25519(ephemeral, public_key))
    shared = _expand(KEM, exchanged, b"shared_secret", enc + public_key, 32)
    context = b"\0" + _extract(SUITE, b"", b"psk_id_hash", b"")
    context += _extract(SUITE, b"", b"info_hash", info)
    secret = _extract(SUITE, shared, b"secret", b"")
    key = _expand(SUITE, secret, b"key", context, 16)
    nonce = _expand(SUITE, secret, b"base_nonce", context, 12)
    return enc + aes_gcm(key, nonce, plaintext)


def hkdf_expand(key: bytes, info: bytes, length: int) -> bytes:
    """The first block of HKDF-Expand-SHA-256: never more is needed here."""
    return hmac.digest(key, info + b"\x01", "sha256")[:length]


def _extract(suite: bytes, salt: bytes, label: bytes, key: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + key, "sha256")


def _expand(suite: bytes, key: bytes, label: bytes, info: bytes, length: int) -> bytes:
    labeled = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hkdf_expand(key, labeled, length)


def aes_gcm(key: bytes, nonce: bytes, plaintext: bytes) -> bytes:
    """Ciphertext and tag, without additional data."""
    keys = _round_keys(key)
    counters = (nonce + number.to_bytes(4, "big") for number in range(2, 2 + len(plaintext)))
    blocks = (plaintext[start : start + 16] for start in range(0, len(plaintext), 16))
    pairs = zip(blocks, counters, strict=False)
    cipher = b"".join(_xor(block, _encrypt(keys, counter)) for block, counter in pairs)
    padded = cipher + bytes(-len(cipher) % 16) + (8 * len(cipher)).to_bytes(16, "big")
    hashed, subkey = 0, int.from_bytes(_encrypt(keys, bytes(16)), "big")
    for start in range(0, len(padded), 16):
        hashed = _carryless(hashed ^ int.from_bytes(padded[start : start + 16], "big"), subkey)
    tag = _xor(hashed.to_bytes(16, "big"), _encrypt(keys, nonce + bytes.fromhex("00000001")))
    return cipher + tag


def _carryless(one: int, other: int) -> int:
    product = 0
    for bit in reversed(range(128)):
        if one >> bit & 1:
            product ^= other
        other = other >> 1 ^ (0xE1 << 120 if other & 1 else 0)
    return product


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=False))


def _doubled(byte: int) -> int:
    return byte << 1 ^ (0x11B if byte & 0x80 else 0)


def _boxes() -> bytes:
    box, power, inverse = bytearray(256), 1, 1
    for _ in range(255):
        power ^= _doubled(power)
        for shift in (1, 2, 4):
            inverse ^= inverse << shift & 0xFF
        inverse ^= 0x09 if inverse & 0x80 else 0
        turned = inverse
        for shift in (1, 2, 3, 4):
            turned ^= (inverse << shift | inverse >> 8 - shift) & 0xFF
        box[power] = turned ^ 0x63
    box[0] = 0x63
    return bytes(box)


BOX = _boxes()


def _round_keys(key: bytes) -> list[bytes]:
    words, constant = [key[start : start + 4] for start in range(0, 16, 4)], 1
    for place in range(4, 44):
        word = words[-1]
        if place % 4 == 0:
            word = _xor((word[1:] + word[:1]).translate(BOX), bytes((constant, 0, 0, 0)))
            constant = _doubled(constant)
        words.append(_xor(words[-4], word))
    return [b"".join(words[start : start + 4]) for start in range(0, 44, 4)]


def _encrypt(keys: list[bytes], block: bytes) -> bytes:
    state = _xor(block, keys[0])
    for key in keys[1:-1]:
        state = _xor(_mixed(_shifted(state.translate(BOX))), key)
    return _xor(_shifted(state.translate(BOX)), keys[-1])


def _shifted(state: bytes) -> bytes:
    return bytes(state[(place + 4 * (place % 4)) % 16] for place in range(16))


def _mixed(state: bytes) -> bytes:
    mixed = bytearray()
    for start in range(0, 16, 4):
        column = state[start : start + 4]
        total = column[0] ^ column[1] ^ column[2] ^ column[3]
        pairs = zip(column, column[1:] + column[:1], strict=True)
        mixed += bytes(byte ^ total ^ _doubled(byte ^ after) for byte, after in pairs)
    return bytes(mixed)
