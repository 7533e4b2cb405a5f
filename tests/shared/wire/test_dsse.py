"""Signed envelopes: only a trusted key's signature over these bytes and this type counts."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import DecodeError, SignatureError
from deniable_shared.wire import dsse
from support.builders.annotated_hex import single_bit_flips

SEED = dsse.generate_key()
TRUSTED = [dsse.public_key(SEED)]
TYPE = "http://example.com/HelloWorld"
SIGNED = dsse.sign(b"hello world", payload_type=TYPE, seed=SEED)


def edited(**members: object) -> bytes:
    return json.dumps(json.loads(SIGNED) | members).encode()


def signature(**members: object) -> dict[str, Any]:
    actual: dict[str, Any] = json.loads(SIGNED)["signatures"][0]
    return actual | members


def refused(envelope: bytes, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        dsse.verify(envelope, payload_type=TYPE, trusted=TRUSTED)


@given(st.binary(max_size=200))
def test_what_is_signed_verifies(body: bytes) -> None:
    signed = dsse.sign(body, payload_type=TYPE, seed=SEED)
    assert dsse.verify(signed, payload_type=TYPE, trusted=TRUSTED) == body
    assert dsse.unverified_payload(signed, payload_type=TYPE) == body


def test_what_is_signed_is_the_encoding_of_the_specification() -> None:
    """The example of the DSSE protocol, version 1.0."""
    encoded = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    sig = Ed25519PrivateKey.from_private_bytes(SEED).sign(encoded)
    assert json.loads(SIGNED) == {
        "payload": "aGVsbG8gd29ybGQ=",
        "payloadType": TYPE,
        "signatures": [{"keyid": TRUSTED[0], "sig": base64.b64encode(sig).decode()}],
    }


def test_a_key_is_its_own_name() -> None:
    assert TRUSTED[0].startswith("ed25519:")
    assert len(TRUSTED[0]) == 51
    assert len(dsse.key_bytes(TRUSTED[0])) == 32
    assert dsse.public_key(bytes(32)) == "ed25519:O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik"


@pytest.mark.parametrize(
    "key",
    [
        "",
        "ed25519:",
        "ed25519:" + "A" * 42 + "B",
        "ed25519:" + "A" * 42 + "+",
        "ED25519:" + "A" * 43,
        "ed25519:" + "A" * 43 + "=",
        "ed25519:" + "A" * 43 + "\n",
        None,
        7,
    ],
)
def test_a_key_has_one_spelling(key: object) -> None:
    with pytest.raises(DecodeError, match="43 base64url characters"):
        dsse.key_bytes(key)


def test_one_of_several_trusted_keys_is_enough() -> None:
    other = dsse.public_key(dsse.generate_key())
    assert dsse.verify(SIGNED, payload_type=TYPE, trusted=[other, *TRUSTED]) == b"hello world"


def test_a_stranger_s_signature_counts_for_nothing() -> None:
    stranger = dsse.sign(b"hello world", payload_type=TYPE, seed=dsse.generate_key())
    refused(
        stranger, SignatureError, "no trusted key signed this, only ed25519:.*; trusted: ed25519:"
    )
    with pytest.raises(SignatureError, match="no trusted key"):
        dsse.verify(SIGNED, payload_type=TYPE, trusted=[])


def test_a_stranger_s_signature_beside_ours_does_no_harm() -> None:
    stranger = dsse.sign(b"hello world", payload_type=TYPE, seed=dsse.generate_key())
    both = edited(signatures=[*json.loads(stranger)["signatures"], signature()])
    assert dsse.verify(both, payload_type=TYPE, trusted=TRUSTED) == b"hello world"


def test_a_stranger_s_signature_under_our_name_is_wrong() -> None:
    stranger = json.loads(dsse.sign(b"hello world", payload_type=TYPE, seed=dsse.generate_key()))
    forged = edited(signatures=[signature(sig=stranger["signatures"][0]["sig"])])
    refused(forged, SignatureError, f"the signature by {TRUSTED[0]} is wrong")


def test_another_body_under_the_same_signature_is_refused() -> None:
    refused(edited(payload="aGVsbG8gd29ybGU="), SignatureError, "is wrong")


@pytest.mark.slow
def test_a_signature_with_any_bit_changed_is_wrong() -> None:
    for sig in single_bit_flips(base64.b64decode(signature()["sig"])):
        changed = edited(signatures=[signature(sig=base64.b64encode(sig).decode())])
        refused(changed, SignatureError, "is wrong")


def test_a_signature_for_one_type_is_none_for_another() -> None:
    with pytest.raises(DecodeError, match='payloadType must be "other", got "http://'):
        dsse.verify(SIGNED, payload_type="other", trusted=TRUSTED)
    with pytest.raises(SignatureError, match="is wrong"):
        dsse.verify(edited(payloadType="other"), payload_type="other", trusted=TRUSTED)


@pytest.mark.parametrize(
    ("envelope", "reason"),
    [
        (edited(extra=1), "fields of the envelope"),
        (b"{}", "fields of the envelope"),
        (b"[]", "fields of the envelope"),
        (edited(signatures=[signature(delegation={})]), "fields of the signature"),
        (edited(signatures=[{"keyid": TRUSTED[0]}]), "fields of the signature"),
        (edited(signatures=[]), "list of 1…8"),
        (edited(signatures=[signature()] * 9), "list of 1…8"),
        (edited(signatures={}), "list of 1…8"),
        (edited(signatures=[signature(keyid="me")]), "43 base64url characters"),
        (edited(signatures=[signature(sig="!")]), "sig must be base64"),
        (edited(payload="aGVsbG8gd29ybGQ"), "payload must be base64"),
        (edited(payload="aGVsbG8gd29ybGR="), "payload must be base64"),
        (edited(payload="aGVsbG8g\nd29ybGQ="), "payload must be base64"),
        (edited(payload="é"), "payload must be base64"),
        (edited(payload=7), "payload must be base64"),
        (SIGNED.replace(b'{"payload"', b'{"payload":"","payload"'), "given twice"),
        (SIGNED + b" " * (1 << 20), "at most 1048576 bytes"),
    ],
    ids=lambda each: each if isinstance(each, str) else f"{len(each)} bytes",
)
def test_what_is_not_an_envelope_is_refused(envelope: bytes, reason: str) -> None:
    refused(envelope, DecodeError, reason)


@given(st.binary(max_size=100))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises((DecodeError, SignatureError)):
        dsse.verify(data, payload_type=TYPE, trusted=TRUSTED)


@given(position=st.integers(0, len(SIGNED) - 1), byte=st.integers(0, 255))
def test_an_envelope_with_a_byte_changed_says_the_same_or_is_refused(
    position: int, byte: int
) -> None:
    changed = SIGNED[:position] + bytes([byte]) + SIGNED[position + 1 :]
    try:
        body = dsse.verify(changed, payload_type=TYPE, trusted=TRUSTED)
    except (DecodeError, SignatureError):
        return
    assert body == b"hello world"


def test_a_single_trusted_key_may_be_given_as_text() -> None:
    assert dsse.verify(SIGNED, payload_type=TYPE, trusted=TRUSTED[0]) == b"hello world"
