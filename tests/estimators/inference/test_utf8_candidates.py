"""Spelling: what may follow a prefix is what UTF-8 allows, no more and no less."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_estimators.inference.utf8_candidates import (
    CHARACTER_START,
    CharacterClass,
    class_of,
    continuations,
    log_probabilities,
    partial_character,
)


def readable(text: bytes) -> bool:
    try:
        return all(" " <= c <= "~" or c > "\x7f" for c in text.decode())
    except UnicodeDecodeError:
        return False


@pytest.mark.slow
def test_whole_continuations_of_two_bytes_are_all_texts_of_two_bytes() -> None:
    every = {bytes(pair) for pair in product(range(256), repeat=2) if readable(bytes(pair))}
    assert {row.tobytes() for row in continuations(CHARACTER_START, 2, whole=True)} == every


@pytest.mark.slow
def test_continuations_are_just_the_ways_in_which_some_text_goes_on() -> None:
    three = (code for code in range(0x800, 0x10000, 64) if code >> 11 != 27)  # no surrogates
    four = range(0x10000, 0x110000, 4096)  # what is left out has the same two bytes
    starts = {chr(code).encode()[:2] for code in (*three, *four)}
    starts |= {bytes(pair) for pair in product(range(256), repeat=2) if readable(bytes(pair))}
    codes = (code for code in (0x80, *range(0xA0, 0x110000, 64)) if code >> 11 != 27)
    firsts = {chr(code).encode()[:1] for code in codes}
    starts |= {bytes((ascii_,)) + first for ascii_, first in product(range(32, 127), firsts)}
    assert {row.tobytes() for row in continuations(CHARACTER_START, 2, whole=False)} == starts


@given(st.text(min_size=1, max_size=6), st.integers(0, 24), st.integers(0, 2))
def test_every_text_is_reached_from_each_of_its_prefixes(text: str, cut: int, size: int) -> None:
    encoded = text.encode("utf-8", "ignore")
    if not readable(encoded) or len(encoded) < cut + size:
        return
    tails = continuations(partial_character(encoded[:cut]), size, whole=False)
    assert encoded[cut : cut + size] in {row.tobytes() for row in tails}
    assert partial_character(encoded) == CHARACTER_START


def test_the_chances_of_all_that_may_follow_a_run_add_up_to_one() -> None:
    for prefix in (b"", b"ab", b"Ab", b"A", b"7", b"_", "é".encode(), "語".encode(), "🎈".encode()):
        for size in (1, 2):
            tails = continuations(partial_character(prefix), size, whole=False)
            total = np.exp(log_probabilities(class_of(prefix), tails)).sum()
            assert 0.8 < total <= 1 + 1e-9  # a little is left to what UTF-8 does not allow


def test_letters_follow_letters_and_a_script_goes_on() -> None:
    def likelier(prefix: bytes, one: bytes, other: bytes) -> bool:
        tails = np.frombuffer(one + other, np.uint8).reshape(2, -1)
        chances = log_probabilities(class_of(prefix), tails)
        return bool(chances[0] > chances[1])

    assert likelier(b"ab", b"c", b"C")
    assert likelier(b"ab", b"cd", b"c!")
    assert likelier(b"20", b"1", b"a")
    assert likelier(b"x-", b"y", b"-")
    assert likelier("и".encode(), "в".encode(), b"ab")
    assert likelier("語".encode(), "語".encode()[:2], b"ab")


def test_a_run_is_that_of_the_last_character_begun() -> None:
    assert class_of(b"") is CharacterClass.NONE
    assert class_of(b"aB") is CharacterClass.UPPER
    assert class_of("é".encode()) is class_of("é".encode()[:1]) is CharacterClass.TWO_BYTES
