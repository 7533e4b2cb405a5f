"""TLS presentation language (RFC 8446 §3): big-endian integers, length-prefixed bytes."""

from __future__ import annotations

from deniable_shared.errors import DecodeError


def opaque(data: bytes, prefix_bytes: int, low: int, high: int) -> bytes:
    """Return `opaque data<low..high>`: a length of `prefix_bytes` bytes, then the bytes."""
    if not low <= len(data) <= high:
        raise DecodeError(f"length must be {low}…{high} bytes, got {len(data)}")
    return len(data).to_bytes(prefix_bytes, "big") + data


def lp(data: bytes) -> bytes:
    """Return a uint16 length, then the bytes (at most 65,535)."""
    return opaque(data, 2, 0, 0xFFFF)


class Reader:
    """Reads a message from its first byte to its last.

    Raises DecodeError if it has another form.
    """

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def done(self) -> bool:
        """Whether every byte was read."""
        return self._at == len(self._data)

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        end = self._at + count
        if end > len(self._data):
            raise DecodeError(
                f"message ends early: {count} bytes wanted at byte {self._at}, "
                f"{len(self._data) - self._at} left"
            )
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def uint(self, n_bytes: int) -> int:
        """Return the next unsigned big-endian integer."""
        return int.from_bytes(self.take(n_bytes), "big")

    def opaque(self, prefix_bytes: int, low: int, high: int) -> bytes:
        """Return the next `opaque data<low..high>`.

        The length is checked before the data is read.
        """
        length = self.uint(prefix_bytes)
        if not low <= length <= high:
            raise DecodeError(
                f"length must be {low}…{high} bytes, got {length} before byte {self._at}"
            )
        return self.take(length)

    def rest(self) -> bytes:
        """Return all remaining bytes."""
        return self.take(len(self._data) - self._at)

    def finish(self) -> None:
        """Raises DecodeError if bytes are left over."""
        if not self.done:
            raise DecodeError(f"{len(self._data) - self._at} bytes left over at byte {self._at}")
