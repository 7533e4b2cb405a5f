"""Vouchers of a service: the key of a backend, issuing here, and the public notice."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from deniable_aggregator.cli import main
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.ingest.extensions import Verifier, VoucherVerifier, checked_serial
from deniable_aggregator.keys.vouchers import VoucherKeys
from deniable_shared.wire.extensions import EXTENSIONS
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import Extension
from deniable_shared.wire.voucher import decode_voucher, issue, parse_key, serial_of
from support.builders import api_world
from support.builders.api_world import TODAY, World, authored

VOUCHED = 'requires = ["voucher/1"]\n'
JSON = "application/json"
REQUIRED = ("voucher/1",)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[World]:
    with api_world.opened(tmp_path) as opened:
        yield opened


@pytest.fixture
def collection(service: World) -> Collection:
    return service.register(authored("survey", more=VOUCHED))


def asked(service: World, address: str, role: str = "admin", **body: object) -> tuple[int, object]:
    answer = service.send("POST", address, role, data=json.dumps(body), content_type=JSON)
    return answer.status_code, answer.get_json()


def key_of(service: World, collection: Collection) -> str:
    document = service.send("POST", f"/v1/collections/{collection.id}/voucher-key").get_json()
    assert document.keys() == {"collection", "key", "first", "next"}
    assert (document["first"], document["next"]) == (0, None)
    return str(document["key"])


def test_a_backend_with_the_key_issues_what_the_service_takes(
    service: World, collection: Collection
) -> None:
    text = issue(key_of(service, collection), collection=collection.id, epoch=TODAY, person="1042")
    data = (Extension(1, decode_voucher(text)),)
    verifiers = {"voucher/1": VoucherVerifier(service.running.voucher_keys.of)}
    found = checked_serial(data, REQUIRED, verifiers, collection=collection.id, epoch=TODAY)
    assert found == decode_voucher(text)[:16]


def test_the_service_issues_what_a_backend_would(service: World, collection: Collection) -> None:
    address = f"/v1/collections/{collection.name}/vouchers"
    status, document = asked(service, address, person="1042", epoch=TODAY - 1)
    voucher = issue(
        key_of(service, collection), collection=collection.id, epoch=TODAY - 1, person="1042"
    )
    assert (status, document) == (
        200,
        {"collection": collection.id, "epoch": TODAY - 1, "voucher": voucher},
    )
    _, present = asked(service, address, person="1042")
    assert isinstance(present, dict)
    assert present["epoch"] == TODAY


NOBODY: list[dict[str, Any]] = [
    *({}, {"person": ""}, {"person": "p" * 257}, {"person": "ä" * 129}, {"person": 7}),
    *({"person": "1042", "epoch": -1}, {"person": "1042", "epoch": 2**32}, {"name": "1042"}),
]


def test_nobody_and_no_epoch_gets_no_voucher(service: World, collection: Collection) -> None:
    for body in NOBODY:
        status, document = asked(service, f"/v1/collections/{collection.id}/vouchers", **body)
        assert isinstance(document, dict), body
        assert (status, document["type"]) == (400, "urn:deniable:problem:invalid-argument"), body


@pytest.mark.slow
def test_a_collection_that_wants_no_vouchers_has_none(service: World) -> None:
    plain = service.register(authored())
    for operation, body in {"voucher-key": {}, "vouchers": {"person": "1042"}}.items():
        status, document = asked(service, f"/v1/collections/{plain.id}/{operation}", **body)
        assert isinstance(document, dict), operation
        assert status == 409, operation
        assert 'requires = ["voucher/1"]' in document["detail"], operation


def test_showing_a_key_is_an_act_and_issuing_is_none(
    service: World, collection: Collection
) -> None:
    size, _ = service.running.store.audit_head()
    key = key_of(service, collection)
    asked(service, f"/v1/collections/{collection.id}/vouchers", person="1042")
    [row] = service.running.store.audit(size)
    entry = json.loads(row.entry)
    assert (entry["act"], entry["details"]) == ("voucher-key-shown", {"collection": collection.id})
    assert key.encode() not in row.entry


def test_keys_of_collections_differ_and_outlive_a_restart(
    service: World, collection: Collection
) -> None:
    other = service.register(authored("other", more=VOUCHED))
    keys = VoucherKeys.open(service.running.settings.data / "keys")
    shown = [parse_key(key_of(service, each)) for each in (collection, other)]
    assert [keys.of(each.id, TODAY) for each in (collection, other)] == shown
    assert shown[0] != shown[1]


def test_the_secret_is_made_once_and_nobody_elses_to_read(tmp_path: Path) -> None:
    first = VoucherKeys.open(tmp_path).of("survey-4kqz0m", TODAY)
    [path] = tmp_path.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert VoucherKeys.open(tmp_path).of("survey-4kqz0m", TODAY) == first
    path.unlink()
    assert VoucherKeys.open(tmp_path).of("survey-4kqz0m", TODAY) != first


@pytest.mark.slow
def test_everybody_is_told_which_collections_are_identified(
    service: World, collection: Collection
) -> None:
    service.register(authored())
    rows = service.get("/v1/collections", None).get_json()["collections"]
    result = {row["name"]: (row["requires"], row["identified"]) for row in rows}
    assert result == {"settings": ([], False), "survey": (["voucher/1"], True)}
    page = service.get("/", None).get_data(as_text=True)
    assert page.count(">identified</span>") == 1


@pytest.mark.slow
def test_the_commands_print_key_and_voucher_and_say_identified(
    service: World, collection: Collection, tmp_path: Path
) -> None:
    epoch, key = TODAY, key_of(service, collection)
    data = service.running.settings.data
    service.running.close()
    shown = CliRunner().invoke(main, ["keys", "vouchers", "show", "survey", "--data", str(data)])
    assert (shown.exit_code, shown.stdout) == (0, f"{key}\n")
    issued = CliRunner().invoke(
        main,
        [
            *("keys", "vouchers", "issue", "survey", "--person", "1042"),
            *("--epoch", str(epoch), "--data", str(data)),
        ],
    )
    text = issue(key, collection=collection.id, epoch=epoch, person="1042")
    assert (issued.exit_code, issued.stdout) == (0, f"{text}\n")
    listed = CliRunner().invoke(main, ["collections", "list", "--data", str(data)])
    assert f"{collection.id} is identified: every report shows whose it is." in listed.stdout


class Odd:
    """A further kind of extension: its serial is its data, if that is of odd length."""

    missing = ReportError.VOUCHER_REQUIRED
    invalid = ReportError.VOUCHER_INVALID

    def serial(self, data: bytes, *, collection: str, epoch: int) -> bytes | None:
        return data if len(data) % 2 else None


@pytest.mark.parametrize(
    ("given", "required", "expected"),
    [
        ((), (), None),
        ((Extension(1, b"odd"),), REQUIRED, b"odd"),
        ((Extension(1, b"even"),), REQUIRED, ReportError.VOUCHER_INVALID),
        ((), REQUIRED, ReportError.VOUCHER_REQUIRED),
        ((Extension(1, b"odd"),), (), ReportError.UNKNOWN_EXTENSION),
        ((Extension(1, b"odd"), Extension(2, b"odd")), REQUIRED, ReportError.UNKNOWN_EXTENSION),
        ((Extension(2, b"odd"),), REQUIRED, ReportError.UNKNOWN_EXTENSION),
    ],
)
def test_a_report_carries_what_is_required_and_nothing_else(
    given: tuple[Extension, ...], required: tuple[str, ...], expected: object
) -> None:
    verifiers: dict[str, Verifier] = {"voucher/1": Odd()}
    found = checked_serial(given, required, verifiers, collection="survey-4kqz0m", epoch=TODAY)
    assert found == expected


def test_every_extension_there_is_has_a_verifier(service: World) -> None:
    assert service.running.ingest._verifiers.keys() == EXTENSIONS.keys()


@pytest.mark.slow
def test_a_key_shows_who_sent_a_voucher_which_is_why_nobody_is_anonymous(
    service: World, collection: Collection
) -> None:
    key = parse_key(key_of(service, collection))
    _, answer = asked(service, f"/v1/collections/{collection.id}/vouchers", person="1042")
    seen = decode_voucher(str(answer["voucher"]))  # type: ignore[index]  # a document has values of many types
    assert serial_of(key, seen, collection=collection.id, epoch=TODAY) == seen[:16]
    people = {
        decode_voucher(
            issue(
                key_of(service, collection),
                collection=collection.id,
                epoch=TODAY,
                person=str(number),
            )
        )[:16]: number
        for number in range(1_000, 1_100)
    }
    assert people[seen[:16]] == 1_042
