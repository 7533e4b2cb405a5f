"""Spelling: what may follow a prefix is what UTF-8 allows, no more and no less."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from deniable_aggregator.estimate.spelling import BETWEEN, continuations, midway


def readable(text: bytes) -> bool:
    try:
        return all(" " <= c <= "~" or c > "\x7f" for c in text.decode())
    except UnicodeDecodeError:
        return False


def test_whole_continuations_of_two_bytes_are_all_texts_of_two_bytes() -> None:
    every = {bytes(pair) for pair in product(range(256), repeat=2) if readable(bytes(pair))}
    assert {row.tobytes() for row in continuations(BETWEEN, 2, whole=True)} == every


def test_continuations_are_just_the_ways_in_which_some_text_goes_on() -> None:
    starts = {chr(code).encode()[:2] for code in range(0x800, 0x110000) if code >> 11 != 27}
    starts |= {bytes(pair) for pair in product(range(256), repeat=2) if readable(bytes(pair))}
    starts |= {
        bytes((ascii_,)) + chr(code).encode()[:1]
        for ascii_ in range(32, 127)
        for code in (0x80, *range(0xA0, 0x110000, 64))
        if code >> 11 != 27
    }
    assert {row.tobytes() for row in continuations(BETWEEN, 2, whole=False)} == starts


@given(st.text(min_size=1, max_size=6), st.integers(0, 24), st.integers(0, 2))
def test_every_text_is_reached_from_each_of_its_prefixes(text: str, cut: int, size: int) -> None:
    encoded = text.encode("utf-8", "ignore")
    if not readable(encoded) or len(encoded) < cut + size:
        return
    tails = continuations(midway(encoded[:cut]), size, whole=False)
    assert encoded[cut : cut + size] in {row.tobytes() for row in tails}
    assert midway(encoded) == BETWEEN
