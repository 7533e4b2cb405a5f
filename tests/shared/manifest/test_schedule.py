"""Holds and schedules: arithmetic that both ends must agree on, and when a device stops."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.manifest.epochs import hold_at, hold_end, hold_start, holds_in, period_name
from deniable_shared.manifest.model import Manifest
from deniable_shared.manifest.schedule import Schedule
from support.builders.manifests import SETTINGS, fresh, memoized, settings

EPOCHS = st.integers(0, 2**32 - 1)
LENGTHS = st.integers(1, 2**32 - 1)
SCHEDULES = st.builds(
    Schedule,
    repeat=st.sampled_from(["once", "fresh", "memoized"]),
    price=st.fractions(Fraction(1, 100), 20),
    lifetime=st.fractions(0, 20),
    first_epoch=st.just(100),
    last_epoch=st.integers(100, 1_000),
    hold_epochs=st.integers(1, 2_000),
)


@given(first=EPOCHS, ahead=EPOCHS, length=LENGTHS)
def test_an_epoch_lies_in_its_hold_and_in_no_other(first: int, ahead: int, length: int) -> None:
    epoch = first + ahead
    hold = hold_at(epoch, first_epoch=first, hold_epochs=length)
    start = hold_start(hold, first_epoch=first, hold_epochs=length)
    assert start <= epoch < hold_end(hold, first_epoch=first, hold_epochs=length)
    assert hold_at(start, first_epoch=first, hold_epochs=length) == hold
    assert hold_at(start - 1, first_epoch=first, hold_epochs=length) == hold - 1


@given(first=EPOCHS, epochs=st.integers(1, 2**32), length=LENGTHS)
def test_so_many_holds_hold_all_epochs(first: int, epochs: int, length: int) -> None:
    last = first + epochs - 1
    assert holds_in(epochs, length) == hold_at(last, first_epoch=first, hold_epochs=length) + 1


def test_the_first_hold_begins_with_the_collection() -> None:
    manifest = memoized()
    first = manifest.first_epoch
    assert [manifest.hold_at(first + each) for each in (0, 90, 91, 181)] == [0, 0, 1, 1]
    assert manifest.schedule.hold_span(1) == range(first + 91, first + 182)
    assert manifest.last_epoch == first + 181


def test_the_coins_of_once_have_one_hold_and_those_of_fresh_one_an_epoch() -> None:
    assert settings().hold_at(20_800) == 0
    assert fresh().hold_at(20_800) == 20_800


@given(schedule=SCHEDULES, ahead=st.integers(0, 900))
def test_an_epoch_is_in_the_span_of_its_hold(schedule: Schedule, ahead: int) -> None:
    epoch = min(schedule.first_epoch + ahead, schedule.last_epoch)
    assert epoch in schedule.hold_span(schedule.hold_at(epoch))


@given(SCHEDULES)
def test_what_is_paid_never_exceeds_the_lifetime_and_one_toss_more_would(
    schedule: Schedule,
) -> None:
    paid = schedule.paid_holds * schedule.price
    assert schedule.lifetime_cost <= paid <= schedule.lifetime
    assert paid + schedule.price > schedule.lifetime or schedule.repeat == "once"
    assert schedule.repeat != "once" or schedule.paid_holds <= 1


@pytest.mark.parametrize(
    ("manifest", "holds", "epochs", "spends", "words"),
    [
        (settings('epsilon_lifetime = "4"\n' + SETTINGS), 1, 1, 1, "answers in 1 epoch"),
        (fresh(), 10, 10, 10, "answers in 10 epochs, counted from its first"),
        (
            fresh('epsilon_lifetime = "1.9"\n'),
            1,
            1,
            1,
            "answers in 1 epoch, counted from its first",
        ),
        (fresh('epoch = "31d"\n'), 10, 10, 7, "answers in 7 epochs, all there are"),
        (memoized(), 2, 182, 4, "answers in 2 holds of 91 epochs, all there are"),
        (
            memoized("hold_epochs = 30\n"),
            2,
            60,
            4,
            "answers in 2 holds of 30 epochs, then repeats i",
        ),
        (
            memoized("hold_epochs = 1\n"),
            2,
            2,
            4,
            "answers in 2 holds of 1 epoch, then repeats its l",
        ),
        (memoized("hold_epochs = 9999\n"), 2, 19_998, 2, "answers in 1 hold of 9,999 epochs, all"),
    ],
)
def test_it_says_when_a_device_stops(
    manifest: Manifest, holds: int, epochs: int, spends: int, words: str
) -> None:
    assert manifest.answers.startswith(words)
    assert (manifest.paid_holds, manifest.paid_epochs) == (holds, epochs)
    assert manifest.schedule.lifetime_cost == spends


NOISE = "with new noise each day"


@pytest.mark.parametrize(
    ("schedule", "period", "words"),
    [
        (settings().schedule, "day", "answers once"),
        (fresh().schedule, "day", "answers on 10 days"),
        (fresh('epoch = "7d"\n').schedule, "week", "answers in 10 weeks"),
        (memoized().schedule_under(Fraction(1)), "day", "never answers: ε for its lifetime is"),
        (
            memoized().schedule,
            "day",
            "makes a new scrambled answer every 91 days, 2 in total, and sends the latest one "
            f"{NOISE}",
        ),
        (
            memoized("hold_epochs = 9999\n").schedule,
            "day",
            f"keeps one scrambled answer for 9,999 days and sends it {NOISE}",
        ),
    ],
)
def test_it_says_to_people_when_a_device_answers(
    schedule: Schedule, period: str, words: str
) -> None:
    assert schedule.words(period).startswith(words)


def test_a_period_has_the_name_that_people_use() -> None:
    assert [period_name(each) for each in (3_600, 86_400, 604_800, 7_200)] == [
        "hour",
        "day",
        "week",
        "period",
    ]


def test_under_a_lower_ceiling_a_device_stops_sooner() -> None:
    under = memoized().schedule_under(Fraction(3))
    assert (under.paid_holds, under.paid_epochs) == (1, 91)
    assert under.description == "answers in 1 hold of 91 epochs, then repeats its last"
    assert memoized().schedule_under(Fraction(30)) == memoized().schedule


@pytest.mark.parametrize("manifest", [settings(), fresh(), memoized()], ids=lambda m: m.repeat)
def test_under_a_ceiling_below_one_toss_a_device_says_nothing(manifest: Manifest) -> None:
    under = manifest.schedule_under(Fraction(1, 2))
    assert under.paid_holds == under.paid_epochs == under.lifetime_cost == 0
    assert under.description == "answers in 0 epochs"
