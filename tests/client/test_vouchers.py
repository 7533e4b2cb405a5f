"""Vouchers on the device: fetched when a report leaves, sealed with it, kept nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deniable_client import ConfigurationError, Outcome, TransportError
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.voucher import decode_voucher, format_key, issue, parse_key, serial_of
from support.builders.client_world import (
    DAY,
    SETTINGS,
    Device,
    MakeDevice,
    manifest,
)

VOUCHED = manifest(requires='["voucher/1"]')
KEY = format_key(b"k" * 32)
QUARTER = 900


class Backend:
    """The app's own: issues Ana's vouchers, or does what `instead` says."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, int]] = []
        self.instead: Any = self.issue

    def issue(self, collection: str, epoch: int) -> str:
        return issue(KEY, collection=collection, epoch=epoch, person="ana")

    def __call__(self, collection: str, epoch: int) -> str | None:
        self.requests.append((collection, epoch))
        if isinstance(self.instead, Exception):
            raise self.instead
        given: str | None = (
            self.instead(collection, epoch) if callable(self.instead) else self.instead
        )
        return given


@pytest.fixture
def backend() -> Backend:
    return Backend()


@pytest.fixture
def device(make_device: MakeDevice, backend: Backend) -> Device:
    made = make_device(VOUCHED)
    made.vouchers = backend
    return made


def test_a_report_carries_the_voucher_of_its_collection_and_epoch(
    device: Device, backend: Backend
) -> None:
    client = device.granted()
    assert client.record("settings", SETTINGS) is Outcome.QUEUED
    assert backend.requests == []
    assert client.flush(early=True).accepted == 1
    [received] = device.aggregator.received
    epoch = received.report.header.epoch
    [extension] = received.plaintext.extensions
    assert backend.requests == [(VOUCHED.collection, epoch)]
    assert (extension.type, received.report.header.extensions) == (1, ())
    key = parse_key(KEY)
    assert serial_of(key, extension.data, collection=VOUCHED.collection, epoch=epoch) is not None


def test_a_report_without_a_voucher_waits_and_nothing_is_sent(
    device: Device, backend: Backend
) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    backend.instead = None
    result = client.flush(early=True)
    assert (result.sent, result.waiting, len(device.aggregator.received)) == (0, 1, 0)
    assert [str(each) for each in result.problems] == [
        f"{VOUCHED.collection}: there is no voucher yet"
    ]
    assert isinstance(result.problems[0], TransportError)
    backend.instead = backend.issue
    assert client.flush(early=True).accepted == 1


def test_a_waiting_report_is_asked_about_again_within_a_quarter_of_an_hour(
    device: Device, backend: Backend
) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    backend.instead = None
    device.clock.advance(1.9 * DAY)
    client.upload_due()
    requests_before = len(backend.requests)
    device.clock.advance(QUARTER)
    backend.instead = backend.issue
    assert client.upload_due().accepted == 1
    assert len(backend.requests) == requests_before + 1


@pytest.mark.parametrize(
    ("instead", "words"),
    [
        (OSError("no route to backend.example"), "vouchers failed with OSError"),
        (b"bytes", "vouchers must give a str or None, got bytes"),
        ("short", "a voucher must be 43 characters of base64url that spell 32 bytes"),
    ],
)
def test_whatever_the_apps_function_does_the_report_is_kept(
    device: Device, backend: Backend, instead: object, words: str
) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    backend.instead = instead
    result = client.flush(early=True)
    assert (result.sent, result.dropped, result.waiting) == (0, 0, 1)
    assert str(result.problems[0]).endswith(words)
    assert "backend.example" not in str(result.problems[0])


def test_a_retry_carries_the_same_report_with_the_voucher_asked_for_anew(
    device: Device, backend: Backend
) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.aggregator.script.append(int(ReportError.VOUCHER_INVALID))
    assert client.flush(early=True).waiting == 1
    device.clock.advance(6 * 3600)
    assert client.flush(early=True).accepted == 1
    first, second = device.aggregator.received
    assert first.plaintext == second.plaintext
    assert first.report.header.report_id == second.report.header.report_id


