"""Texts: what an answer may be, and the one form in which it is reported."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.domains import Text, encode, is_text, manifest_value, parse_domain
from deniable_shared.errors import DomainError, ManifestError

WORD = Text(8)


def test_an_answer_is_its_utf_8_and_keys_its_coins_behind_its_length() -> None:
    assert encode(WORD, "tea") == (b"tea", b"\x03tea")
    assert encode(WORD, "größe") == ("größe".encode(), b"\x07" + "größe".encode())


def test_two_ways_to_type_a_letter_are_one_answer() -> None:
    assert WORD.encode("cafe\u0301") == WORD.encode("café")
    assert manifest_value(WORD, "cafe\u0301") == "café"


def test_a_long_way_to_type_a_short_text_is_that_text() -> None:
    assert Text(3).encode("\u1100\u1161\u11a8") == "각".encode()


@pytest.mark.parametrize("value", ["", "a\n", "\u202eabc", "\u200b", "\ud800", "a\tb", "\x1b[2J"])
def test_what_is_not_printable_is_refused(value: str) -> None:
    with pytest.raises(DomainError, match="value must be"):
        WORD.encode(value)


@pytest.mark.parametrize("value", ["ninechars", "x" * 10**7, b"tea", 7, None, ["tea"]])
def test_what_is_too_long_or_no_text_is_refused_without_being_repeated(value: object) -> None:
    with pytest.raises(DomainError) as caught:
        WORD.encode(value)
    assert "ninechars" not in str(caught.value)
    assert "tea" not in str(caught.value)


@given(st.text(max_size=12))
def test_whatever_is_accepted_is_a_text_that_some_device_can_have(value: str) -> None:
    try:
        encoded = WORD.encode(value)
    except DomainError:
        return
    assert is_text(encoded)
    assert len(encoded) <= 8
    assert WORD.encode(WORD.decode(encoded)) == encoded


@pytest.mark.parametrize("given", [b"", b"\xff", b"\xc3", b"a\x00", "e\u0301".encode()])
def test_bytes_that_no_device_has_are_no_text(given: bytes) -> None:
    assert not is_text(given)


@pytest.mark.parametrize("size", [0, 65, "8", 8.0, True, None])
def test_a_domain_says_how_long_an_answer_may_be(size: object) -> None:
    with pytest.raises(ManifestError, match="domain max_bytes must be an integer"):
        parse_domain({"type": "text", "max_bytes": size})


def test_a_domain_reads_what_it_writes_and_nothing_more() -> None:
    assert parse_domain(WORD.to_json()) == WORD
    with pytest.raises(ManifestError, match="no field 'labels'"):
        parse_domain({"type": "text", "max_bytes": 8, "labels": ["a"]})


def test_every_answer_of_one_byte_is_a_printable_character() -> None:
    assert [text.decode() for text in Text(1).every()] == [chr(code) for code in range(32, 127)]
