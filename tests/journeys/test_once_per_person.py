"""One person with two devices counts once an epoch, on either store, under every kill."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store import batches
from support.builders.exactly_once_machine import HUNTING
from support.builders.two_devices_machine import OncePerPerson, SharedOncePerPerson
from support.tiers import by_tier

TestOncePerPerson = OncePerPerson.TestCase
TestOncePerPerson.settings = settings(
    max_examples=by_tier(2, 10), stateful_step_count=40, deadline=None
)
TestSharedOncePerPerson = SharedOncePerPerson.TestCase
TestSharedOncePerPerson.settings = settings(
    max_examples=by_tier(1, 3), stateful_step_count=40, deadline=None
)


@pytest.mark.exhaustive
def test_machine_finds_a_voucher_that_counts_however_often() -> None:
    with (
        patch.object(batches, "find_spent", lambda *anything: []),
        pytest.raises((AssertionError, StoreError)),
    ):
        run_state_machine_as_test(OncePerPerson, settings=HUNTING)
