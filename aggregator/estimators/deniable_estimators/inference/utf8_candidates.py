"""Spelling: which bytes may follow a prefix in UTF-8, so that a search tries nothing else.

They are printable ASCII, and multi-byte characters by the table of well-formed sequences (Unicode,
table 3-7). Only a complete text is checked for being printable and composed.

Characters come in runs: a letter often follows a letter, a digit a digit, and a character of a
script one with equally many bytes. `log_probabilities` gives a search the order of its candidates:

    with 4/5 the next character is of the same run, uniformly; with 1/5 it is any character
"""

from __future__ import annotations

import math
from enum import IntEnum, auto
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]


class PartialCharacter(NamedTuple):
    """How many bytes a character still needs, and the range of the next one."""

    lacking: int
    low: int
    high: int


CHARACTER_START = PartialCharacter(0, 0x20, 0x7E)
"""Between two characters; the range is that of the printable ASCII ones."""

_LEADS = (
    (range(0xC2, 0xE0), PartialCharacter(1, 0x80, 0xBF)),
    (range(0xE0, 0xE1), PartialCharacter(2, 0xA0, 0xBF)),
    (range(0xE1, 0xED), PartialCharacter(2, 0x80, 0xBF)),
    (range(0xED, 0xEE), PartialCharacter(2, 0x80, 0x9F)),
    (range(0xEE, 0xF0), PartialCharacter(2, 0x80, 0xBF)),
    (range(0xF0, 0xF1), PartialCharacter(3, 0x90, 0xBF)),
    (range(0xF1, 0xF4), PartialCharacter(3, 0x80, 0xBF)),
    (range(0xF4, 0xF5), PartialCharacter(3, 0x80, 0x8F)),
)
_AFTER_LEAD = {lead: state for leads, state in _LEADS for lead in leads}


class CharacterClass(IntEnum):
    """The kind of character that a byte begins."""

    NONE = 0
    LOWER = auto()
    UPPER = auto()
    DIGIT = auto()
    MARK = auto()
    TWO_BYTES = auto()
    THREE_BYTES = auto()
    FOUR_BYTES = auto()
    CONTINUATION = auto()  # no start of a character


_STAYS = 0.8
_BEGINNINGS = (*range(0x20, 0x7F), *_AFTER_LEAD)
_LATER_BYTES = 64


def _class(byte: int) -> CharacterClass:
    if byte >= 0x80:
        leads = (
            (0xF0, CharacterClass.FOUR_BYTES),
            (0xE0, CharacterClass.THREE_BYTES),
            (0xC0, CharacterClass.TWO_BYTES),
        )
        return next((run for least, run in leads if byte >= least), CharacterClass.CONTINUATION)
    kinds = (
        (str.islower, CharacterClass.LOWER),
        (str.isupper, CharacterClass.UPPER),
        (str.isdigit, CharacterClass.DIGIT),
    )
    return next((run for is_kind, run in kinds if is_kind(chr(byte))), CharacterClass.MARK)


_CLASSES = np.array([_class(byte) for byte in range(256)], dtype=np.int64)
_FOLLOWED_BY = {
    CharacterClass.NONE: (),
    CharacterClass.UPPER: (CharacterClass.UPPER, CharacterClass.LOWER),
    CharacterClass.MARK: (CharacterClass.UPPER, CharacterClass.LOWER),
}


def _logs(run: CharacterClass) -> list[float]:
    """Return the logarithm of the chance of each byte after a run."""
    likely = {b for b in _BEGINNINGS if _CLASSES[b] in _FOLLOWED_BY.get(run, (run,))}
    stays = _STAYS if likely else 0.0
    logs = [-math.log(_LATER_BYTES)] * 256
    for byte in _BEGINNINGS:
        any_at_all = (1 - stays) / len(_BEGINNINGS)
        logs[byte] = math.log(any_at_all + (stays / len(likely) if byte in likely else 0.0))
    return logs


_LOGS = np.array([_logs(run) for run in CharacterClass])


def class_of(prefix: Sequence[int]) -> CharacterClass:
    """Return the run that a prefix ends in."""
    started = (
        CharacterClass(_CLASSES[byte])
        for byte in reversed(prefix)
        if _CLASSES[byte] != CharacterClass.CONTINUATION
    )
    return next(started, CharacterClass.NONE)


def log_probabilities(run: CharacterClass, tails: Bytes) -> Floats:
    """Return the log-chances of tails, uint8[N, size], after this run."""
    runs, total = np.full(len(tails), run, dtype=np.int64), np.zeros(len(tails))
    for column in tails.T:
        total += _LOGS[runs, column]
        began = _CLASSES[column]
        runs = np.where(began == CharacterClass.CONTINUATION, runs, began)
    return total


def partial_character(prefix: bytes) -> PartialCharacter:
    """Return where a well-formed prefix stops."""
    state = CHARACTER_START
    for byte in prefix[-4:]:
        state = (
            _after(state, byte) if byte < 0x80 or byte >= 0xC0 or state.lacking else CHARACTER_START
        )
    return state


@lru_cache(maxsize=64)
def continuations(state: PartialCharacter, size: int, *, whole: bool) -> Bytes:
    """Uint8[N, size]: all strings that may follow; with `whole`, those that end a character."""
    texts = [text for text, end in _continued(state, size) if not whole or end.lacking == 0]
    rows = np.frombuffer(b"".join(texts), np.uint8).reshape(len(texts), size)
    rows.flags.writeable = False
    return rows


def _continued(state: PartialCharacter, size: int) -> list[tuple[bytes, PartialCharacter]]:
    if size == 0:
        return [(b"", state)]
    return [
        (bytes((byte,)) + rest, end)
        for byte in _next(state)
        for rest, end in _continued(_after(state, byte), size - 1)
    ]


def _next(state: PartialCharacter) -> list[int]:
    own = list(range(state.low, state.high + 1))
    return own if state.lacking else [*own, *_AFTER_LEAD]


def _after(state: PartialCharacter, byte: int) -> PartialCharacter:
    if state.lacking == 0 or byte in _AFTER_LEAD:
        return _AFTER_LEAD.get(byte, CHARACTER_START)
    return PartialCharacter(state.lacking - 1, 0x80, 0xBF) if state.lacking > 1 else CHARACTER_START
