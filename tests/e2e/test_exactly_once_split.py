"""Exactly once where a door takes and an opener counts, whatever is killed.

Over both databases, and over an object store with blocks in Parquet.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from unittest.mock import patch

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from deniable_aggregator.spool.door import Door
from deniable_aggregator.spool.opening import Opening
from support.exactly_once import HUNTING
from support.killing import Killed
from support.split_spine import (
    SharedSplitExactlyOnce,
    SplitExactlyOnce,
    StoredSplitExactlyOnce,
)

TestSplitExactlyOnce = SplitExactlyOnce.TestCase
TestSplitExactlyOnce.settings = settings(max_examples=6, stateful_step_count=40, deadline=None)
TestSharedSplitExactlyOnce = SharedSplitExactlyOnce.TestCase
TestSharedSplitExactlyOnce.settings = settings(
    max_examples=2, stateful_step_count=40, deadline=None
)
TestStoredSplitExactlyOnce = StoredSplitExactlyOnce.TestCase
TestStoredSplitExactlyOnce.settings = settings(
    max_examples=2, stateful_step_count=40, deadline=None
)

count = Opening._count


def deleted_whatever_happens(opener: Opening, reports: Sequence[tuple[object, bytes]]) -> None:
    with suppress(Killed):
        count(opener, reports)  # type: ignore[arg-type]


def acknowledged_and_forgotten(door: Door, sealed: Sequence[object]) -> list[bool]:
    return [True] * len(sealed)


MUTANTS: dict[str, tuple[object, str, object]] = {
    "a block that goes although its reports were not counted": (
        Opening,
        "_count",
        deleted_whatever_happens,
    ),
    "a door that does not wait for the disk": (Door, "_spooled", acknowledged_and_forgotten),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_machine_finds_what_is_broken_on_purpose(mutant: str) -> None:
    with patch.object(*MUTANTS[mutant]), pytest.raises(AssertionError):
        run_state_machine_as_test(SplitExactlyOnce, settings=settings(HUNTING, max_examples=200))