@pytest.mark.parametrize("code", [ReportError.VOUCHER_SPENT, ReportError.VOUCHER_REQUIRED])
def test_a_report_that_never_counts_is_dropped(device: Device, code: ReportError) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.aggregator.script.append(int(code))
    result = client.flush(early=True)
    assert (result.dropped, result.waiting) == (1, 0)
    assert client.record("settings", SETTINGS) is Outcome.ALREADY_ANSWERED


def test_a_new_key_seals_the_same_voucher_without_asking_again(
    device: Device, backend: Backend
) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    client.flush(0.0)
    device.aggregator.script.append(int(ReportError.OUTDATED_KEY))
    assert client.flush(early=True).accepted == 1
    assert len({each.plaintext for each in device.aggregator.received}) == 1
    assert len(backend.requests) == 1


def test_all_reports_of_a_collection_are_equally_long(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    client.flush(early=True)
    [received] = device.aggregator.received
    assert len(received.plaintext.encode(VOUCHED.plaintext_size)) == VOUCHED.plaintext_size == 64


def test_the_state_file_never_holds_a_voucher(
    make_device: MakeDevice, backend: Backend, tmp_path: Path
) -> None:
    device = make_device(VOUCHED, path=tmp_path / "state.db")
    device.vouchers = backend
    client = device.granted()
    client.record("settings", SETTINGS)
    device.aggregator.script.append(TransportError("connection refused"))
    client.flush(early=True)
    client.close()
    voucher = backend.issue(*backend.requests[0])
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert voucher.encode() not in kept
    assert decode_voucher(voucher) not in kept


def test_nobody_is_asked_without_consent(device: Device, backend: Backend) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    client.consent("denied")
    client.flush(early=True)
    assert backend.requests == []


def test_an_app_without_a_backend_cannot_ship_such_a_collection(make_device: MakeDevice) -> None:
    device = make_device(VOUCHED)
    with pytest.raises(ConfigurationError, match="requires voucher/1: give Client vouchers="):
        device.open()


def test_nor_does_it_take_one_that_is_fetched(make_device: MakeDevice) -> None:
    device = make_device(manifest("other"))
    device.aggregator.add(VOUCHED)
    client = device.granted()
    result = client.refresh(names=["settings"])
    assert "requires voucher/1" in str(result.problems[0])
    assert client.record("settings", SETTINGS) is Outcome.UNKNOWN_COLLECTION


def test_vouchers_must_be_a_function(device: Device) -> None:
    device.vouchers = "voucher"  # type: ignore[assignment]  # a wrong type is the point
    with pytest.raises(ConfigurationError, match=r"vouchers must be a function of .* got str"):
        device.open()


def test_a_person_is_told_that_reports_are_not_anonymous(device: Device) -> None:
    client = device.granted()
    [explanation] = client.explain().collections
    assert explanation.identified
    assert "the operator can see which report is yours" in explanation.text


def test_other_collections_carry_no_extension_and_ask_nobody(
    make_device: MakeDevice, backend: Backend
) -> None:
    device = make_device(manifest())
    device.vouchers = backend
    client = device.granted()
    client.record("settings", SETTINGS)
    assert client.flush(early=True).accepted == 1
    assert device.aggregator.received[0].plaintext.extensions == ()
    assert backend.requests == []
    assert "operator can tell" not in client.explain().text


def test_a_denial_while_the_voucher_is_fetched_stops_the_report(
    device: Device, backend: Backend
) -> None:
    client, other = device.granted(), device.open()
    client.record("settings", SETTINGS)

    def deny(collection: str, epoch: int) -> str:
        other.consent("denied")
        return backend.issue(collection, epoch)

    backend.instead = deny
    assert client.flush(early=True).sent == 0
    assert device.aggregator.received == []
