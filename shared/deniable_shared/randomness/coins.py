"""Coins: one stream of random bytes, read in order. Every random choice reads from it.

`Coins.derive` is a keyed stream: the same key and labels toss the same coins, in every language.

    stream = SHAKE-256(lp(key) ‖ lp(label 1) ‖ lp(label 2) ‖ …)
    lp     = length as uint16, big-endian, then the bytes

The first n bytes do not depend on how many are read. How many a toss reads depends only on the
coins and on public parameters. An instance belongs to one thread and to one answer.

Source: docs/mathematics/thresholds-and-coins.md, The stream of coins.
"""

from __future__ import annotations

import os
from functools import lru_cache
from hashlib import shake_256
from itertools import groupby
from struct import unpack
from typing import TYPE_CHECKING

from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    import builtins
    from collections.abc import Sequence

PLANES = 64
"""Bits of the integer that decides one biased coin."""

_BLOCK = 136  # one squeeze of SHAKE-256: fewer bytes cost the same
_SMEAR_LANES = 256  # beyond, 64 operations on one plane cost less than 26 on all planes
_FIRST_BITS = b"0" * 128 + b"1" * 128  # a byte's most significant bit, as a digit
_MOST_EACH = 1 << 16
_INTEGERS = ("", "B", "H")  # how `struct` calls integers of so many bytes
_SHORT = tuple(length.to_bytes(2, "big") for length in range(256))


class Coins:
    """A stream of coins, made by `derive` or `system`. `seed` is the whole input of SHAKE-256."""

    __slots__ = ("_buffer", "_position", "_stream")

    def __init__(self, seed: builtins.bytes) -> None:
        self._stream = shake_256(seed)
        self._buffer = self._stream.digest(_BLOCK)
        self._position = 0

    @classmethod
    def derive(cls, key: builtins.bytes, *labels: builtins.bytes) -> Coins:
        """The stream of a secret key and labels that separate its uses, each < 2^16 bytes."""
        seed = b""
        for part in (key, *labels):
            seed += (_SHORT[len(part)] if len(part) < 256 else _prefix(part)) + part
        return cls(seed)

    @classmethod
    def system(cls) -> Coins:
        """Return coins of the operating system's generator, for draws that need not be repeated."""
        return _SystemCoins(b"")

    def bytes(self, count: int) -> builtins.bytes:
        """Return the next `count` bytes."""
        start = self._position
        end = start + count
        if not start <= end <= len(self._buffer):
            self._extend(start, end)
        self._position = end
        return self._buffer[start:end]

    def _extend(self, start: int, end: int) -> None:
        if end < start:
            raise ParameterError(f"count must be at least 0, got {end - start}")
        ahead = max(end, 2 * len(self._buffer))  # a squeeze starts over: doubling keeps it linear
        self._buffer = self._stream.digest(ahead)

    def bits(self, count: int) -> int:
        """Return an integer of `count` bits: the highest bits of the next ⌈count/8⌉ bytes."""
        size = (count + 7) >> 3
        return int.from_bytes(self.bytes(size), "big") >> ((size << 3) - count)

    def below(self, bound: int) -> int:
        """Return a uniform integer in 0 … bound − 1, by rejection on ⌈log2 bound⌉ bits.

        A bound of 1 reads nothing. Raises ParameterError if the bound is below 1.
        """
        if bound < 1:
            raise ParameterError(f"bound must be at least 1, got {bound}")
        width = (bound - 1).bit_length()
        drawn = self.bits(width)
        while drawn >= bound:
            drawn = self.bits(width)
        return drawn

    def below_each(self, bounds: Sequence[int]) -> list[int]:
        """Return `below(bound)` for each bound, in order. Raises ParameterError above 65,536.

        It reads the bytes of many draws at once: a third of the time of one call each.
        """
        drawn: list[int] = []
        for width, alike in groupby(bounds, _width):
            drawn += self._below_alike(list(alike), width)
        return drawn

    def _below_alike(self, bounds: Sequence[int], width: int) -> list[int]:
        """Bounds of one width: as many integers are read as draws are missing, never more."""
        if not width:
            return [0] * len(bounds)
        size = (width + 7) >> 3
        spare = (size << 3) - width
        drawn: list[int] = []
        while missing := len(bounds) - len(drawn):
            for word in unpack(f">{missing}{_INTEGERS[size]}", self.bytes(missing * size)):
                if (candidate := word >> spare) < bounds[len(drawn)]:
                    drawn.append(candidate)
        return drawn

    def bernoulli(self, threshold: int) -> bool:
        """Return True with probability threshold/2^64."""
        return self.bits(PLANES) < threshold

    def bernoulli_vector(self, threshold: int, length: int) -> int:
        """Return `length` independent bits as one integer, each 1 with probability threshold/2^64.

        Reads 64 planes of bits(length), the most significant plane first. Lane i of the planes is
        the 64-bit integer that is compared for bit i, counted from the most significant end. All
        lanes are compared at once, and no branch depends on a coin.
        """
        size = (length + 7) >> 3
        width = size << 3
        planes = self.bytes(size * PLANES)
        if length == 1:
            return _single(planes, threshold)
        below = _smear if width <= _SMEAR_LANES else _scan
        return below(planes, threshold, width) >> (width - length)


