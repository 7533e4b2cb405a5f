"""Coins for central draws: chosen first words, or counted."""

from __future__ import annotations

import builtins
import os

from deniable_shared.randomness.coins import Coins


class Fixed(Coins):
    """Reads the given bytes first, then one byte forever; counts what was read."""

    def __init__(self, first: builtins.bytes = b"", *, rest: int = 0) -> None:
        super().__init__(b"")
        self.first, self.rest, self.read = first, rest, 0

    def bytes(self, count: int) -> builtins.bytes:
        self.read += count
        given, self.first = self.first[:count], self.first[count:]
        return given + builtins.bytes([self.rest]) * (count - len(given))


class Counted(Coins):
    """The operating system's coins; counts calls and bytes."""

    def __init__(self) -> None:
        super().__init__(b"")
        self.calls = self.read = 0

    def bytes(self, count: int) -> builtins.bytes:
        self.calls += 1
        self.read += count
        return os.urandom(count)


def word(value: int) -> builtins.bytes:
    """64 bits as exact draws read them."""
    return value.to_bytes(8, "big")
