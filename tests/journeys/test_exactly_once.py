"""What was acknowledged is counted exactly once and no second coin is tossed, under every kill.

The machine is in `support.builders.exactly_once_machine`; here it runs, and is held against what
is broken on purpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from unittest.mock import patch

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store import epoch_closing
from deniable_aggregator.store.rows import AcceptedReport, CommitStatus, TallyKernel
from deniable_aggregator.store.sqlite import commit as sqlite_commit
from deniable_aggregator.store.sqlite.store import SqliteStore
from deniable_client._recording import recorder
from deniable_client._recording.repeat_rules import Once
from deniable_client._state import keychain
from support.builders.exactly_once_machine import HUNTING, ExactlyOnce, coins_of_the_system
from support.doubles.dying_connections import Killed
from support.tiers import by_tier, grid

TestExactlyOnce = ExactlyOnce.TestCase
TestExactlyOnce.settings = settings(
    max_examples=by_tier(3, 60), stateful_step_count=40, deadline=None
)


def asked_again(once: Once, highest_epoch: int | None, epoch: int) -> None:
    return None


def counted_however_often(db: object, number: int, epoch: int, ids: Sequence[bytes]) -> list[bytes]:
    return list(ids)


def acknowledged_whatever_happens(
    store: SqliteStore, arrivals: Sequence[AcceptedReport], tally: TallyKernel
) -> list[CommitStatus]:
    try:
        return commit(store, arrivals, tally)
    except Killed:
        return [CommitStatus.COUNTED] * len(arrivals)


commit = SqliteStore.commit
free = recorder._CHARGE.replace("spent + ?", "spent + 0 * ?")
MUTANTS: dict[str, tuple[tuple[object, str, object], ...]] = {
    "the device draws new coins when the same epoch is recorded again": (
        (keychain, "coins", coins_of_the_system),
        (Once, "refusal", asked_again),
        (recorder._Eligibility, "affordable", lambda *anything: True),
    ),
    "an answer costs nothing": ((recorder, "_CHARGE", free),),
    "a report id counts each time it comes": (
        (sqlite_commit, "_insert_new", counted_however_often),
    ),
    "a closed epoch still counts reports": ((epoch_closing, "is_closed", lambda *which: False),),
    "a report is acknowledged before it is committed": (
        (SqliteStore, "commit", acknowledged_whatever_happens),
    ),
}


LONG_HUNTS = ("a report is acknowledged before it is committed", "an answer costs nothing")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "mutant",
    grid(MUTANTS, by_default=[], long=LONG_HUNTS),
)
def test_machine_finds_what_is_broken_on_purpose(mutant: str) -> None:
    with ExitStack() as stack:
        for owner, name, wrong in MUTANTS[mutant]:
            stack.enter_context(patch.object(owner, name, wrong))
        with pytest.raises((AssertionError, StoreError)):
            run_state_machine_as_test(ExactlyOnce, settings=HUNTING)
