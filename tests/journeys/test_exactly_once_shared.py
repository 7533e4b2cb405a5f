"""Exactly once with several workers on one PostgreSQL database, whichever of them dies."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from unittest.mock import patch

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store import epoch_closing
from deniable_aggregator.store.postgres import commit as postgres_commit
from deniable_aggregator.store.postgres import rollup
from deniable_aggregator.store.postgres.store import PostgresStore
from deniable_aggregator.store.rows import AcceptedReport, CommitStatus, TallyKernel
from support.builders.devices_and_workers import SharedExactlyOnce
from support.builders.exactly_once_machine import HUNTING
from support.doubles.dying_connections import Killed
from support.tiers import grid

TestSharedExactlyOnce = pytest.mark.exhaustive(SharedExactlyOnce.TestCase)
TestSharedExactlyOnce.settings = settings(max_examples=12, stateful_step_count=40, deadline=None)


def counted_however_often(db: object, ids: Sequence[tuple[int, int, bytes]]) -> list[object]:
    return list(ids)


def acknowledged_whatever_happens(
    store: PostgresStore, arrivals: Sequence[AcceptedReport], tally: TallyKernel
) -> list[CommitStatus]:
    try:
        return commit(store, arrivals, tally)
    except Killed:
        return [CommitStatus.COUNTED] * len(arrivals)


commit = PostgresStore.commit
doubled = rollup._ADD.replace("n + ?", "n + 2 * ?")
MUTANTS: dict[str, tuple[object, str, object]] = {
    "a report id counts each time it comes": (
        postgres_commit,
        "_insert_new",
        counted_however_often,
    ),
    "a closed epoch still counts reports": (epoch_closing, "is_closed", lambda *which: False),
    "the roll-up counts reports twice": (rollup, "_ADD", doubled),
    "a report is acknowledged before it is committed": (
        PostgresStore,
        "commit",
        acknowledged_whatever_happens,
    ),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "mutant",
    grid(MUTANTS, by_default=[], long=lambda each: each != "the roll-up counts reports twice"),
)
def test_machine_finds_what_is_broken_on_purpose(mutant: str) -> None:
    with ExitStack() as stack:
        stack.enter_context(patch.object(*MUTANTS[mutant]))
        with pytest.raises((AssertionError, StoreError)):
            run_state_machine_as_test(SharedExactlyOnce, settings=HUNTING)
