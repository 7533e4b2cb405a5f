"""One transaction for many uploads, and what becomes of them where it fails."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store.rows import AcceptedReport, CommitStatus
from deniable_gateway.problem import Problem
from deniable_gateway.upload.gate import Arrival, Sender
from deniable_gateway.upload.storing import Checked, store_together
from deniable_gateway.upload.upload_queue import Outcome
from deniable_shared.wire.problems import ReportError
from support.builders.databases import AnyStore
from support.builders.store_reports import COLLECTION, EPOCH, arrivals, counted, report_id, sums

CLOSED = ReportError.EPOCH_CLOSED
NUMBERS = {report_id(number): number for number in range(256)}


def upload(*numbers: int) -> Arrival:
    """Of reports with these numbers."""
    return Arrival("", bytes(numbers), Sender())


@dataclass
class Storing:
    """Over a real store; a batch that holds one of `poison` cannot be stored."""

    store: AnyStore
    poison: frozenset[int] = frozenset()
    batches: list[list[int]] = field(default_factory=list)

    def check(self, arrival: Arrival) -> Checked[AcceptedReport]:
        if b"\xff" in arrival.body:
            raise Problem("invalid-message", "no reports")
        if b"\xfe" in arrival.body:
            raise RuntimeError("secret of the inside")
        checked: Checked[AcceptedReport] = Checked()
        for each in arrivals(arrival.body):
            checked.accept(each.report_id, each)
        return checked

    def commit(self, reports: Sequence[AcceptedReport]) -> list[ReportError | None]:
        numbers = [NUMBERS[each.report_id] for each in reports]
        self.batches.append(numbers)
        if self.poison & set(numbers):
            raise StoreError("the database refuses")
        statuses = self.store.commit(reports, sums)
        return [CLOSED if each is CommitStatus.CLOSED else None for each in statuses]

    def take(self, *uploads: Arrival) -> Sequence[Outcome]:
        return store_together(uploads, check=self.check, store=self.commit)


def refused(outcome: Outcome) -> bool:
    if not isinstance(outcome, Problem):
        return False
    assert outcome.slug == "unavailable"
    assert outcome.retry_after is not None
    assert 5 <= outcome.retry_after <= 10
    return True


def test_all_are_stored_in_one_transaction(store: AnyStore) -> None:
    storing = Storing(store)
    assert storing.take(upload(1), upload(2, 3), upload(1, 4)) == [[], [], []]
    assert storing.batches == [[1, 2, 3, 1, 4]]
    assert counted(store) == {EPOCH: (4, [4])}


def test_nothing_to_store_is_no_transaction(store: AnyStore) -> None:
    storing = Storing(store)
    [outcome] = storing.take(upload(255))
    assert isinstance(outcome, Problem)
    assert (storing.take(), storing.batches) == ([], [])


def test_what_is_wrong_with_one_is_said_to_that_one(
    store: AnyStore, caplog: pytest.LogCaptureFixture
) -> None:
    good, bad, broken, last = Storing(store).take(upload(1), upload(255), upload(254), upload(2))
    assert (good, last) == ([], [])
    assert isinstance(bad, Problem)
    assert isinstance(broken, Problem)
    assert (bad.slug, broken.slug) == ("invalid-message", "internal")
    assert "secret" not in broken.detail
    assert "secret of the inside" in caplog.text
    assert counted(store) == {EPOCH: (2, [2])}


def test_reports_of_an_epoch_that_is_closed_are_refused_each(store: AnyStore) -> None:
    storing = Storing(store)
    storing.take(upload(1))
    store.close_epoch(COLLECTION, EPOCH, 0.0, audit=None)
    first, second = storing.take(upload(2, 3), upload(4))
    assert isinstance(first, list)
    assert isinstance(second, list)
    assert [status.error for status in (*first, *second)] == [CLOSED] * 3


@pytest.mark.parametrize("poison", [1, 3, 5])
def test_one_that_cannot_be_stored_does_not_take_the_others_with_it(
    store: AnyStore, poison: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    storing = Storing(store, frozenset({poison}))
    outcomes = storing.take(*(upload(number) for number in range(1, 6)))
    assert [refused(each) for each in outcomes] == [each == poison for each in range(1, 6)]
    assert counted(store) == {EPOCH: (4, [4])}
    assert "a commit of 5 reports failed" in caplog.text


def test_where_the_first_fail_alone_too_it_is_the_store(store: AnyStore) -> None:
    """A database that is gone is asked three times, not once for each upload."""
    storing = Storing(store, frozenset(range(100)))
    outcomes = storing.take(*(upload(number) for number in range(50)))
    assert all(map(refused, outcomes))
    assert len(storing.batches) == 3
    assert counted(store) == {}


def test_one_upload_alone_is_tried_once(store: AnyStore) -> None:
    storing = Storing(store, frozenset({1}))
    assert refused(storing.take(upload(1))[0])
    assert storing.batches == [[1]]


@pytest.mark.slow
def test_threads_that_store_the_same_reports_count_each_once(store: AnyStore) -> None:
    storing = Storing(store)
    uploads = [upload(*range(start, start + 7)) for start in range(0, 200, 3)] * 2
    with ThreadPoolExecutor(8) as pool:
        assert all(found == [[]] for found in pool.map(storing.take, uploads))
    assert counted(store) == {EPOCH: (205, [205])}
