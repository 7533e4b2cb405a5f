"""Suites: the strongest that both ends can do; what was tossed before a rotation stays as it is."""

from __future__ import annotations

import pytest

from deniable_client import Reply, TransportError
from deniable_shared.wire.envelope import SEALED_BYTES, suites
from support.builders.client_world import SETTINGS, Device, nothing
from support.doubles.older_cryptography import without_hybrid

hybrid = pytest.mark.skipif(2 not in suites(), reason="this cryptography has no suite 2")


def offer(device: Device, *offered: tuple[int, int]) -> None:
    """Active keys of these (id, suite)."""
    operator = device.aggregator.operator
    keys = [operator.new_key(key_id, suite=suite) for key_id, suite in offered]
    device.aggregator.publish(*keys)


def sent_with(device: Device) -> list[int]:
    return [each.report.header.key_id for each in device.aggregator.received]


@hybrid
def test_the_hybrid_is_chosen_where_it_is_offered(device: Device) -> None:
    offer(device, (4, 2), (5, 1))
    client = device.granted()
    client.record("settings", SETTINGS)
    assert client.flush(early=True).accepted == 1
    assert sent_with(device) == [4]
    (sent,) = client.explain().reports
    assert sent.request_bytes == 91 + SEALED_BYTES[2]


@hybrid
def test_an_older_cryptography_takes_the_suite_it_has(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(device, (4, 2), (5, 1))
    client = device.granted()
    client.record("settings", SETTINGS)
    without_hybrid(monkeypatch)
    assert client.flush(early=True).accepted == 1
    assert sent_with(device) == [5]


@hybrid
def test_a_list_of_suites_that_nobody_here_knows_keeps_the_report(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(device, (4, 2))
    client = device.granted()
    client.record("settings", SETTINGS)
    without_hybrid(monkeypatch)
    result = client.flush(early=True)
    assert (result.sent, result.waiting) == (0, 1)
    assert "suite" in str(result.problems[0])


@pytest.mark.parametrize("suite", suites())
@pytest.mark.parametrize("lost", [nothing(503), TransportError("reply lost")])
def test_sealed_before_a_rotation_is_sealed_again_byte_identical_inside(
    device: Device, suite: int, lost: Reply | TransportError
) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.aggregator.script.append(lost)
    client.flush(early=True)
    device.aggregator.rotate(2, suite=suite)
    device.aggregator.script.append(0x0B)
    assert client.flush(early=True).accepted == 1
    first, again, last = device.aggregator.received
    assert sent_with(device) == [1, 1, 2]
    assert first.payload == again.payload == last.payload
    assert first.report.header.report_id == last.report.header.report_id
    assert first.report.header.epoch == last.report.header.epoch
    assert first.report.sealed != last.report.sealed
