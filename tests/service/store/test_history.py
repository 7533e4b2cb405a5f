"""Any history of batches, closings, restarts and kills, compared with a model of ten lines."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from deniable_aggregator.store.rows import CommitStatus
from support.builders import databases
from support.builders.databases import Database
from support.builders.store_reports import (
    COLLECTION,
    arrival,
    counted,
    ids_kept,
    sums,
)
from support.doubles.kill_switch import Killed, KillSwitch
from support.tiers import by_tier

pytestmark = pytest.mark.slow

EPOCHS = st.integers(1, 3)
BATCHES = st.lists(st.tuples(st.integers(0, 12), EPOCHS), max_size=8)


class History(RuleBasedStateMachine):
    """The model: which ids an epoch has counted, and which epochs are closed."""

    kind = "sqlite"

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.database: Database = databases.fresh(self.kind, Path(self.folder.name))
        self.open()
        self.seen: dict[int, set[int]] = {1: set(), 2: set(), 3: set()}
        self.closed: set[int] = set()

    def open(self) -> None:
        self.switch = KillSwitch()
        self.store = self.database.open(self.switch)

    @rule(batch=BATCHES)
    def commit(self, batch: list[tuple[int, int]]) -> None:
        verdicts = self.store.commit([arrival(n, epoch=epoch) for n, epoch in batch], sums)
        assert verdicts == [self.expected(n, epoch) for n, epoch in batch]

    def expected(self, number: int, epoch: int) -> CommitStatus:
        if epoch in self.closed:
            return CommitStatus.CLOSED
        known = number in self.seen[epoch]
        self.seen[epoch].add(number)
        return CommitStatus.DUPLICATE if known else CommitStatus.COUNTED

    @rule(epoch=EPOCHS)
    def close_epoch(self, epoch: int) -> None:
        assert self.store.close_epoch(COLLECTION, epoch, 0, audit=None) == (
            epoch not in self.closed
        )
        self.closed.add(epoch)

    @rule()
    def roll_up(self) -> None:
        assert self.store.roll_up() == 0

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.open()

    @precondition(lambda self: len(self.closed) < 3)
    @rule(batch=BATCHES.filter(bool), statement=st.integers(0, 5))
    def kill(self, batch: list[tuple[int, int]], statement: int) -> None:
        """Before any statement up to the commit: the batch leaves no trace."""
        self.switch.arm(statement)
        try:
            self.store.commit([arrival(n, epoch=epoch) for n, epoch in batch], sums)
            for n, epoch in batch:
                self.expected(n, epoch)
        except Killed:
            pass
        self.database = self.database.left_behind()
        self.switch.arm(None)
        self.store.close()
        self.open()

    @invariant()
    def counts_are_those_of_the_model(self) -> None:
        wanted = {epoch: (len(ids), [len(ids)]) for epoch, ids in self.seen.items() if ids}
        assert counted(self.store) == wanted

    @invariant()
    def ids_are_kept_for_open_epochs_only(self) -> None:
        kept = sum(len(ids) for epoch, ids in self.seen.items() if epoch not in self.closed)
        assert ids_kept(self.database) == kept

    def teardown(self) -> None:
        self.store.close()
        self.database.delete()
        self.folder.cleanup()


class PostgresHistory(History):
    """The same, where counts are appended first."""

    kind = "postgres"


TestHistory = History.TestCase
TestHistory.settings = settings(max_examples=by_tier(5, 60), stateful_step_count=25, deadline=None)
TestPostgresHistory = pytest.mark.exhaustive(PostgresHistory.TestCase)
TestPostgresHistory.settings = settings(max_examples=12, stateful_step_count=25, deadline=None)
