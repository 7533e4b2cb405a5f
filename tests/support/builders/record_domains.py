"""Records of given sizes."""

from __future__ import annotations

import string

from deniable_shared.domains import Record

NAMES = string.ascii_letters


def record(*radices: int) -> Record:
    """Attributes a, b, … of so many labels each, at most 52."""
    return Record(tuple((name, labels(radix)) for name, radix in zip(NAMES, radices, strict=False)))


def labels(radix: int) -> tuple[str, ...]:
    return tuple(f"l{place}" for place in range(radix))
