"""A client in another hand against a real service: it is believed, opened and counted."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable_aggregator.collections.registry import Collection
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import MEDIA_TYPE
from reference_client import documents, uploading
from reference_client.documents import Manifest
from reference_client.uploading import Question
from support.builders import api_world
from support.builders.api_world import DAY, TODAY, World, authored
from support.tiers import by_tier

pytestmark = pytest.mark.slow

REPORTS = by_tier(4, 20)
MEMOIZED = 'repeat = "memoized"\nepsilon_permanent = "4"\nhold_epochs = 30\nlinkable = true\n'
VOUCHED = 'requires = ["voucher/1"]\n'
CHOICE = {"type": "choice", "labels": ("red", "green", "blue")}
KINDS: dict[str, tuple[dict[str, Any], Any]] = {
    "bits, once": ({}, {"dark_mode": True, "beta": False}),
    "bits, memoized": ({"more": MEMOIZED}, {"dark_mode": True, "beta": False}),
    "sampled bits": ({"more": 'mechanism = "rr-sampled/1"\n'}, {"dark_mode": True, "beta": False}),
    "choice": ({**CHOICE, "more": 'mechanism = "grr/1"\n'}, "green"),
    "choice, memoized": ({**CHOICE, "more": MEMOIZED + 'mechanism = "grr/1"\n'}, "green"),
}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[World]:
    with api_world.opened(tmp_path) as opened:
        yield opened


@dataclass
class Installation:
    """What a device needs: an operator it trusts and the documents it fetched."""

    world: World
    question: Question
    key: documents.Json

    @classmethod
    def of(cls, service: World, collection: Collection) -> Installation:
        trust = service.running.keys.trust
        signed = service.get(f"/v1/collections/{collection.id}/manifest", None).get_json(force=True)
        body = documents.opened(signed, documents.MANIFEST, trust)
        listed = documents.keys(service.get("/v1/keys", None).get_json(force=True), trust)
        [key] = [key for key in listed if key["state"] == "active"]
        return cls(service, Question(Manifest(body)), key)

    def payload(self, value: Any) -> bytes:
        hold_key, epoch_key = secrets.token_bytes(32), secrets.token_bytes(32)
        answer, permanent = self.question.answer(value, hold_key, hold=0)
        if self.question.manifest.document["repeat"] == "once":
            return permanent
        return self.question.renewed(answer, permanent, epoch_key, TODAY)

    def vouched(self, payload: bytes, *, person: str = "ana", epoch: int = TODAY) -> bytes:
        """One sealed report of a fresh id, with the voucher of a person for an epoch."""
        collection = self.question.manifest.collection
        key = self.world.running.voucher_keys.of(collection, epoch)
        voucher = uploading.voucher(key, collection, epoch, person.encode())
        return self.body(payload, extensions=uploading.extension(1, voucher))

    def body(self, payload: bytes, *, extensions: bytes = b"", **header: int) -> bytes:
        """One sealed report of a fresh id; `header` replaces its fields."""
        manifest = self.question.manifest
        fields = {"epoch": TODAY, "version": 1, "key_id": self.key["id"]} | header
        identifier = uploading.report_id(secrets.token_bytes(32), manifest.collection, TODAY)
        head = uploading.header(identifier, **fields)
        recipient = documents.public_key(self.key["public_key"])
        return uploading.report(
            manifest, head, payload, recipient, secrets.token_bytes(32), extensions=extensions
        )

    def send(self, body: bytes, role: str | None = None) -> list[tuple[bytes, int]]:
        address = f"/v1/collections/{self.question.manifest.collection}/reports"
        answer = self.world.send("POST", address, role, data=body, content_type=MEDIA_TYPE)
        assert answer.status_code == 200, answer.get_data(as_text=True)
        return uploading.refusals(answer.data)


def installed(service: World, **fields: Any) -> Installation:
    return Installation.of(service, service.register(authored(**fields)))


@pytest.mark.deeper
@pytest.mark.parametrize("kind", KINDS)
def test_its_reports_are_counted_to_the_last_integer(service: World, kind: str) -> None:
    fields, value = KINDS[kind]
    collection = service.register(authored(**fields))
    device = Installation.of(service, collection)
    payloads = [device.payload(value) for _ in range(REPORTS)]
    for payload in payloads:
        assert device.send(device.body(payload)) == []
    [row] = service.running.store.tallies(collection.id, 0, 2**32)
    rows = np.frombuffer(b"".join(payloads), np.uint8).reshape(REPORTS, -1)
    assert row.n == REPORTS
    assert np.array_equal(row.tally, collection.estimator.tally(rows))


def test_the_same_report_twice_is_counted_once(service: World) -> None:
    device = installed(service)
    body = device.body(b"\x80")
    assert device.send(body) == device.send(body) == []
    assert service.running.store.tallies(device.question.manifest.collection, 0, 2**32)[0].n == 1


REFUSED: dict[ReportError, Callable[[Installation], bytes]] = {
    ReportError.CANNOT_OPEN: lambda device: device.body(b"\x80")[:-1] + b"\x00",
    ReportError.INVALID_MESSAGE: lambda device: device.body(b"\x81"),
    ReportError.TOO_EARLY: lambda device: device.body(b"\x80", epoch=TODAY + 3),
    ReportError.NOT_STARTED: lambda device: device.body(b"\x80", epoch=1),
    ReportError.OUTDATED_KEY: lambda device: device.body(b"\x80", key_id=200),
    ReportError.MANIFEST_UNKNOWN: lambda device: device.body(b"\x80", version=9),
    ReportError.TOKEN_REQUIRED: lambda device: device.body(b"\x80") + device.body(b"\x80"),
    ReportError.UNKNOWN_EXTENSION: lambda device: extended(device.body(b"\x80")),
    # the epoch that the others are for ends with the first of these, the collection with the second
    ReportError.EPOCH_CLOSED: lambda device: closed(device),
    ReportError.COLLECTION_EXPIRED: lambda device: late(device),
}
VOUCHED_REFUSED: dict[ReportError, Callable[[Installation], bytes]] = {
    ReportError.VOUCHER_REQUIRED: lambda device: device.body(b"\x80"),
    ReportError.VOUCHER_INVALID: lambda device: device.vouched(b"\x80", epoch=TODAY + 1),
    ReportError.VOUCHER_SPENT: lambda device: device.vouched(b"\x80", person="eve"),
    ReportError.UNKNOWN_EXTENSION: lambda device: device.body(
        b"\x80", extensions=uploading.extension(2, bytes(32))
    ),
    ReportError.INVALID_MESSAGE: lambda device: device.vouched(b"\x81"),
}


def extended(body: bytes) -> bytes:
    """The same report with an extension of type 9 in its header."""
    return body[:23] + bytes.fromhex("000400090000") + body[25:]


def late(device: Installation) -> bytes:
    """A report of the day after the last one, sent a minute before midnight."""
    after = datetime.fromisoformat(f"{device.question.manifest.document['expires']}T00:00Z")
    device.world.clock.now = after.timestamp() - 60
    return device.body(b"\x80", epoch=int(after.timestamp()) // DAY)


def closed(device: Installation) -> bytes:
    device.world.running.store.close_epoch(
        device.question.manifest.collection, TODAY, 0.0, audit=None
    )
    return device.body(b"\x80")


def test_each_refusal_names_the_report_and_the_code(service: World) -> None:
    device = installed(service)
    answers, expected = {}, {}
    for error, made in REFUSED.items():
        body = made(device)
        refused = device.send(body)
        answers[error] = (refused[0][0], {code for _, code in refused})
        expected[error] = (body[:16], {int(error)})
    assert answers == expected
    assert not service.running.store.tallies(device.question.manifest.collection, 0, 2**32)


def test_each_refusal_of_a_collection_that_wants_vouchers(service: World) -> None:
    device = installed(service, more=VOUCHED)
    collection = device.question.manifest.collection
    assert device.send(device.vouched(b"\x80", person="eve")) == []
    answers, expected = {}, {}
    for error, made in VOUCHED_REFUSED.items():
        body = made(device)
        answers[error] = device.send(body)
        expected[error] = [(body[:16], int(error))]
    assert answers == expected
    assert service.running.store.tallies(collection, 0, 2**32)[0].n == 1
    assert service.running.store.rejections(collection) == {
        error.slug: 1 for error in VOUCHED_REFUSED
    }


def test_a_person_counts_once_an_epoch_whatever_is_sent_again(service: World) -> None:
    device = installed(service, more=VOUCHED)
    first, second = device.vouched(b"\x80"), device.vouched(b"\x80")
    answers = [device.send(body) for body in (first, first, second, second, first)]
    spent = [(second[:16], int(ReportError.VOUCHER_SPENT))]
    assert answers == [[], [], spent, spent, []]
    assert service.running.store.tallies(device.question.manifest.collection, 0, 2**32)[0].n == 1


def test_a_relays_reports_are_redeemed_one_by_one(service: World) -> None:
    device = installed(service, more=VOUCHED)
    people = ["ana", "eve", "ana", "kim"]
    bodies = [device.vouched(b"\x80", person=person) for person in people]
    refused = device.send(b"".join(bodies), role="relay")
    assert refused == [(bodies[2][:16], int(ReportError.VOUCHER_SPENT))]
    assert service.running.store.tallies(device.question.manifest.collection, 0, 2**32)[0].n == 3


def test_a_voucher_is_refused_where_none_is_required(service: World) -> None:
    device = installed(service)
    body = device.vouched(b"\x80")
    assert device.send(body) == [(body[:16], int(ReportError.UNKNOWN_EXTENSION))]


def test_a_voucher_in_the_header_is_no_voucher(service: World) -> None:
    device = installed(service, more=VOUCHED)
    body = extended(device.vouched(b"\x80"))
    assert device.send(body) == [(body[:16], int(ReportError.UNKNOWN_EXTENSION))]


def test_the_voucher_of_another_collection_is_none(service: World) -> None:
    here, there = installed(service, more=VOUCHED), installed(service, name="other", more=VOUCHED)
    key = service.running.voucher_keys.of(there.question.manifest.collection, TODAY)
    voucher = uploading.voucher(key, here.question.manifest.collection, TODAY, b"ana")
    body = here.body(b"\x80", extensions=uploading.extension(1, voucher))
    assert here.send(body) == [(body[:16], int(ReportError.VOUCHER_INVALID))]


def test_every_code_has_a_case_here() -> None:
    cases = set(REFUSED) | set(VOUCHED_REFUSED) | {ReportError.TOKEN_INVALID}
    assert cases == set(ReportError)


def test_a_token_that_is_no_relays_is_refused(service: World) -> None:
    device = installed(service)
    refused = device.send(device.body(b"\x80"), role="viewer")
    assert Counter(code for _, code in refused) == {int(ReportError.TOKEN_INVALID): 1}


def test_a_list_of_keys_that_another_operator_signed_is_not_believed(service: World) -> None:
    listed = json.loads(service.get("/v1/keys", None).data)
    with pytest.raises(documents.RefusedError):
        documents.keys(listed, "ed25519:" + "A" * 43)
