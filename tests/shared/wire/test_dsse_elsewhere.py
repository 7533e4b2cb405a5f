"""Another implementation of DSSE, securesystemslib, reads our envelopes, and we read its."""

from __future__ import annotations

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib import dsse as elsewhere
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import CryptoSigner, SSlibKey

from deniable_shared.manifest.model import MANIFEST_TYPE
from deniable_shared.wire import dsse, key_list
from deniable_shared.wire.key_list import DELEGATION_TYPE, KEYS_TYPE
from support.builders.annotated_hex import single_bit_flips
from support.oracles.vectors import vectors

SEED = bytes(range(32))
KEY = dsse.public_key(SEED)
BODY = vectors("manifests.json")[0]["body"].encode()
MANIFEST = dsse.sign(BODY, payload_type=MANIFEST_TYPE, seed=SEED)
DELEGATION = key_list.delegate(operator_seed=SEED, online_key=KEY, issued=1, expires=2)
KEYS = dsse.sign(
    b"{}", payload_type=KEYS_TYPE, seed=SEED, extra={"delegation": json.loads(DELEGATION)}
)
ENVELOPES = {"manifest": MANIFEST, "delegation": DELEGATION, "keys": KEYS}


def their_key(text: str) -> SSlibKey:
    return SSlibKey(text, "ed25519", "ed25519", {"public": dsse.key_bytes(text).hex()})


def read(envelope: bytes) -> elsewhere.Envelope:
    return elsewhere.Envelope.from_dict(json.loads(envelope))


def refused(envelope: elsewhere.Envelope) -> bool:
    try:
        envelope.verify([their_key(KEY)], 1)
    except VerificationError:
        return True
    return False


@pytest.mark.parametrize("name", ENVELOPES)
def test_it_verifies_what_we_sign(name: str) -> None:
    assert read(ENVELOPES[name]).verify([their_key(KEY)], 1).keys() == {KEY}


def test_it_reads_the_payload_and_the_type_that_we_wrote() -> None:
    envelope = read(MANIFEST)
    assert (envelope.payload, envelope.payload_type) == (BODY, MANIFEST_TYPE)


@pytest.mark.slow
def test_it_refuses_a_payload_with_one_bit_flipped() -> None:
    envelope = read(DELEGATION)
    for payload in single_bit_flips(envelope.payload):
        envelope.payload = payload
        assert refused(envelope)


@pytest.mark.slow
def test_it_refuses_a_signature_with_one_bit_flipped() -> None:
    envelope = read(DELEGATION)
    for flipped in single_bit_flips(bytes.fromhex(envelope.signatures[KEY].signature)):
        envelope.signatures[KEY].signature = flipped.hex()
        assert refused(envelope)


def test_it_refuses_another_payload_type() -> None:
    envelope = read(DELEGATION)
    envelope.payload_type = DELEGATION_TYPE.replace("delegation", "manifest")
    assert envelope.payload_type != DELEGATION_TYPE
    assert refused(envelope)


def test_it_refuses_another_key_under_the_name_of_ours() -> None:
    other = their_key(dsse.public_key(bytes(32)))
    other.keyid = KEY
    with pytest.raises(VerificationError):
        read(MANIFEST).verify([other], 1)


def test_we_verify_what_it_signs() -> None:
    signer = CryptoSigner(Ed25519PrivateKey.from_private_bytes(SEED), their_key(KEY))
    envelope = elsewhere.Envelope(BODY, MANIFEST_TYPE, {})
    envelope.sign(signer)
    signed = json.dumps(envelope.to_dict()).encode()
    assert dsse.verify(signed, payload_type=MANIFEST_TYPE, trusted=[KEY]) == BODY
    assert json.loads(signed) == json.loads(MANIFEST), "Ed25519 signs alike everywhere"
