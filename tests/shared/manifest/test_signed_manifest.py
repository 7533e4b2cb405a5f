"""Signed manifests: bytes are verified first, and one with a bad signature is never parsed."""

from __future__ import annotations

import json

import pytest

from deniable_shared.errors import DecodeError, ManifestError, SignatureError
from deniable_shared.manifest.model import MANIFEST_TYPE, MAX_BODY_BYTES, Manifest
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.wire import dsse
from support.builders.manifests import settings

EXAMPLE = settings()
SEED = dsse.generate_key()


def verify(envelope: bytes) -> Manifest:
    trusted = [dsse.public_key(SEED)]
    return parse_manifest(dsse.verify(envelope, payload_type=MANIFEST_TYPE, trusted=trusted))


def test_a_signed_manifest_reads_back() -> None:
    signed = dsse.sign(EXAMPLE.body, payload_type=MANIFEST_TYPE, seed=SEED)
    assert verify(signed) == EXAMPLE


@pytest.mark.slow
def test_the_longest_body_fits_an_envelope() -> None:
    signed = dsse.sign(bytes(MAX_BODY_BYTES), payload_type=MANIFEST_TYPE, seed=SEED)
    with pytest.raises(ManifestError, match="not JSON"):
        verify(signed)


def test_a_manifest_signed_by_a_stranger_is_refused() -> None:
    signed = dsse.sign(EXAMPLE.body, payload_type=MANIFEST_TYPE, seed=dsse.generate_key())
    with pytest.raises(SignatureError, match="no trusted key"):
        verify(signed)


def test_another_body_under_the_signature_is_refused_before_it_is_parsed() -> None:
    signed = dsse.sign(EXAMPLE.body, payload_type=MANIFEST_TYPE, seed=SEED)
    other = dsse.sign(b"not even JSON", payload_type=MANIFEST_TYPE, seed=SEED)
    mixed = json.loads(signed) | {"payload": json.loads(other)["payload"]}
    with pytest.raises(SignatureError, match="is wrong"):
        verify(json.dumps(mixed).encode())


def test_a_key_list_is_no_manifest() -> None:
    signed = dsse.sign(EXAMPLE.body, payload_type="application/x", seed=SEED)
    with pytest.raises(DecodeError, match="payloadType must be"):
        verify(signed)
