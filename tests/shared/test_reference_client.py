"""The vectors again, by a client written from PROTOCOL.md alone, with the standard library.

Where it and `deniable_shared` disagree, the page is unclear or one of the two is wrong.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable_shared.wire import dsse
from reference_client import curves, documents, sealing, tossing, uploading
from support.builders.client_world import Operator, manifest
from support.oracles.memoized_walkthrough import EPOCH as MEMOIZED_EPOCH
from support.oracles.memoized_walkthrough import EPOCH_KEY, memoized_walkthrough
from support.oracles.protocol_walkthrough import (
    EPHEMERAL_KEY,
    EPOCH,
    INSTALLATION_KEY,
    KEY_ID,
    MANIFEST_VERSION,
    PRIVATE_KEY,
    VALUE,
    walkthrough,
)
from support.oracles.vectors import vectors
from support.tiers import grid

VECTORS = Path(__file__).parents[1] / "vectors"
SOURCE = Path(__file__).parents[1] / "reference_client"
unhex = bytes.fromhex


def file(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((VECTORS / name).read_text())
    return document


def named(cases: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in cases]


def test_it_needs_nothing_but_the_standard_library() -> None:
    trees = [ast.parse(path.read_text()) for path in SOURCE.glob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    modules = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    modules += [each.name for node in nodes if isinstance(node, ast.Import) for each in node.names]
    assert len(trees) == 5
    assert {name.split(".")[0] for name in modules} <= sys.stdlib_module_names | {SOURCE.name}


@pytest.mark.parametrize("case", named(file("coins.json")["streams"]))
def test_its_streams_are_the_published_ones(case: dict[str, Any]) -> None:
    seed = tossing.lp(unhex(case["key"]), *map(unhex, case["labels"]))
    wanted = unhex(case["stream"])
    read = tossing.Stream(seed).bits(8 * len(wanted))
    assert read.to_bytes(len(wanted), "big") == wanted


@pytest.mark.parametrize("case", named(file("coins.json")["draws"]))
def test_it_reads_a_stream_as_published(case: dict[str, Any]) -> None:
    stream = tossing.Stream(tossing.lp(unhex(case["key"])))
    for read in case["reads"]:
        assert drawn(stream, read) == int(read["result"], 16), read


def drawn(stream: tossing.Stream, read: dict[str, Any]) -> int:
    if read["read"] == "bits":
        return stream.bits(read["count"])
    if read["read"] == "below":
        return stream.below(int(read["bound"]))
    threshold = int(read["threshold"], 16)
    if read["read"] == "bernoulli":
        return int(stream.bits(64) < threshold)
    lanes = stream.bernoulli(threshold, read["length"])
    return int("".join(map(str, lanes)) or "0", 2)


@pytest.mark.parametrize("case", named(vectors("manifests.json")))
def test_it_computes_identity_digest_and_integers(case: dict[str, Any]) -> None:
    read = documents.Manifest(case["body"].encode())
    assert (read.identity.hex(), read.digest.hex()) == (case["identity"], case["digest"])
    assert read.collection == case["collection"]


@pytest.mark.parametrize("field", ["threshold", "epsilon", "collection"])
def test_it_refuses_a_manifest_whose_integers_or_id_do_not_follow(field: str) -> None:
    body = vectors("manifests.json")[0]["body"]
    document = json.loads(body)
    if field == "threshold":
        document["mechanism"]["threshold"] = "0x9f597ea69a1c85f2"
    elif field == "epsilon":
        document["epsilon"]["report"] = "1.000001"
    else:
        document["collection"] = "settings-qgd4v5"
    with pytest.raises(documents.RefusedError):
        documents.Manifest(documents.canonical(document))


@pytest.mark.parametrize("case", named(vectors("moves.json")))
def test_it_sends_where_app_and_version_agree(case: dict[str, Any]) -> None:
    places = [uploading.place(case["addresses"], case["ingest"], attempt) for attempt in range(4)]
    assert places == (case["attempts"] or [None] * 4)


@pytest.mark.parametrize("case", named(file("payloads.json")["rr/1"]))
def test_it_randomizes_bits_as_published(case: dict[str, Any]) -> None:
    seed = tossing.lp(
        unhex(case["key"]), *map(unhex, case["labels"]), tossing.packed(case["value"])
    )
    flipped = tossing.rr(case["value"], int(case["threshold"], 16), tossing.Stream(seed))
    assert tossing.packed(flipped).hex() == case["payload"]


@pytest.mark.parametrize("case", named(file("payloads.json")["grr/1"]))
def test_it_randomizes_choices_as_published(case: dict[str, Any]) -> None:
    labels = case["domain"]["labels"]
    value, last = case["value"], len(labels) - 1
    index = value if isinstance(value, int) else labels.index(value)
    keyed = tossing.integer(index, last)
    seed = tossing.lp(unhex(case["key"]), *map(unhex, case["labels"]), keyed)
    result = tossing.grr(index, len(labels), int(case["threshold"], 16), tossing.Stream(seed))
    assert tossing.integer(result, last).hex() == case["payload"]


CHAINS = file("chains.json")


@pytest.mark.parametrize("case", named(CHAINS["chains"]))
def test_it_makes_and_renews_permanent_answers_as_published(case: dict[str, Any]) -> None:
    permanent, keep = (int(case[f"{name}_threshold"], 16) for name in ("permanent", "renewal"))
    result, answer = first_round(case, permanent)
    assert answer.hex() == case["answer"]
    for epoch, report in enumerate(case["reports"]):
        assert second_round(case, result, keep, stream(answer, bytes((epoch,)))).hex() == report


def stream(*labels: bytes) -> tossing.Stream:
    fixed = [unhex(label) for label in CHAINS["labels"]]
    return tossing.Stream(tossing.lp(unhex(CHAINS["key"]), *fixed, *labels))


def public() -> tossing.Stream:
    fixed = [unhex(label) for label in CHAINS["labels"]]
    return tossing.Stream(tossing.lp(unhex(CHAINS["key"]), b"public", *fixed))


def first_round(case: dict[str, Any], threshold: int) -> tuple[Any, bytes]:
    if case["mechanism"] == "grr/1":
        index, size = case["yes"][0], case["domain"]["choices"]
        chosen = tossing.grr(index, size, threshold, stream(tossing.integer(index, size - 1)))
        return chosen, tossing.integer(chosen, size - 1)
    bits = [int(place in case["yes"]) for place in range(case["domain"]["bits"])]
    coins = stream(tossing.packed(bits))
    if case["mechanism"] == "rr/1":
        flipped = tossing.rr(bits, threshold, coins)
        return flipped, tossing.packed(flipped)
    pairs = tossing.rr_sampled(bits, case["sampled"], threshold, coins, public())
    return pairs, tossing.sampled_payload(pairs, len(bits))


def second_round(case: dict[str, Any], sent: Any, keep: int, coins: tossing.Stream) -> bytes:
    if case["mechanism"] == "grr/1":
        size = case["domain"]["choices"]
        return tossing.integer(tossing.grr_renewed(sent, size, keep, coins), size - 1)
    if case["mechanism"] == "rr/1":
        return tossing.packed(tossing.rr_renewed(sent, keep, coins))
    places, bits = zip(*sent, strict=True)
    renewed = tossing.rr_renewed(bits, keep, coins)
    return tossing.sampled_payload(list(zip(places, renewed, strict=True)), case["domain"]["bits"])


@pytest.mark.parametrize("case", named(vectors("envelope.json")))
def test_it_seals_as_published(case: dict[str, Any]) -> None:
    names = ("ephemeral_private_key", "public_key", "info", "plaintext")
    assert sealing.seal(*(unhex(case[name]) for name in names)).hex() == case["sealed"]
    assert curves.x25519(unhex(case["private_key"])).hex() == case["public_key"]


@pytest.mark.parametrize(
    "case", [c for c in vectors("headers.json") if not c["fields"]["extensions"]]
)
def test_it_writes_headers_as_published(case: dict[str, Any]) -> None:
    fields = case["fields"]
    numbers = (fields["epoch"], fields["manifest_version"], fields["key_id"])
    written = uploading.header(unhex(fields["report_id"]), *numbers)
    assert written.hex() == case["hex"]


def test_it_makes_the_report_of_the_protocols_walk() -> None:
    walk = walkthrough()
    question = uploading.Question(documents.Manifest(walk.manifest.body))
    _, payload = question.answer(VALUE, INSTALLATION_KEY, hold=0)
    identifier = uploading.report_id(INSTALLATION_KEY, question.manifest.collection, EPOCH)
    head = uploading.header(identifier, EPOCH, MANIFEST_VERSION, KEY_ID)
    recipient = curves.x25519(PRIVATE_KEY)
    body = uploading.report(question.manifest, head, payload, recipient, EPHEMERAL_KEY)
    assert payload == walk.payload
    assert body == walk.blocks["upload"]
    assert uploading.refusals(walk.blocks["errors"]) == [(identifier, 1)]


def test_it_makes_the_memoized_report_of_the_protocols_walk() -> None:
    walk = memoized_walkthrough()
    question = uploading.Question(documents.Manifest(walk.manifest.body))
    result, answer = question.answer(VALUE, INSTALLATION_KEY, hold=1)
    renewed = question.renewed(result, answer, EPOCH_KEY, MEMOIZED_EPOCH)
    assert (answer, renewed) == (walk.permanent, walk.payload)


def test_it_believes_what_the_operator_signed_and_nothing_else() -> None:
    operator = Operator()
    envelope = json.loads(operator.sign(manifest()))
    body = documents.opened(envelope, documents.MANIFEST, operator.trust)
    assert documents.Manifest(body).collection == manifest().collection
    for trust, kind in ((Operator().trust, documents.MANIFEST), (operator.trust, documents.KEYS)):
        with pytest.raises(documents.RefusedError):
            documents.opened(envelope, kind, trust)


@pytest.mark.slow
@pytest.mark.parametrize("place", grid([0, 31, 32, 63], by_default=[31, 32]))
def test_it_refuses_a_signature_with_another_bit(place: int) -> None:
    seed = dsse.generate_key()
    public = documents.public_key(dsse.public_key(seed))
    signature = Ed25519PrivateKey.from_private_bytes(seed).sign(b"message")
    assert curves.verifies(public, b"message", signature)
    other = bytes(byte ^ (at == place) for at, byte in enumerate(signature))
    assert not curves.verifies(public, b"message", other)
    assert not curves.verifies(public, b"massage", signature)


def test_the_page_for_other_languages_names_all_vectors_and_client_files() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "your-language.md").read_text()
    named = set(re.findall(r"`([a-z_]+\.(?:json|py))`", page))
    assert named == {path.name for path in [*VECTORS.glob("*.json"), *SOURCE.glob("*.py")]}
    lines = sum(len(path.read_text().splitlines()) for path in SOURCE.glob("*.py"))
    assert "fewer than 700" in page
    assert lines < 700
