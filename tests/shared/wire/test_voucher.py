"""voucher/1 as published: who issues it, what it says, what is none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.wire.extensions import EXTENSIONS, encoded_bytes
from deniable_shared.wire.report import Extension, Plaintext, padded_size
from deniable_shared.wire.voucher import (
    VOUCHER,
    decode_voucher,
    format_key,
    issue,
    parse_key,
    serial_of,
)
from reference_client import uploading
from support.builders.manifests import SETTINGS, manifest_with, settings
from support.oracles.vectors import FOLDER

VECTORS: dict[str, Any] = json.loads((FOLDER / "vouchers.json").read_text())
KEY = VECTORS["key"]
FIRST = VECTORS["cases"][0]
MAY = 1_809_000_000.0
epochs = st.integers(0, 2**32 - 1)
people = st.text(min_size=1, max_size=64)


def cases(kind: str) -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in VECTORS[kind]]


def serial(data: bytes, *, epoch: int = FIRST["epoch"]) -> bytes | None:
    return serial_of(parse_key(KEY), data, collection=FIRST["collection"], epoch=epoch)


def test_the_key_is_spelled_as_published() -> None:
    assert parse_key(KEY).hex() == VECTORS["key_hex"]
    assert format_key(parse_key(KEY)) == KEY


@pytest.mark.parametrize("case", cases("cases"))
def test_a_voucher_is_the_published_one_and_holds_where_it_was_issued(case: dict[str, Any]) -> None:
    place = {"collection": case["collection"], "epoch": case["epoch"]}
    text = issue(KEY, person=case["person"], **place)
    data = decode_voucher(text)
    assert (text, data.hex()) == (case["text"], case["voucher"])
    assert serial_of(parse_key(KEY), data, **place) == data[:16]
    plaintext = Plaintext(b"\x80", (Extension(VOUCHER.type, data),))
    assert plaintext.encode(padded_size(1, encoded_bytes(["voucher/1"]))).hex() == case["plaintext"]


@pytest.mark.parametrize("case", cases("false"))
def test_a_false_voucher_has_no_serial(case: dict[str, Any]) -> None:
    assert serial(bytes.fromhex(case["hex"])) is None


@pytest.mark.parametrize("case", cases("refused"))
def test_a_text_that_is_no_voucher_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(DecodeError, match="a voucher must be 43 characters of base64url"):
        decode_voucher(case["text"])


@pytest.mark.slow
@given(people, people, epochs, epochs)
def test_one_serial_a_person_and_epoch_and_no_other(
    person: str, other: str, epoch: int, later: int
) -> None:
    serials = {
        (name, when): issue(KEY, collection="survey-4kqz0m", epoch=when, person=name)
        for name in (person, other)
        for when in (epoch, later)
    }
    assert len(set(serials.values())) == len(serials)
    assert serials[person, epoch] == issue(
        KEY, collection="survey-4kqz0m", epoch=epoch, person=person
    )


@given(people, epochs, st.binary(min_size=32, max_size=32))
def test_it_is_what_a_backend_in_another_hand_issues(person: str, epoch: int, key: bytes) -> None:
    text = issue(format_key(key), collection="survey-4kqz0m", epoch=epoch, person=person)
    issued = uploading.voucher(key, "survey-4kqz0m", epoch, person.encode())
    assert decode_voucher(text) == issued
    assert serial_of(key, issued, collection="survey-4kqz0m", epoch=epoch) == issued[:16]


@given(st.binary(min_size=32, max_size=32))
def test_nobody_makes_one_without_the_key(data: bytes) -> None:
    assert serial(data) is None


def test_any_changed_bit_makes_it_false() -> None:
    data = bytes.fromhex(FIRST["voucher"])
    for place in range(8 * len(data)):
        changed = bytearray(data)
        changed[place // 8] ^= 1 << place % 8
        assert serial(bytes(changed)) is None


def test_another_epoch_makes_it_false() -> None:
    data = bytes.fromhex(FIRST["voucher"])
    actual = [serial(data, epoch=FIRST["epoch"] + step) is not None for step in (-1, 0, 1)]
    assert actual == [False, True, False]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"person": ""}, "person must be 1…256 bytes of UTF-8, got 0"),
        ({"person": "ä" * 129}, "person must be 1…256 bytes of UTF-8, got 258"),
        ({"epoch": -1}, "epoch must be an integer in 0…4294967295, got -1"),
        ({"epoch": 2**32}, "epoch must be an integer in 0…4294967295"),
        ({"epoch": True}, "epoch must be an integer"),
    ],
)
def test_what_cannot_be_issued_is_refused_by_name(arguments: dict[str, Any], reason: str) -> None:
    given: dict[str, Any] = {"collection": "survey-4kqz0m", "epoch": 1, "person": "1042"}
    with pytest.raises(ParameterError, match=reason):
        issue(KEY, **(given | arguments))


@pytest.mark.parametrize("key", ["", "dn_secretsecret", "vk_", "vk_short-secret", KEY + "A"])
def test_a_key_that_is_none_is_refused_and_never_repeated(key: str) -> None:
    with pytest.raises(ParameterError, match="`deniable keys vouchers show` prints it") as refused:
        parse_key(key)
    assert "secret" not in str(refused.value)


def test_every_extension_has_a_type_of_its_own() -> None:
    types = [kind.type for kind in EXTENSIONS.values()]
    assert len(set(types)) == len(types)
    assert all(id == kind.id for id, kind in EXTENSIONS.items())


def test_toml_says_what_is_required() -> None:
    text = 'requires = ["voucher/1"]\n' + SETTINGS
    assert settings(text).body == manifest_with({"requires": ["voucher/1"]}).body
