"""X25519 (RFC 7748) to seal and Ed25519 (RFC 8032) to verify, in the integers Python has.

To be read, not to be embedded: nothing here takes the same time for all secrets.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha512

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)
Point = tuple[int, int]


def x25519(secret: bytes, public: bytes = (9).to_bytes(32, "little")) -> bytes:
    """The shared secret; of the base point the public key."""
    scalar = int.from_bytes(secret, "little") & ~(1 << 255) & ~7 | 1 << 254
    u = int.from_bytes(public, "little") & ~(1 << 255)
    low, high = (1, 0), (u, 1)
    for bit in reversed(range(255)):
        if scalar >> bit & 1:
            low, high = high, low
        low, high = _ladder(low, high, u)
        if scalar >> bit & 1:
            low, high = high, low
    return (low[0] * pow(low[1], -1, P) % P).to_bytes(32, "little")


def _ladder(low: Point, high: Point, u: int) -> tuple[Point, Point]:
    a, b = (low[0] + low[1]) % P, (low[0] - low[1]) % P
    c, d = (high[0] + high[1]) % P, (high[0] - high[1]) % P
    left, right = d * a, c * b
    aa, bb = a * a, b * b
    e = aa - bb
    doubled = (aa * bb % P, e * (aa + 121665 * e) % P)
    return doubled, (pow(left + right, 2, P), u * pow(left - right, 2, P) % P)


@cache
def verifies(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether an Ed25519 signature is right."""
    key, nonce = _decompress(public), _decompress(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if key is None or nonce is None or len(signature) != 64 or s >= ORDER:
        return False
    digest = sha512(signature[:32] + public + message).digest()
    challenge = int.from_bytes(digest, "little") % ORDER
    base = _decompress((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
    assert base is not None
    return _times(s, base) == _plus(nonce, _times(challenge, key))


def _decompress(data: bytes) -> Point | None:
    number = int.from_bytes(data, "little")
    y, odd = number & (1 << 255) - 1, number >> 255
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * ROOT_OF_MINUS_ONE % P
    if len(data) != 32 or y >= P or x * x % P != square or (x == 0 and odd):
        return None
    return (x if x & 1 == odd else P - x), y


def _plus(one: Point, other: Point) -> Point:
    (a, b), (c, d) = one, other
    product = D * a * b * c * d % P
    x = (a * d + b * c) * pow(1 + product, -1, P) % P
    return x, (b * d + a * c) * pow(1 - product, -1, P) % P


def _times(scalar: int, point: Point) -> Point:
    total = (0, 1)
    while scalar:
        if scalar & 1:
            total = _plus(total, point)
        point = _plus(point, point)
        scalar >>= 1
    return total
