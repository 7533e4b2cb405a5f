"""`repeat = "fresh"`: a toss an epoch, as many days of the calendar as the lifetime pays."""

from __future__ import annotations

import pytest

from deniable_client import Ceiling, Client, Outcome
from support.builders.client_world import DAY, OTHER, SETTINGS, Device, MakeDevice, manifest

THREE = manifest(repeat='"fresh"', epsilon_lifetime='"3"')


@pytest.fixture
def fresh(make_device: MakeDevice) -> Device:
    """A device whose question may be answered on three days, for 1 each."""
    return make_device(THREE)


def days(client: Client, device: Device, count: int) -> list[Outcome]:
    """What one answer a day comes to."""
    outcomes = []
    for _ in range(count):
        outcomes.append(client.record("settings", SETTINGS))
        device.clock.advance(DAY)
    return outcomes


def test_each_epoch_is_a_toss_and_a_charge_until_the_lifetime_is_spent(fresh: Device) -> None:
    client = fresh.granted()
    assert days(client, fresh, 5) == ["queued"] * 3 + ["budget-exhausted"] * 2
    assert client.budget().spent == 3


def test_an_epoch_has_one_answer(fresh: Device) -> None:
    client = fresh.granted()
    assert client.record("settings", SETTINGS) is Outcome.QUEUED
    assert client.record("settings", OTHER) is Outcome.ALREADY_ANSWERED
    assert client.budget().spent == 1


def test_the_calendar_counts_days_of_silence_too(fresh: Device) -> None:
    client = fresh.granted()
    client.record("settings", SETTINGS)
    fresh.clock.advance(2 * DAY)
    assert client.record("settings", SETTINGS) is Outcome.QUEUED
    fresh.clock.advance(DAY)
    assert client.record("settings", SETTINGS) is Outcome.BUDGET_EXHAUSTED
    assert client.budget().left == 6


def test_the_calendar_begins_with_the_first_answer(fresh: Device) -> None:
    client = fresh.granted()
    fresh.clock.advance(100 * DAY)
    assert days(client, fresh, 4) == ["queued"] * 3 + ["budget-exhausted"]


def test_a_lower_ceiling_shortens_the_calendar(fresh: Device) -> None:
    client = fresh.granted(ceiling=Ceiling(1, 1, 2))
    assert days(client, fresh, 3) == ["queued", "queued", "budget-exhausted"]
    assert client.budget().spent == 2


def test_the_ceiling_of_the_app_ends_it_earlier(make_device: MakeDevice) -> None:
    device = make_device(THREE, manifest("other"))
    client = device.granted(ceiling=Ceiling(1, 1, 3))
    assert client.record("other", SETTINGS) is Outcome.QUEUED
    assert days(client, device, 3) == ["queued", "queued", "budget-exhausted"]


@pytest.mark.parametrize("back", [1, 2, 300])
def test_a_clock_that_goes_back_finds_its_epochs_settled(fresh: Device, back: int) -> None:
    client = fresh.granted()
    days(client, fresh, 2)
    fresh.clock.advance(-back * DAY)
    outcome = client.record("settings", OTHER)
    assert outcome in (Outcome.ALREADY_ANSWERED, Outcome.UNKNOWN_COLLECTION)
    assert client.budget().spent == 2


def test_a_new_grant_gets_the_rest_of_the_calendar_and_no_day_twice(fresh: Device) -> None:
    client = fresh.granted()
    client.record("settings", SETTINGS)
    client.consent("denied")
    client.consent("granted")
    assert client.record("settings", OTHER) is Outcome.ALREADY_ANSWERED
    fresh.clock.advance(DAY)
    assert days(client, fresh, 3) == ["queued", "queued", "budget-exhausted"]


def test_every_report_has_an_id_of_its_own(fresh: Device) -> None:
    client = fresh.granted()
    for _ in range(3):
        client.record("settings", SETTINGS)
        client.flush(early=True)
        fresh.clock.advance(DAY)
    ids = {each.report.header.report_id for each in fresh.aggregator.received}
    epochs = [each.report.header.epoch for each in fresh.aggregator.received]
    assert len(ids) == 3
    assert epochs == list(range(epochs[0], epochs[0] + 3))
