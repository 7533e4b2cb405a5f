"""What the published refusals hold is refused here, each by the reader it is meant for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from deniable_shared.errors import DecodeError, ManifestError, SignatureError
from deniable_shared.manifest.model import MANIFEST_TYPE
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.wire import dsse
from deniable_shared.wire.report import Plaintext, decode_errors, decode_upload
from support.oracles.vectors import FOLDER

REFUSALS = json.loads((FOLDER / "refusals.json").read_text())


def cases(kind: str) -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in REFUSALS[kind]]


@pytest.mark.parametrize("case", cases("upload"))
def test_an_upload_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(DecodeError):
        decode_upload(bytes.fromhex(case["hex"]))


@pytest.mark.parametrize("case", cases("plaintext"))
def test_a_plaintext_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(DecodeError):
        Plaintext.decode(bytes.fromhex(case["hex"]))


@pytest.mark.parametrize("case", cases("errors"))
def test_an_answer_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(DecodeError):
        decode_errors(bytes.fromhex(case["hex"]))


@pytest.mark.parametrize("case", cases("manifest"))
def test_a_manifest_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(ManifestError):
        parse_manifest(case["body"].encode())


def test_only_the_case_of_the_id_has_an_id_that_does_not_follow() -> None:
    """Every other manifest is refused for the reason its name gives."""
    refusals = {case["name"]: reason(case["body"]) for case in REFUSALS["manifest"]}
    wrong = {name for name, said in refusals.items() if "follows from the immutable" in said}
    assert wrong == {"an id that does not follow"}


def reason(body: str) -> str:
    with pytest.raises(ManifestError) as refused:
        parse_manifest(body.encode())
    return str(refused.value)


@pytest.mark.parametrize("case", cases("envelope"))
def test_an_envelope_is_refused(case: dict[str, Any]) -> None:
    envelope = json.dumps(case["envelope"]).encode()
    with pytest.raises((DecodeError, SignatureError)):
        dsse.verify(envelope, payload_type=MANIFEST_TYPE, trusted=[REFUSALS["trust"]])
