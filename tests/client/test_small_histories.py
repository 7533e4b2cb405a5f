"""All small histories, one by one, against a model of ten lines: outcomes, charges, reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from deniable_client import Outcome
from deniable_client.testing import FakeClock
from support.builders.client_world import (
    DAY,
    OTHER,
    SETTINGS,
    START,
    Aggregator,
    Device,
    Operator,
    manifest,
)
from support.doubles.statement_crashes import Killed, Killer, killed_before
from support.oracles.coin_witness import Witness, watched
from support.tiers import by_tier, grid

VALUES = {"A": SETTINGS, "B": OTHER, "-": None}
EPOCHS = 6
HOLD = 2
QUESTIONS = {
    "once": manifest(),
    "fresh": manifest(repeat='"fresh"', epsilon_lifetime='"3"'),
    "memoized": manifest(repeat='"memoized"', epsilon_lifetime='"4"', hold_epochs=str(HOLD)),
}
HISTORIES = ["".join(each) for each in product("AB-", repeat=EPOCHS)]
STEP = by_tier(23, 1)
"""Killed at every 23rd statement by default."""

MOVES = list(product((-3, -1, 1, 3), repeat=3))
SHORT = ["AAAA", "ABAB", "ABBA", "A-BA", "-ABB"]


def begin(operator: Operator, repeat: str, path: str | Path = ":memory:") -> Device:
    """A device on the first day of a hold."""
    device = Device(path, Aggregator(operator, FakeClock(START)), [QUESTIONS[repeat]])
    first = QUESTIONS[repeat].first_epoch
    device.clock.advance((-(START // DAY - first) % HOLD) * DAY)
    return device


def live(device: Device, history: str) -> list[Outcome]:
    """One letter a day: a value, the other one, or silence."""
    outcomes = []
    for letter in history:
        if VALUES[letter] is not None:
            outcomes.append(device.clients[-1].record("settings", VALUES[letter]))
        device.clients[-1].flush(early=True)
        device.clock.advance(DAY)
    return outcomes


def model(repeat: str, history: str) -> tuple[list[str], int]:
    """What the protocol says: the outcomes and how often is tossed."""
    outcomes: list[str] = []
    tosses, first, held = 0, None, None
    for epoch, letter in enumerate(history):
        if letter == "-":
            continue
        first = epoch if first is None else first
        if repeat == "once":
            outcomes.append("already-answered" if tosses else "queued")
        elif repeat == "fresh":
            outcomes.append("queued" if epoch < first + 3 else "budget-exhausted")
        elif held == epoch // HOLD:
            outcomes.append("held" if outcomes[-1] != "repeated" else "repeated")
        else:
            outcomes.append("queued" if tosses < 2 else "repeated")
            held = epoch // HOLD
        tosses += outcomes[-1] == "queued"
    return outcomes, tosses


@pytest.mark.slow
@pytest.mark.deeper
@pytest.mark.parametrize("first", grid("AB", by_default="A", long="B"))
@pytest.mark.parametrize("third", grid(range(3), by_default=[0], long=[1, 2]))
@pytest.mark.parametrize("repeat", QUESTIONS)
def test_every_history_of_six_epochs_is_the_model_s(
    operator: Operator, repeat: str, first: str, third: int
) -> None:
    """Those whose first answer is this one; six days of silence are among those of the first."""
    question = QUESTIONS[repeat]
    price = question.schedule.price
    of_this_answer = [each for each in HISTORIES if (each.strip("-") or "A")[0] == first]
    step = by_tier(41, 3) if (first, third) == ("A", 0) else 3
    for history in of_this_answer[third::step]:
        device = begin(operator, repeat)
        with watched(Witness()) as witness:
            client = device.granted()
            outcomes, tosses = model(repeat, history)
            assert live(device, history) == outcomes, history
        assert client.budget().spent.exact == tosses * price <= question.epsilon_lifetime
        assert witness.second == []
        assert len(device.payloads) == sum(
            each in ("queued", "held", "repeated") for each in outcomes
        )
        device.close()


@pytest.mark.slow
@pytest.mark.deeper
@pytest.mark.parametrize("repeat", QUESTIONS)
def test_no_two_histories_of_one_value_differ_in_what_a_hold_reports(
    operator: Operator, repeat: str, tmp_path: Path
) -> None:
    """A backup of the first day, lived again in every way: one coin for what is asked alike."""
    device = begin(operator, repeat, tmp_path / "state.db")
    start = device.clock()
    device.granted().close()
    backup = Path(device.path).read_bytes()
    with watched(Witness()) as witness:
        for history in HISTORIES[:: by_tier(100, 7)]:
            device.clock.now = start
            device.open()
            live(device, history)
            device.close()
            device.clients.clear()
            Path(device.path).write_bytes(backup)
    assert witness.second == []
    assert len([key for key in witness.seen if key[1] == "tossed"]) > 1


@pytest.mark.slow
@pytest.mark.parametrize("repeat", QUESTIONS)
@pytest.mark.parametrize("history", grid(SHORT, by_default=["A-BA"]))
def test_a_backup_of_any_day_tosses_nothing_twice(
    operator: Operator, repeat: str, history: str, tmp_path: Path
) -> None:
    with watched(Witness()) as witness:
        for day in range(len(history)):
            witness.generation += 1
            device = begin(operator, repeat, tmp_path / f"{day}.db")
            device.granted()
            live(device, history[:day])
            device.close()
            backup, then = Path(device.path).read_bytes(), device.clock()
            for again in (history[day:], history[day:].translate({65: 66, 66: 65}), history[day:]):
                Path(device.path).write_bytes(backup)
                device.clock.now = then
                device.open()
                live(device, again)
                device.close()
    assert witness.second == []


def deaths(
    operator: Operator, repeat: str, history: str, tmp_path: Path
) -> Iterator[tuple[Device, Witness, float]]:
    """For each statement of a history: the device as it was found when it never ran."""
    at, ended = 0, False
    while not ended:
        place = tmp_path / str(at)
        place.mkdir()
        device = begin(operator, repeat, place / "state.db")
        device.granted().close()
        killer = Killer(at, place / "state.db", place / "grave")
        with watched(Witness()) as witness:
            try:
                with killed_before(killer):
                    device.open()
                    live(device, history)
                    device.clients[-1].close()
            except Killed:
                survivor = Device(place / "grave" / "state.db", device.aggregator, device.shipped)
                yield survivor, witness, device.clock()
                survivor.close()
        device.close()
        ended = not killer.dead
        at += STEP


@pytest.mark.slow
@pytest.mark.deeper
@pytest.mark.parametrize(
    ("repeat", "history"), [("fresh", "AB"), ("memoized", "ABB"), ("once", "AB")]
)
def test_a_kill_at_any_statement_tosses_no_second_coin_and_keeps_charges(
    operator: Operator, repeat: str, history: str, tmp_path: Path
) -> None:
    count, price = 0, QUESTIONS[repeat].schedule.price
    for survivor, witness, _ in deaths(operator, repeat, history, tmp_path):
        client = survivor.open()
        survivor.clock.advance(60)  # a lease of the dead one is over
        live(survivor, "BAAB")
        assert witness.second == []
        assert_one_report_an_epoch(survivor)
        assert client.budget().spent.exact >= price * holds_answered(survivor, repeat)
        assert client.budget().spent.exact <= QUESTIONS[repeat].epsilon_lifetime
        count += 1
    assert count > 40 / STEP


def assert_one_report_an_epoch(device: Device) -> None:
    received: dict[int, set[tuple[bytes, bytes]]] = {}
    for each in device.aggregator.received:
        place = received.setdefault(each.report.header.epoch, set())
        place.add((each.report.header.report_id, each.payload))
    assert all(len(reports) == 1 for reports in received.values())


def holds_answered(device: Device, repeat: str) -> Fraction:
    question = QUESTIONS[repeat]
    epochs: Sequence[int] = [each.report.header.epoch for each in device.aggregator.received]
    return Fraction(min(len({question.hold_at(epoch) for epoch in epochs}), question.paid_holds))


@pytest.mark.parametrize("repeat", QUESTIONS)
@pytest.mark.parametrize("moves", grid(MOVES, by_default=MOVES[::11]))
def test_a_clock_moved_both_ways_tosses_nothing_twice(
    operator: Operator, repeat: str, moves: tuple[int, ...]
) -> None:
    device = begin(operator, repeat)
    with watched(Witness()) as witness:
        client = device.granted()
        queued = 0
        for letter, days in zip("ABAB", (*moves, 0), strict=True):
            queued += client.record("settings", VALUES[letter]) is Outcome.QUEUED
            client.flush(early=True)
            device.clock.advance(days * DAY)
    assert witness.second == []
    assert client.budget().spent.exact == queued * QUESTIONS[repeat].schedule.price
    assert_one_report_an_epoch(device)
    device.close()
