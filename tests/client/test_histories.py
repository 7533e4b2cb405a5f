"""Answers, uploads, refusals, restarts, denials and clocks in any order: one coin, one charge."""

from __future__ import annotations

import shutil
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from deniable_client import Outcome
from deniable_client.testing import FakeClock
from support.builders.client_world import (
    DAY,
    EVERY_ANSWER,
    SETTINGS,
    START,
    Aggregator,
    Device,
    Operator,
    manifest,
)
from support.tiers import by_tier

pytestmark = pytest.mark.slow

OPERATOR = Operator()
NAMES = ["a", "b", "c"]


class Histories(RuleBasedStateMachine):
    """One device with three collections of ε = 1 under a ceiling of 8."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        aggregator = Aggregator(OPERATOR, FakeClock(START))
        shipped = [manifest(name) for name in NAMES]
        self.device = Device(self.directory / "state.db", aggregator, shipped)
        self.client = self.device.granted()
        self.queued: list[str] = []

    @rule(name=st.sampled_from(NAMES), dark=st.booleans(), beta=st.booleans())
    def answer(self, name: str, dark: bool, beta: bool) -> None:
        outcome = self.client.record(name, {**SETTINGS, "dark_mode": dark, "beta": beta})
        if outcome is Outcome.QUEUED:
            self.queued.append(name)

    @rule(answer=st.sampled_from(sorted(EVERY_ANSWER)), early=st.booleans())
    def upload(self, answer: str, early: bool) -> None:
        self.device.aggregator.script.append(EVERY_ANSWER[answer])
        self.client.flush(early=early)
        self.device.aggregator.script.clear()

    @rule()
    def wake_up(self) -> None:
        self.client.upload_due()

    @rule(days=st.sampled_from([-3, -1, 0.1, 1, 2, 30]))
    def move_the_clock(self, days: float) -> None:
        self.device.clock.advance(days * DAY)

    @rule()
    def restart(self) -> None:
        self.client.close()
        self.client = self.device.open()

    @rule(answer=st.sampled_from(["granted", "denied"]))
    def decide(self, answer: str) -> None:
        self.client.consent(answer)

    @rule()
    def rotate(self) -> None:
        self.device.aggregator.rotate(self.device.aggregator.key_list.version % 250 + 2)

    @invariant()
    def one_coin_a_question(self) -> None:
        assert len(self.queued) == len(set(self.queued))
        sent: dict[str, set[tuple[bytes, bytes]]] = {}
        for each in self.device.aggregator.received:
            row = (each.report.header.report_id, each.payload)
            sent.setdefault(each.collection, set()).add(row)
        assert all(len(rows) == 1 for rows in sent.values())

    @invariant()
    def one_charge_an_answer(self) -> None:
        budget = self.client.budget()
        assert budget.spent == len(self.queued)
        for name in NAMES:
            assert budget.collections[name].spent == Fraction(self.queued.count(name))

    def teardown(self) -> None:
        self.device.close()
        shutil.rmtree(self.directory)


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=by_tier(6, 40), stateful_step_count=25, deadline=None
)
