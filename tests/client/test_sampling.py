"""Sampling: who is asked is tossed without the value, once a hold, before the charge."""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable_client import Outcome
from support.builders.client_world import DAY, OTHER, SETTINGS, Device, MakeDevice, manifest

HALF = {"sampling": '"0.5"', "epsilon": '"0.01"', "epsilon_lifetime": '"2"'}
ONCE = manifest(**HALF)
FRESH = manifest(repeat='"fresh"', **HALF)
HOLD = 4
MEMOIZED = manifest(repeat='"memoized"', hold_epochs=str(HOLD), **HALF)


def record_days(device: Device, days: int) -> list[Outcome]:
    """What one answer a day comes to."""
    outcomes = []
    for day in range(days):
        outcomes.append(device.clients[-1].record("settings", (SETTINGS, OTHER)[day % 2]))
        device.clock.advance(DAY)
    return outcomes


@pytest.mark.slow
def test_who_is_not_asked_once_is_never_asked_and_pays_nothing(make_device: MakeDevice) -> None:
    seen = set()
    for _ in range(40):  # a false alarm has a chance of 2e-12
        device = make_device(ONCE, path=":memory:")
        client = device.granted()
        outcomes = record_days(device, 3)
        assert (
            outcomes[1:]
            == [outcomes[0] if outcomes[0] == "not-sampled" else "already-answered"] * 2
        )
        assert client.budget().spent.exact == (outcomes[0] == "queued") * ONCE.epsilon_report
        seen.add(outcomes[0])
    assert seen == {"queued", "not-sampled"}


def test_each_epoch_of_fresh_is_drawn_anew(make_device: MakeDevice) -> None:
    device = make_device(FRESH)
    client = device.granted()
    outcomes = record_days(device, 60)
    assert set(outcomes) == {"queued", "not-sampled"}
    assert client.budget().spent.exact == outcomes.count(Outcome.QUEUED) * FRESH.epsilon_report


def test_the_same_epoch_is_not_drawn_twice(make_device: MakeDevice) -> None:
    device = make_device(FRESH)
    client = device.granted()
    for _ in range(20):
        first = client.record("settings", SETTINGS)
        again = client.record("settings", OTHER)
        assert again == ("not-sampled" if first == "not-sampled" else "already-answered")
        device.clock.advance(DAY)


def test_a_hold_is_drawn_whole(make_device: MakeDevice) -> None:
    device = make_device(MEMOIZED)
    device.clock.advance((-(device.clock() // DAY - MEMOIZED.first_epoch) % HOLD) * DAY)
    client = device.granted()
    outcomes = record_days(device, 40 * HOLD)
    holds = [tuple(outcomes[at : at + HOLD]) for at in range(0, len(outcomes), HOLD)]
    assert set(holds) == {("queued", *["held"] * (HOLD - 1)), ("not-sampled",) * HOLD}
    paid = sum(hold[0] == "queued" for hold in holds)
    assert client.budget().spent.exact == paid * (MEMOIZED.epsilon_permanent or 0)


@pytest.mark.parametrize("value", [SETTINGS, OTHER])
def test_a_restored_backup_is_asked_or_not_as_before(
    make_device: MakeDevice, value: object
) -> None:
    device = make_device(MEMOIZED)
    device.granted().close()
    backup, decisions = Path(device.path).read_bytes(), []
    for _ in range(6):
        client = device.open()
        decisions.append(client.record("settings", value) is Outcome.NOT_SAMPLED)
        client.close()
        Path(device.path).write_bytes(backup)
    assert len(set(decisions)) == 1


@pytest.mark.slow
def test_a_new_grant_does_not_draw_again(make_device: MakeDevice) -> None:
    for _ in range(12):
        device = make_device(MEMOIZED, path=":memory:")
        client = device.granted()
        first = client.record("settings", SETTINGS)
        client.consent("denied")
        client.consent("granted")
        again = client.record("settings", SETTINGS)
        assert again == ("not-sampled" if first == "not-sampled" else "already-answered")


@pytest.mark.statistical
def test_the_share_of_those_asked_is_the_manifest_s(make_device: MakeDevice) -> None:
    """4,000 draws of 0.1: 400 ± 19; more than 5 σ off has a chance below 1e-6."""
    tenth = manifest(repeat='"fresh"', sampling='"0.1"', epsilon='"0.01"', epsilon_lifetime='"20"')
    sampled_devices = 0
    for _ in range(20):
        device = make_device(tenth, path=":memory:")
        device.granted()
        sampled_devices += record_days(device, 200).count(Outcome.QUEUED)
    assert 305 <= sampled_devices <= 495
