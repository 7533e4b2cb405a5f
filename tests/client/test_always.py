"""`presence = "always"`: a device that recorded nothing looks like one that did."""

from __future__ import annotations

from deniable_client import Outcome
from support.builders.client_world import DAY, SETTINGS, Device, MakeDevice, manifest

ALWAYS = {"presence": '"always"', "default": "[false, false]"}
FRESH = manifest(repeat='"fresh"', epsilon_lifetime='"3"', **ALWAYS)
HOLD = 5
MEMOIZED = manifest(repeat='"memoized"', epsilon_lifetime='"4"', hold_epochs=str(HOLD), **ALWAYS)
ONCE = manifest(**ALWAYS)
EXPIRING = manifest(repeat='"fresh"', expires="2027-01-17", epsilon_lifetime='"9"', **ALWAYS)


def rows(device: Device) -> list[tuple[int, float]]:
    """Epoch and moment of every report."""
    with device.clients[-1]._state.reading() as db:
        return db.execute("SELECT epoch, send_at FROM outbox ORDER BY epoch").fetchall()


def silent_days(device: Device, count: int) -> None:
    """The app runs and records nothing."""
    for _ in range(count):
        device.clients[-1].upload_due()
        device.clock.advance(DAY)
    device.clients[-1].upload_due()


