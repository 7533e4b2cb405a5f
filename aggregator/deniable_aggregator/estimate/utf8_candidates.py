"""Spelling: which bytes may follow a prefix in UTF-8, so that a search tries nothing else.

Printable ASCII, and multi-byte characters as the table of well-formed sequences has them (Unicode,
table 3-7). Whether a whole text is printable and composed is looked at when it is one.

Characters come in runs: a letter is followed by a letter, a digit by a digit, one of a script by
one of as many bytes. `log_chances` says so to a search, which orders its candidates by it:

    the next character is of the run with 4/5, each alike, and with 1/5 any character at all
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum, auto
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]


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


class Run(IntEnum):
    """What kind of character a byte begins."""

    NONE = 0
    LOWER = auto()
    UPPER = auto()
    DIGIT = auto()
    MARK = auto()
    TWO_BYTES = auto()
    THREE_BYTES = auto()
    FOUR_BYTES = auto()
    GOES_ON = auto()  # no character: a later byte of one


_STAYS = 0.8
_BEGINNINGS = (*range(0x20, 0x7F), *_AFTER_LEAD)
_LATER_BYTES = 64


def _run(byte: int) -> Run:
    if byte >= 0x80:
        leads = ((0xF0, Run.FOUR_BYTES), (0xE0, Run.THREE_BYTES), (0xC0, Run.TWO_BYTES))
        return next((run for least, run in leads if byte >= least), Run.GOES_ON)
    kinds = ((str.islower, Run.LOWER), (str.isupper, Run.UPPER), (str.isdigit, Run.DIGIT))
    return next((run for is_kind, run in kinds if is_kind(chr(byte))), Run.MARK)


_RUNS = np.array([_run(byte) for byte in range(256)], dtype=np.int64)
_FOLLOWED_BY = {
    Run.NONE: (),
    Run.UPPER: (Run.UPPER, Run.LOWER),
    Run.MARK: (Run.UPPER, Run.LOWER),
}


def _logs(run: Run) -> list[float]:
    """The logarithm of the chance of each byte after a run."""
    likely = {b for b in _BEGINNINGS if _RUNS[b] in _FOLLOWED_BY.get(run, (run,))}
    stays = _STAYS if likely else 0.0
    logs = [-math.log(_LATER_BYTES)] * 256
    for byte in _BEGINNINGS:
        any_at_all = (1 - stays) / len(_BEGINNINGS)
        logs[byte] = math.log(any_at_all + (stays / len(likely) if byte in likely else 0.0))
    return logs


_LOGS = np.array([_logs(run) for run in Run])


def run_of(prefix: Sequence[int]) -> Run:
    """The run that a prefix ends in."""
    started = (Run(_RUNS[byte]) for byte in reversed(prefix) if _RUNS[byte] != Run.GOES_ON)
    return next(started, Run.NONE)


def log_chances(run: Run, tails: Bytes) -> Floats:
    """The logarithms of the chances of tails (N, size), once the run before them is known."""
    runs, total = np.full(len(tails), run, dtype=np.int64), np.zeros(len(tails))
    for column in tails.T:
        total += _LOGS[runs, column]
        began = _RUNS[column]
        runs = np.where(began == Run.GOES_ON, runs, began)
    return total


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
