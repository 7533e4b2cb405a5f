"""Spelling: which bytes may follow a prefix in UTF-8, so that a search tries nothing else.

Printable ASCII, and multi-byte characters as the table of well-formed sequences has them (Unicode,
table 3-7). Whether a whole text is printable and composed is looked at when it is one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["BETWEEN", "Midway", "continuations", "midway"]

Bytes = npt.NDArray[np.uint8]


class Midway(NamedTuple):
    """How many bytes a character still lacks, and the range of the next one."""

    lacking: int
    low: int
    high: int


BETWEEN = Midway(0, 0x20, 0x7E)
"""Between two characters; the range is that of the printable ASCII ones."""

_LEADS = (
    (range(0xC2, 0xE0), Midway(1, 0x80, 0xBF)),
    (range(0xE0, 0xE1), Midway(2, 0xA0, 0xBF)),
    (range(0xE1, 0xED), Midway(2, 0x80, 0xBF)),
    (range(0xED, 0xEE), Midway(2, 0x80, 0x9F)),
    (range(0xEE, 0xF0), Midway(2, 0x80, 0xBF)),
    (range(0xF0, 0xF1), Midway(3, 0x90, 0xBF)),
    (range(0xF1, 0xF4), Midway(3, 0x80, 0xBF)),
    (range(0xF4, 0xF5), Midway(3, 0x80, 0x8F)),
)
_AFTER_LEAD = {lead: state for leads, state in _LEADS for lead in leads}


def midway(prefix: bytes) -> Midway:
    """Where a well-formed prefix stops."""
    state = BETWEEN
    for byte in prefix[-4:]:
        state = _after(state, byte) if byte < 0x80 or byte >= 0xC0 or state.lacking else BETWEEN
    return state


@lru_cache(maxsize=64)
def continuations(state: Midway, size: int, *, whole: bool) -> Bytes:
    """(N, size): every string of `size` bytes that may follow; `whole`: and ends a character."""
    found = [text for text, end in _continued(state, size) if not whole or end.lacking == 0]
    rows = np.frombuffer(b"".join(found), np.uint8).reshape(len(found), size)
    rows.flags.writeable = False
    return rows


def _continued(state: Midway, size: int) -> list[tuple[bytes, Midway]]:
    if size == 0:
        return [(b"", state)]
    return [
        (bytes((byte,)) + rest, end)
        for byte in _next(state)
        for rest, end in _continued(_after(state, byte), size - 1)
    ]


def _next(state: Midway) -> list[int]:
    own = list(range(state.low, state.high + 1))
    return own if state.lacking else [*own, *_AFTER_LEAD]


def _after(state: Midway, byte: int) -> Midway:
    if state.lacking == 0 or byte in _AFTER_LEAD:
        return _AFTER_LEAD.get(byte, BETWEEN)
    return Midway(state.lacking - 1, 0x80, 0xBF) if state.lacking > 1 else BETWEEN
