"""Exactly once where an intake takes and a consumer counts, under every kill.

Over both databases, and over an object store with blocks in Parquet.
"""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import patch

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from deniable_aggregator.spool.consumer import SpoolConsumer
from deniable_gateway.spool.intake import KeylessIntake
from deniable_gateway.spool.protocol import SpoolFile
from support.builders.devices_and_spool import (
    SharedSplitExactlyOnce,
    SplitExactlyOnce,
    StoredSplitExactlyOnce,
)
from support.builders.exactly_once_machine import HUNTING
from support.tiers import by_tier, grid

TestSplitExactlyOnce = SplitExactlyOnce.TestCase
TestSplitExactlyOnce.settings = settings(
    max_examples=by_tier(2, 6), stateful_step_count=40, deadline=None
)
TestSharedSplitExactlyOnce = pytest.mark.exhaustive(SharedSplitExactlyOnce.TestCase)
TestSharedSplitExactlyOnce.settings = settings(
    max_examples=2, stateful_step_count=40, deadline=None
)
TestStoredSplitExactlyOnce = pytest.mark.exhaustive(StoredSplitExactlyOnce.TestCase)
TestStoredSplitExactlyOnce.settings = settings(
    max_examples=2, stateful_step_count=40, deadline=None
)


def removed_before_they_are_counted(consumer: SpoolConsumer, waiting: Sequence[SpoolFile]) -> int:
    for block in waiting:
        reports = consumer._read(block.name)
        consumer._spool.remove(block.name)
        consumer._count(reports)
    return len(waiting)


def acknowledged_and_forgotten(intake: KeylessIntake, sealed: Sequence[object]) -> list[bool]:
    return [True] * len(sealed)


MUTANTS: dict[str, tuple[object, str, object]] = {
    "a block is removed before its reports are counted": (
        SpoolConsumer,
        "_drain",
        removed_before_they_are_counted,
    ),
    "a report is acknowledged before it is on the disk": (
        KeylessIntake,
        "_write",
        acknowledged_and_forgotten,
    ),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("mutant", grid(MUTANTS, by_default=[], long=list(MUTANTS)[1:]))
def test_machine_finds_what_is_broken_on_purpose(mutant: str) -> None:
    with patch.object(*MUTANTS[mutant]), pytest.raises(AssertionError):
        run_state_machine_as_test(SplitExactlyOnce, settings=HUNTING)