def test_the_default_speaks_for_every_epoch_that_ended_in_silence(make_device: MakeDevice) -> None:
    device = make_device(FRESH)
    client = device.granted()
    first = int(device.clock() // DAY)
    silent_days(device, 2)
    assert [epoch for epoch, _ in rows(device)] == [first, first + 1]
    assert client.budget().spent == 2


def test_it_does_not_speak_while_the_epoch_lasts(make_device: MakeDevice) -> None:
    device = make_device(FRESH)
    client = device.granted()
    client.upload_due()
    device.clock.advance(DAY / 2 - 1)
    client.upload_due()
    assert rows(device) == []
    assert client.record("settings", SETTINGS) is Outcome.QUEUED


def test_nobody_speaks_before_consent_or_for_days_before_it(make_device: MakeDevice) -> None:
    device = make_device(FRESH)
    client = device.open()
    silent_days(device, 2)
    assert rows(device) == []
    client.consent("granted")
    silent_days(device, 1)
    assert len(rows(device)) == 1


def test_nobody_speaks_for_days_of_a_denial(make_device: MakeDevice) -> None:
    device = make_device(FRESH)
    client = device.granted()
    client.upload_due()
    client.consent("denied")
    device.clock.advance(DAY)
    client.consent("granted")
    silent_days(device, 1)
    assert [epoch for epoch, _ in rows(device)] == [int(device.clock() // DAY) - 1]


def test_recorded_and_silent_days_are_sent_in_the_same_window(make_device: MakeDevice) -> None:
    device = make_device(FRESH)
    client = device.granted()
    client.record("settings", SETTINGS)
    device.clock.advance(DAY)
    silent_days(device, 1)
    send_times = rows(device)
    assert len(send_times) == 2
    for epoch, send_at in send_times:
        end = (epoch + 1) * DAY
        assert end <= send_at <= end + DAY  # half the grace of two days


def test_an_answer_of_today_does_not_hide_the_silence_of_yesterday(
    make_device: MakeDevice,
) -> None:
    device = make_device(FRESH)
    client = device.granted()
    client.upload_due()
    device.clock.advance(DAY)
    assert client.record("settings", SETTINGS) is Outcome.QUEUED
    today = int(device.clock() // DAY)
    assert [epoch for epoch, _ in rows(device)] == [today - 1, today]
    assert client.budget().spent == 2


def test_a_device_that_was_off_speaks_only_for_epochs_still_open(make_device: MakeDevice) -> None:
    device = make_device(FRESH)
    device.granted().upload_due()
    device.clock.advance(2.6 * DAY)  # the first epoch closes half a day later
    device.clients[-1].upload_due()
    assert len(rows(device)) == 2  # of three, the calendar counts from the first one answered
    assert device.clients[-1].budget().spent == 2


def test_a_hold_that_begins_in_silence_is_the_default_s(make_device: MakeDevice) -> None:
    device = make_device(MEMOIZED)
    device.clock.advance((-(device.clock() // DAY - MEMOIZED.first_epoch) % HOLD) * DAY)
    client = device.granted()
    silent_days(device, 1)
    assert client.record("settings", SETTINGS) is Outcome.HELD
    assert client.budget().spent == 2


def test_every_epoch_of_a_hold_is_renewed_without_the_app(make_device: MakeDevice) -> None:
    device = make_device(MEMOIZED)
    device.clock.advance((-(device.clock() // DAY - MEMOIZED.first_epoch) % HOLD) * DAY)
    client = device.granted()
    client.record("settings", SETTINGS)
    silent_days(device, 3 * HOLD)
    assert len(rows(device)) == 3 * HOLD
    assert client.budget().spent == 4
    assert client.budget().collections["settings"].left == 0


def test_once_speaks_once(make_device: MakeDevice) -> None:
    device = make_device(ONCE)
    client = device.granted()
    silent_days(device, 4)
    assert len(rows(device)) == 1
    assert client.record("settings", SETTINGS) is Outcome.ALREADY_ANSWERED


def test_the_last_epoch_speaks_after_the_collection_is_over(make_device: MakeDevice) -> None:
    device = make_device(EXPIRING)
    client = device.granted()
    silent_days(device, 4)
    last = EXPIRING.last_epoch
    assert [epoch for epoch, _ in rows(device)] == [last - 1, last]
    assert client.record("settings", SETTINGS) is Outcome.EXPIRED


def test_without_grace_it_speaks_in_the_last_hour_of_the_epoch(make_device: MakeDevice) -> None:
    device = make_device(manifest(repeat='"fresh"', epsilon_lifetime='"3"', grace='"0s"', **ALWAYS))
    client = device.granted()
    client.upload_due()
    end = (device.clock() // DAY + 1) * DAY
    device.clock.now = end - 3601
    client.upload_due()
    assert rows(device) == []
    device.clock.now = end - 3600
    client.upload_due()
    ((_, send_at),) = rows(device)
    assert end - 3600 <= send_at <= end


def test_a_thread_starts_for_it_without_a_call_of_the_app(make_device: MakeDevice) -> None:
    import threading

    device = make_device(FRESH)
    client = device.open(background=True)
    client.consent("granted")
    names = [thread.name for thread in threading.enumerate()]
    client.close()
    assert "deniable-upload" in names


def test_a_spent_budget_stays_spent_however_often_the_app_records(make_device: MakeDevice) -> None:
    device = make_device(manifest(repeat='"fresh"', epsilon_lifetime='"1"', **ALWAYS))
    client = device.granted()
    assert client.record("settings", SETTINGS) is Outcome.QUEUED
    device.clock.advance(DAY)
    outcomes = [client.record("settings", SETTINGS) for _ in range(3)]
    assert outcomes == [Outcome.BUDGET_EXHAUSTED] * 3
    assert client.budget().spent == 1


def test_no_default_is_recorded_after_another_process_denied(make_device: MakeDevice) -> None:
    device = make_device(FRESH)
    client = device.granted()
    client.record("settings", SETTINGS)
    device.clock.advance(3 * DAY)
    other, consent = device.open(), client._recorder.examine

    def denied_meanwhile(name: str, value: object) -> object:
        other.consent("denied")
        return consent(name, value)

    client._recorder.examine = denied_meanwhile  # type: ignore[method-assign, assignment]  # a call in between
    assert client.record("settings", SETTINGS) is Outcome.NO_CONSENT
    assert [epoch for epoch, _ in rows(device)] == [int(device.clock() // DAY) - 3]
