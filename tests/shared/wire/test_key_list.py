"""Key lists: operator → online key → list, each link checked, each expiry kept."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import DecodeError, SignatureError
from deniable_shared.wire import dsse, envelope, key_list
from deniable_shared.wire.canonical import canonical_json
from deniable_shared.wire.key_list import DELEGATION_TYPE, KEYS_TYPE, KeyList, PublicKey
from support.doubles.older_cryptography import without_hybrid

OPERATOR, ONLINE = dsse.generate_key(), dsse.generate_key()
TRUSTED = [dsse.public_key(OPERATOR)]
ONLINE_KEY = dsse.public_key(ONLINE)
POINT = envelope.generate()[1]
NOW = 1_800_000_000
LIST = KeyList(
    version=4,
    issued=NOW - 10,
    expires=NOW + 100,
    log_size=2,
    log_head="ab" * 32,
    keys=(PublicKey(1, 1, POINT, "expired"), PublicKey(2, 1, POINT, "active")),
)
DELEGATION = key_list.delegate(
    operator_seed=OPERATOR, online_key=ONLINE_KEY, issued=NOW - 50, expires=NOW + 50
)
SIGNED = key_list.sign_key_list(LIST, online_seed=ONLINE, delegation=DELEGATION)


def verify(envelope: bytes, now: float = NOW) -> KeyList:
    return key_list.verify_key_list(envelope, trusted=TRUSTED, now=now)


def signed_body(body: bytes) -> bytes:
    extra = {"delegation": json.loads(DELEGATION)}
    return dsse.sign(body, payload_type=KEYS_TYPE, seed=ONLINE, extra=extra)


def changed(**members: object) -> bytes:
    return signed_body(canonical_json(json.loads(LIST.encode()) | members))


def key(**members: object) -> dict[str, object]:
    return dict(json.loads(LIST.encode())["keys"][1]) | members


def test_a_key_list_reads_back() -> None:
    assert verify(SIGNED) == LIST


def test_a_key_list_is_canonical_json() -> None:
    point = json.loads(LIST.encode())["keys"][0]["public_key"]
    keys = [
        {"id": 1, "public_key": point, "state": "expired", "suite": 1},
        {"id": 2, "public_key": point, "state": "active", "suite": 1},
    ]
    assert LIST.encode() == canonical_json(
        {"spec": "deniable/keys/1", "version": 4, "issued": NOW - 10, "expires": NOW + 100,
         "log": {"size": 2, "head": "ab" * 32}, "keys": keys}
    )  # fmt: skip


HYBRID = PublicKey(1, 2, bytes(1216), "active")


def test_the_active_key_has_the_strongest_suite_then_the_highest_id() -> None:
    unknown, pending = PublicKey(9, 3, b"x", "active"), PublicKey(8, 2, bytes(1216), "pending")
    older, newer = LIST.keys[1], PublicKey(3, 1, POINT, "active")
    assert replace(LIST, keys=(older, newer, unknown, pending)).active == newer
    assert replace(LIST, keys=(older, newer, unknown, HYBRID)).active == HYBRID


def test_a_suite_that_the_installed_library_lacks_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_hybrid(monkeypatch)
    assert replace(LIST, keys=(HYBRID, LIST.keys[1])).active == LIST.keys[1]
    with pytest.raises(DecodeError, match=r"no active key of the suites \[1\]"):
        _ = replace(LIST, keys=(HYBRID,)).active
    assert not replace(LIST, keys=(HYBRID,)).usable(NOW)


def test_a_list_is_usable_until_it_or_the_delegation_expires() -> None:
    assert LIST.usable(NOW + 99)
    assert not LIST.usable(NOW + 100)
    actual = verify(SIGNED)
    assert actual.delegated_until == NOW + 50
    assert actual.usable(NOW + 49)
    assert not actual.usable(NOW + 50)
    assert not replace(LIST, keys=LIST.keys[:1]).usable(NOW)


def test_without_an_active_key_there_is_nothing_to_seal_to() -> None:
    with pytest.raises(DecodeError, match="no active key"):
        _ = replace(LIST, keys=LIST.keys[:1]).active


def test_an_expired_list_is_refused() -> None:
    assert (
        verify(
            key_list.sign_key_list(
                replace(LIST, expires=NOW), online_seed=ONLINE, delegation=DELEGATION
            ),
            NOW - 1,
        ).expires
        == NOW
    )
    with pytest.raises(SignatureError, match=f"the key list expired at {NOW}, now is {NOW}"):
        verify(changed(expires=NOW))


def test_an_expired_delegation_is_refused() -> None:
    verify(SIGNED, NOW + 49)
    with pytest.raises(SignatureError, match=f"the delegation expired at {NOW + 50}"):
        verify(SIGNED, NOW + 50)


def test_a_list_signed_by_a_key_that_was_not_delegated_is_refused() -> None:
    stranger = key_list.sign_key_list(LIST, online_seed=dsse.generate_key(), delegation=DELEGATION)
    with pytest.raises(SignatureError, match="no trusted key signed this"):
        verify(stranger)


def test_a_delegation_by_a_stranger_is_refused() -> None:
    own = key_list.delegate(
        operator_seed=dsse.generate_key(), online_key=ONLINE_KEY, issued=NOW - 50, expires=NOW + 50
    )
    with pytest.raises(SignatureError, match="no trusted key signed this"):
        verify(key_list.sign_key_list(LIST, online_seed=ONLINE, delegation=own))


def test_the_operator_s_own_signature_is_no_delegation() -> None:
    with pytest.raises(SignatureError, match="no trusted key signed this"):
        verify(key_list.sign_key_list(LIST, online_seed=OPERATOR, delegation=DELEGATION))
    with pytest.raises(DecodeError, match="fields of the signature"):
        verify(dsse.sign(LIST.encode(), payload_type=KEYS_TYPE, seed=OPERATOR))


def test_a_signed_list_cannot_serve_as_a_delegation() -> None:
    listed = dsse.sign(LIST.encode(), payload_type=KEYS_TYPE, seed=OPERATOR)
    with pytest.raises(DecodeError, match=re.escape(f'payloadType must be "{DELEGATION_TYPE}"')):
        verify(key_list.sign_key_list(LIST, online_seed=ONLINE, delegation=listed))


def test_another_body_under_the_same_signature_is_refused() -> None:
    other = json.loads(
        key_list.sign_key_list(replace(LIST, version=9), online_seed=ONLINE, delegation=DELEGATION)
    )
    mixed = json.loads(SIGNED) | {"payload": other["payload"]}
    with pytest.raises(SignatureError, match="is wrong"):
        verify(json.dumps(mixed).encode())


def test_two_signatures_are_one_too_many() -> None:
    document = json.loads(SIGNED)
    document["signatures"] *= 2
    with pytest.raises(DecodeError, match="one signature, got 2"):
        verify(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("envelope", "reason"),
    [
        (changed(spec="deniable/keys/2"), 'spec must be "deniable/keys/1"'),
        (changed(extra=1), "fields of the key list"),
        (changed(version=0), "version must be 1…"),
        (changed(version=True), "version must be an integer, got true"),
        (changed(version="1"), "version must be an integer"),
        (changed(expires=NOW - 10), "expires must be later than issued"),
        (changed(log={"size": 0}), "fields of the log"),
        (changed(log={"size": -1, "head": "0" * 64}), "log.size must be 0…"),
        (changed(log={"size": 0, "head": "A" * 64}), "64 hex digits"),
        (changed(log={"size": 0, "head": 7}), "head must be a string"),
        (changed(keys=[]), "keys must be a list of 1…256"),
        (changed(keys={}), "keys must be a list"),
        (changed(keys=[key(), key()]), "different ids"),
        (changed(keys=[key(id=256)]), "id must be 0…255"),
        (changed(keys=[key(suite=0)]), "suite must be 1…255"),
        (changed(keys=[key(state="stolen")]), "state must be one of"),
        (changed(keys=[key(public_key="AAAA")]), "must be 32 bytes, got 3"),
        (changed(keys=[key(suite=2)]), "must be 1216 bytes, got 32"),
        (changed(keys=[key(suite=9, public_key="")]), "must be 1…4096 bytes, got 0"),
        (changed(keys=[key(public_key="A")]), "must be base64url"),
        (changed(keys=[key(public_key="AB")]), "must be base64url"),
        (changed(keys=[key(public_key="++++")]), "must be base64url"),
        (changed(keys=[key(label="x")]), "fields of the key"),
        (changed(keys=[7]), "fields of the key"),
        (signed_body(b"not json"), "not JSON"),
    ],
    ids=lambda each: str(each)[:30],
)
def test_a_signed_list_that_breaks_a_rule_is_refused(envelope: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        verify(envelope)


def test_a_delegation_is_for_a_key_and_a_time() -> None:
    with pytest.raises(DecodeError, match="expires must be later"):
        key_list.delegate(operator_seed=OPERATOR, online_key=ONLINE_KEY, issued=5, expires=5)
    with pytest.raises(DecodeError, match="43 base64url"):
        key_list.delegate(operator_seed=OPERATOR, online_key="me", issued=5, expires=6)


@given(st.binary(max_size=100))
def test_any_signed_bytes_are_a_list_or_refused(body: bytes) -> None:
    with pytest.raises(DecodeError):
        verify(signed_body(body))


@given(position=st.integers(0, len(SIGNED) - 1), byte=st.integers(0, 255))
def test_a_list_with_a_byte_changed_says_the_same_or_is_refused(position: int, byte: int) -> None:
    try:
        actual = verify(SIGNED[:position] + bytes([byte]) + SIGNED[position + 1 :])
    except (DecodeError, SignatureError):
        return
    assert actual == LIST
