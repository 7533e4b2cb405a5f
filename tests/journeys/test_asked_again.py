"""Asked again and again, by servers whose keys rotate: the spine's promises over whole histories.

The machine of `test_exactly_once` with collections that a device answers in many epochs, and an
operator who rotates keys, of both suites, while everything else goes wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule, run_state_machine_as_test

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.keys.rotation import PENDING_SECONDS
from deniable_aggregator.operations.doctor import log_audit
from deniable_aggregator.store import epoch_closing
from deniable_aggregator.store.sqlite import commit
from deniable_client import Ceiling, Outcome
from deniable_client._recording import randomize, recorder
from deniable_client._recording.repeat_rules import Fresh
from deniable_shared.wire.key_list import verify_key_list
from deniable_shared.wire.key_succession import check_successor_keys
from support.builders.devices_and_service import Device, Sent, Spine
from support.builders.exactly_once_machine import DEVICES, HUNTING, ExactlyOnce
from support.tiers import by_tier, grid

FRESH = 'repeat = "fresh"\nepsilon_lifetime = "8"\ngrace = "1d"\n'
MEMOIZED = """\
repeat = "memoized"
linkable = true
epsilon_permanent = "4"
epsilon_lifetime = "8"
hold_epochs = 3
cohorts = 64
"""
LIFETIME = Fraction(8)


class AskedAgain(ExactlyOnce):
    """One device answers a fresh collection, one a memoized one."""

    ceiling = Ceiling(epsilon_per_report=2, epsilon_permanent=4, epsilon_lifetime=8)

    def begin(self, folder: Path) -> Spine:
        return Spine(folder, DEVICES, repeats=(FRESH, MEMOIZED))

    @rule(suite=st.sampled_from([1, 1, 2]), at_once=st.booleans())
    def rotate(self, suite: int, at_once: bool) -> None:
        self.spine.rotate(suite, at_once=at_once)

    @rule()
    def wait_until_the_next_key_is_used(self) -> None:
        self.spine.clock.now += PENDING_SECONDS
        self.spine.tick()

    @invariant()
    def no_second_coin_was_tossed(self) -> None:
        for device in self.devices:
            for sent in self.by_epoch(device).values():
                assert len({each.plaintext for each in sent}) == 1
                assert len({each.header.report_id for each in sent}) == 1

    @invariant()
    def each_device_is_counted_at_most_once_and_as_it_answered(self) -> None:
        for device in self.devices:
            sent = self.by_epoch(device)
            estimator = self.spine.collection(device.manifest).estimator
            for epoch, (n, tally) in self.spine.counted_by_epoch(device.manifest).items():
                assert n == 1
                rows = np.frombuffer(sent[epoch][0].payload, dtype=np.uint8)[None]
                assert tally == estimator.tally(rows).tolist()

    @invariant()
    def what_was_acknowledged_is_counted(self) -> None:
        for device in self.devices:
            assert self.spine.counted(device.manifest)[0] >= device.acknowledged

    @invariant()
    def the_ledger_covers_every_toss(self) -> None:
        for device in self.devices:
            spent, price = device.spent(), device.manifest.schedule.price
            assert spent <= min(LIFETIME, len(device.holds) * price)
            epochs = self.by_epoch(device).keys()
            if device.manifest.repeat == "fresh":
                assert len(epochs) * price <= spent
            else:
                holds = {device.manifest.hold_at(epoch) for epoch in epochs}
                assert min(len(holds) * price, LIFETIME) <= spent

    @invariant()
    def no_device_was_told_of_two_logs(self) -> None:
        for device in self.devices:
            assert Outcome.LOG_FORKED not in device.answers

    def teardown(self) -> None:
        try:
            self.spine.start()
            the_log_is_well(self.spine)
        finally:
            super().teardown()

    def by_epoch(self, device: Device) -> dict[int, list[Sent]]:
        """Everything that left, epoch by epoch."""
        found: dict[int, list[Sent]] = defaultdict(list)
        for each in self.spine.sent(device.manifest):
            found[each.header.epoch].append(each)
        return found


def the_log_is_well(spine: Spine) -> None:
    """Everything signed is in the log, and every key list may follow the one before."""
    assert spine.service is not None
    store, settings = spine.service.store, spine.service.settings
    chain = log_audit.read_database(settings)
    checks = list(log_audit.of_database(settings, chain, spine.trust))
    assert [check for check in checks if check.level != "ok"] == []
    last = store.latest_key_list()
    assert last is not None
    rows = [store.key_list(version) for version in range(1, last.version + 1)]
    lists = [verify_key_list(r.envelope, trusted=[spine.trust], now=r.issued) for r in rows if r]
    assert len(lists) == last.version
    for old, new in pairwise(lists):
        check_successor_keys(old, new)


TestAskedAgain = AskedAgain.TestCase
TestAskedAgain.settings = settings(
    max_examples=by_tier(3, 40), stateful_step_count=40, deadline=None
)


def whatever(*anything: object) -> None:
    return None


def always(*anything: object) -> bool:
    return True


def every_id(db: object, number: int, epoch: int, ids: Sequence[bytes]) -> list[bytes]:
    return list(ids)


again = recorder._QUEUE.replace("INSERT", "INSERT OR REPLACE")
free = recorder._CHARGE.replace("spent + ?", "spent + 0 * ?")
LONG_HUNT = "the permanent answer is drawn again in each epoch"
"""It takes up to a minute: a hold of several epochs has to be answered twice."""

MUTANTS: dict[str, tuple[tuple[object, str, object], ...]] = {
    "one epoch is answered twice": (
        (Fresh, "refusal", whatever),
        (recorder, "_QUEUE", again),
    ),
    LONG_HUNT: (
        (randomize, "begins_hold", always),
        (recorder, "begins_hold", always),
    ),
    "a hold costs nothing": ((recorder, "_CHARGE", free),),
    "a report id counts each time it comes": ((commit, "_insert_new", every_id),),
    "a closed epoch still counts reports": ((epoch_closing, "is_closed", lambda *which: False),),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("mutant", grid(MUTANTS, by_default=(), long=[LONG_HUNT]))
def test_machine_finds_what_is_broken_on_purpose(mutant: str) -> None:
    with ExitStack() as stack:
        for owner, name, wrong in MUTANTS[mutant]:
            stack.enter_context(patch.object(owner, name, wrong))
        with pytest.raises((AssertionError, StoreError)):
            run_state_machine_as_test(AskedAgain, settings=HUNTING)
