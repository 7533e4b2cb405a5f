"""Quotas: how much waits, in all and of one collection."""

from __future__ import annotations

import pytest

from deniable_client import Outcome
from deniable_client._state import outbox
from support.builders.client_world import DAY, SETTINGS, MakeDevice, manifest

LONG = {"repeat": '"fresh"', "epsilon": '"0.01"', "epsilon_lifetime": '"4"'}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MAX_WAITING", 6)
    monkeypatch.setattr(outbox, "MAX_WAITING_HERE", 3)


def test_one_collection_leaves_room_for_others(make_device: MakeDevice) -> None:
    often = manifest("often", epoch='"1h"', grace='"2d"', **LONG)
    device = make_device(often, manifest("rare"))
    client = device.granted()
    outcomes = []
    for _ in range(5):
        outcomes.append(client.record("often", SETTINGS))
        device.clock.advance(3_600)
    assert outcomes == ["queued"] * 3 + ["queue-full"] * 2
    assert client.record("rare", SETTINGS) is Outcome.QUEUED


def test_what_a_full_queue_refuses_costs_nothing_and_may_be_asked_again(
    make_device: MakeDevice,
) -> None:
    device = make_device(*(manifest(f"q{n}", epsilon='"0.1"') for n in range(7)))
    client = device.granted()
    outcomes = [client.record(f"q{n}", SETTINGS) for n in range(7)]
    assert outcomes == ["queued"] * 6 + ["queue-full"]
    before = client.budget().spent.exact
    client.flush(early=True)
    assert client.record("q6", SETTINGS) is Outcome.QUEUED
    assert client.budget().spent.exact - before == manifest("q6", epsilon='"0.1"').epsilon_report


def test_rows_whose_epoch_has_closed_make_room_without_an_upload(make_device: MakeDevice) -> None:
    device = make_device(manifest("often", grace='"0s"', **LONG))
    client = device.granted()
    outcomes = []
    for _ in range(12):
        outcomes.append(client.record("often", SETTINGS))
        device.clock.advance(DAY)
    assert set(outcomes) == {Outcome.QUEUED}
    assert device.transport.requests == []
