"""Messages as hex, one field a line."""

from __future__ import annotations


def from_fields(*fields: str) -> bytes:
    """The bytes of lines like "0000505c  epoch"; what follows two spaces is for the reader."""
    return b"".join(bytes.fromhex(field.split("  ")[0]) for field in fields)


def single_bit_flips(data: bytes) -> list[bytes]:
    """Every message that differs in one bit."""
    number = int.from_bytes(data, "big")
    return [(number ^ 1 << bit).to_bytes(len(data), "big") for bit in range(8 * len(data))]
