"""Copies of a file with a few bits flipped."""

from __future__ import annotations

import random
from collections.abc import Iterator

MOST_BITS = 16


def flipped(content: bytes, count: int, *, first: int = 0) -> Iterator[tuple[int, bytes]]:
    """Seeds from `first` on, each with its own copy of the content: 1 to 16 bits differ."""
    used = [place for place, byte in enumerate(content) if byte]
    for seed in range(first, first + count):
        chance = random.Random(seed)
        copy = bytearray(content)
        for _ in range(chance.choice((1, 1, 2, 4, MOST_BITS))):
            places = used if chance.random() < 0.7 else range(len(content))
            copy[chance.choice(places)] ^= 1 << chance.randrange(8)
        yield seed, bytes(copy)
