"""JSON with one spelling: what is read strictly is written back the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import DecodeError
from deniable_shared.wire.canonical import canonical_json, quote, strict_json

DOCUMENTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@pytest.mark.slow
@given(DOCUMENTS)
def test_a_document_reads_back(document: object) -> None:
    try:
        encoded = canonical_json(document)
        decoded = strict_json(encoded)
    except (DecodeError, UnicodeEncodeError):
        return
    assert decoded == document
    assert canonical_json(decoded) == encoded


@given(
    st.binary(max_size=200)
    | st.text('[]{}",:0123456789.eE+-\\utrlsnaf ', max_size=60).map(str.encode)
)
def test_any_bytes_are_a_document_or_refused(data: bytes) -> None:
    try:
        document = strict_json(data)
    except DecodeError:
        return
    assert strict_json(canonical_json(document)) == document


def test_keys_are_sorted_and_nothing_is_escaped_that_need_not_be() -> None:
    assert canonical_json({"b": 1, "a": ["é", None]}) == '{"a":["é",null],"b":1}'.encode()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a":1,"a":1}', 'field "a" is given twice'),
        (b'[{"a":{"b":1,"c":2,"b":3}}]', 'field "b" is given twice'),
        (b"1.0", "only integers are accepted, got 1.0"),
        (b'{"epsilon":1e5000000}', "only integers are accepted, got 1e5000000"),
        (b"NaN", "only integers"),
        (b"[Infinity]", "only integers"),
        (b"[-Infinity]", "only integers"),
        (b"9" * 20, "at most 19 digits, got 20"),
        (b"9" * 1_000_000, "at most 19 digits, got 1000000"),
        (b'"\\ud800"', "not JSON in UTF-8"),
        (b"\xff", "not JSON in UTF-8"),
        (b"\xef\xbb\xbf{}", "not JSON in UTF-8"),
        (b"{} {}", "not JSON in UTF-8"),
        (b'{"a":1,}', "not JSON in UTF-8"),
        (b"'a'", "not JSON in UTF-8"),
        (b"", "not JSON in UTF-8"),
        (nested(9), "at most 8 deep"),
        (b"[" * 1_000_000, "at most 8 deep"),
        (b'{"a":' * 200_000, "at most 8 deep"),
        (b'"' + b"\\\\" * 500_000, "not JSON in UTF-8"),
        (b" " * (2**20 + 1), "at most 1048576 bytes"),
    ],
    ids=lambda each: str(each)[:24],
)
def test_what_is_not_one_plain_document_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        strict_json(data)


@pytest.mark.slow
def test_a_late_duplicate_among_many_keys_is_found_without_delay() -> None:
    keys = ",".join(f'"{index}":1' for index in range(80_000))
    with pytest.raises(DecodeError, match='field "79999" is given twice'):
        strict_json(f'{{{keys},"79999":1}}'.encode())


def test_nesting_of_eight_and_brackets_in_text_are_fine() -> None:
    assert canonical_json(strict_json(nested(8))) == nested(8)
    assert strict_json(b'"[[[[[[[[[[{{{{ \\" [["') == '[[[[[[[[[[{{{{ " [['


@pytest.mark.parametrize(
    ("value", "text"), [(None, "null"), (True, "true"), ("True", '"True"'), (7, "7")]
)
def test_errors_show_what_was_given(value: object, text: str) -> None:
    assert quote(value) == text


def test_errors_never_show_much() -> None:
    assert len(quote("x" * 10_000)) == 80
    assert quote(10**5000) == "a number of 16610 bits"