class _SystemCoins(Coins):
    """Reads the operating system's generator each time, so that no two processes share a coin."""

    __slots__ = ()

    def bytes(self, count: int) -> builtins.bytes:
        return os.urandom(count)


def _width(bound: int) -> int:
    if not 1 <= bound <= _MOST_EACH:
        raise ParameterError(f"bounds must lie in [1, {_MOST_EACH:,}], got {bound}")
    return (bound - 1).bit_length()


def _prefix(part: builtins.bytes) -> builtins.bytes:
    if len(part) >= 1 << 16:
        raise ParameterError(f"key and labels must be shorter than 65,536 bytes, got {len(part)}")
    return len(part).to_bytes(2, "big")


def _single(planes: builtins.bytes, threshold: int) -> int:
    """Return 1 if the first lane is below the threshold, else 0."""
    _check(threshold)
    return int(int(planes.translate(_FIRST_BITS), 2) < threshold)


def _smear(planes: builtins.bytes, threshold: int, width: int) -> int:
    """Return the lanes below the threshold, by 26 operations on all planes at once.

    In each lane, mark the first plane that differs from the threshold and all planes after it. The
    threshold's bit at that first plane says which is smaller. It is the parity of the marked places
    where the threshold changes from one bit to the next.
    """
    bits, changes, lanes = _masks(threshold, width)
    marked = int.from_bytes(planes, "big") ^ bits
    marked |= marked >> width
    marked |= marked >> 2 * width
    marked |= marked >> 4 * width
    marked |= marked >> 8 * width
    marked |= marked >> 16 * width
    marked |= marked >> 32 * width
    parity = marked & changes
    parity ^= parity >> 32 * width
    parity ^= parity >> 16 * width
    parity ^= parity >> 8 * width
    parity ^= parity >> 4 * width
    parity ^= parity >> 2 * width
    return (parity ^ parity >> width) & lanes


@lru_cache(maxsize=256)
def _masks(threshold: int, width: int) -> tuple[int, int, int]:
    """The threshold as planes, the planes that differ from the next, and one plane of ones."""
    _check(threshold)
    lanes = (1 << width) - 1
    bits = 0
    for plane in range(PLANES):
        bits |= (threshold >> plane & 1) * lanes << plane * width
    return bits, (bits ^ bits << width) & ((1 << PLANES * width) - 1), lanes


def _scan(planes: builtins.bytes, threshold: int, width: int) -> int:
    """Return the lanes below the threshold, one operation a plane, least significant plane first.

    Suppose the lower bits of a lane are at least the threshold's. A 1 in the threshold keeps that
    only if the lane has a 1, too. A 0 makes it true if the lane has a 1.
    """
    _check(threshold)
    lanes = (1 << width) - 1
    at_least = lanes
    rows = reversed(unpack(f"{width >> 3}s" * PLANES, planes))
    for plane, bit in zip(map(int.from_bytes, rows), f"{threshold:0{PLANES}b}"[::-1], strict=True):
        at_least = plane & at_least if bit == "1" else plane | at_least
    return at_least ^ lanes


def _check(threshold: int) -> None:
    if not 0 <= threshold < 1 << PLANES:
        raise ParameterError(f"threshold must lie in [0, 2^64 - 1], got {threshold}")
