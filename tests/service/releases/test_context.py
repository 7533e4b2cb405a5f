"""What is public of the epochs a release reads, and what is not even that."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.queries.accounts import budget_of
from deniable_aggregator.queries.pooled_tallies import EpochRange
from deniable_aggregator.releases import context
from deniable_aggregator.releases.request import EpochSelection
from deniable_gateway.problem import Problem
from support.builders.release_world import (
    BITS,
    FIRST,
    LAST,
    OPEN,
    TODAY,
    ReleaseWorld,
    asked,
    document,
    opened,
    over,
)

FRESH = 'repeat = "fresh"\nepsilon_lifetime = "7"\n'
MEMOIZED = """\
repeat = "memoized"
epsilon_permanent = "4"
epsilon_lifetime = "20"
hold_epochs = 3
linkable = true
"""


def epochs(world: ReleaseWorld, selection: EpochSelection) -> tuple[int, ...]:
    store = world.service.running.store
    return context.select_epochs(store, world.collection, selection, world.service.clock()).read


def installation(world: ReleaseWorld, *read: int) -> tuple[int, int]:
    computed = context._installation(world.collection, read)
    assert computed.local.denominator == 1
    return computed.reports, int(computed.local)


def test_an_open_end_means_what_is_closed(tmp_path: Path) -> None:
    expected = {
        EpochRange(): (FIRST, LAST),
        EpochRange(LAST): (LAST,),
        EpochRange(0, FIRST): (FIRST,),
        EpochRange(FIRST + 1, 2**32 - 1): (LAST,),
    }
    with opened(tmp_path) as world:
        assert {span: epochs(world, EpochSelection(span)) for span in expected} == expected


def test_an_end_that_was_named_must_be_closed(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        for last in (OPEN, OPEN + 1, 2**32 - 1):
            with pytest.raises(Problem, match=f"epoch {OPEN} takes reports"):
                epochs(world, EpochSelection(EpochRange(0, last), bounded=True))


def test_an_epoch_closed_early_may_be_read(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        world.service.running.store.close_epoch(world.collection.id, OPEN, 0, audit=None)
        assert epochs(world, over(OPEN, OPEN)) == (OPEN,)
        assert epochs(world, EpochSelection()) == (FIRST, LAST, OPEN)


def test_epochs_are_listed_in_any_order_and_counted_once(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        assert epochs(world, over(LAST, FIRST, LAST, FIRST - 1)) == (FIRST, LAST)


def test_a_release_closes_for_good_what_is_over_before_it_counts_it(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        store = world.service.running.store
        assert not store.is_closed(world.collection.id, FIRST)
        world.releases.quote(world.collection, asked(epochs=over(FIRST)))
        assert not store.is_closed(world.collection.id, FIRST)
        world.releases.release(world.collection, asked(epochs=over(FIRST)), audit=None)
        closed = [store.is_closed(world.collection.id, epoch) for epoch in (FIRST, LAST)]
        assert closed == [True, False]


def test_a_report_just_before_closing_is_counted_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reports of the last moment: the epochs that are read are closed before n is counted."""
    with opened(tmp_path) as world:
        store = world.service.running.store
        honest = store.close_epoch

        def late(collection: str, epoch: int, now: float, *, audit: AuditEntry | None) -> bool:
            monkeypatch.undo()
            for slipped in (FIRST, FIRST - 1):
                world.service.count(world.collection, [BITS], epoch=slipped)
            return honest(collection, epoch, now, audit=audit)

        monkeypatch.setattr(store, "close_epoch", late)
        release = document(world.releases.release(world.collection, asked(), audit=None))
        assert (release["epochs"], release["n"]) == ([FIRST, LAST], 11)
        assert [store.is_closed(world.collection.id, epoch) for epoch in (FIRST, LAST)] == [
            True
        ] * 2


def test_with_releases_only_each_epoch_needs_enough_and_n_is_shown(
    tmp_path: Path,
) -> None:
    with opened(tmp_path, read="releases", min_batch=5) as world:
        world.service.count(world.collection, [BITS] * 4, epoch=FIRST - 2)
        release = document(world.releases.release(world.collection, asked(), audit=None))
        assert (release["epochs"], release["n"]) == ([FIRST, LAST], 10)
        assert release["too_few_reports"] == list(range(world.collection.first_epoch, FIRST))


def test_what_is_left_out_is_closed_as_well(tmp_path: Path) -> None:
    """No report can then lift an epoch over the bound after a release has left it out."""
    with opened(tmp_path, read="releases", min_batch=5) as world:
        store = world.service.running.store
        world.service.count(world.collection, [BITS] * 4, epoch=FIRST - 1)
        world.releases.release(world.collection, asked(epochs=over(FIRST - 1, FIRST)), audit=None)
        assert store.is_closed(world.collection.id, FIRST - 1)


def test_what_was_asked_for_and_has_enough_is_the_same_request(tmp_path: Path) -> None:
    with opened(tmp_path, read="releases") as world:
        first = world.releases.release(world.collection, asked(epochs=over(FIRST)), audit=None)
        again = world.releases.release(
            world.collection, asked(epochs=over(FIRST, FIRST - 1)), audit=None
        )
        assert (again.row, again.new, world.charges) == (first.row, False, 1)


def test_an_epoch_that_is_left_out_keeps_its_whole_budget(tmp_path: Path) -> None:
    with opened(tmp_path, read="releases") as world:
        world.releases.release(world.collection, asked(epochs=over(FIRST - 1, FIRST)), audit=None)
        [charge] = world.service.running.store.charges(world.collection.id)
        assert charge.epochs == (FIRST,)


@pytest.mark.parametrize("selection", [EpochSelection(), over(FIRST, LAST), over(FIRST - 1)])
def test_where_only_releases_are_read_too_few_does_not_say_how_many(
    tmp_path: Path, selection: EpochSelection
) -> None:
    """Ten reports in two epochs, five and five, are not enough for six an epoch."""
    details = []
    with opened(tmp_path, read="releases", min_batch=6) as world:
        for ask in (partial(world.releases.release, audit=None), world.releases.quote):
            with pytest.raises(Problem) as caught:
                ask(world.collection, asked(epochs=selection))
            details.append(caught.value.document())
        assert details[0] == details[1]
        assert caught.value.extra == {"needed": 6}
        assert "5" not in caught.value.detail
        assert "10" not in caught.value.detail


def test_after_a_narrowing_the_newest_version_decides_what_is_read(tmp_path: Path) -> None:
    """A price of an epoch that began afterwards once said how many reports it had."""
    with opened(tmp_path, min_batch=5) as world:
        store = world.service.running.store
        world.follow({"read": "releases"})
        world.service.count(world.collection, [BITS] * 4, epoch=OPEN + 1)
        for epoch in (OPEN, OPEN + 1):
            store.close_epoch(world.collection.id, epoch, 0, audit=None)
        release = world.releases.quote(world.collection, asked(epochs=over(OPEN, OPEN + 1)))
        assert (release.epochs, release.n, release.too_few_reports) == ([OPEN], 5, [OPEN + 1])
        with pytest.raises(Problem) as caught:
            world.releases.quote(world.collection, asked(epochs=over(OPEN + 1)))
        assert caught.value.extra == {"needed": 5}


@pytest.mark.slow
def test_only_where_releases_are_all_there_is_the_contraction_is_promised(tmp_path: Path) -> None:
    for read in ("live", "closed", "releases"):
        with opened(tmp_path / read, read=read) as world:
            promise = document(world.releases.release(world.collection, asked("0.5"), audit=None))[
                "promise"
            ]
            assert isinstance(promise, dict)
            sealed = read == "releases"
            assert promise["local"] == "2"
            assert promise["protects"] == ("reports and true values" if sealed else "local only")
            assert (promise["against"] == "readers who are not the operator") is sealed
            if sealed:
                assert Fraction(promise["true_values"]["epsilon"]) < Fraction(1, 2)
            else:
                assert promise["true_values"] is None


def test_what_was_once_readable_stays_read(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        world.follow({"read": "releases"})
        assert context._widest_read(world.collection) == "live"
        assert (
            context.context_of(world.service.running.store, world.collection, (FIRST,)).read
            == "live"
        )


def test_an_installation_has_one_report_of_once(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        assert installation(world, FIRST, LAST) == (1, 2)
        assert budget_of(world.collection).reports == 1


def test_fresh_installations_have_one_paid_report_an_epoch(
    tmp_path: Path,
) -> None:
    with opened(tmp_path, more=FRESH) as world:
        assert installation(world, FIRST, LAST) == (2, 4)
        assert installation(world, *range(FIRST - 8, LAST)) == (3, 6)
        assert budget_of(world.collection).reports == 3
        world.follow({"epsilon.lifetime": "2"})
        assert installation(world, FIRST, LAST) == (2, 4)
        assert budget_of(world.collection).reports == 3


def test_memoized_installations_have_one_report_an_epoch_and_hold(
    tmp_path: Path,
) -> None:
    with opened(tmp_path, more=MEMOIZED) as world:
        start = world.collection.first_epoch
        assert installation(world, start, start + 1, start + 2) == (3, 4)
        assert installation(world, start + 2, start + 3) == (2, 8)
        assert budget_of(world.collection).reports is None


def test_reports_under_two_manifests_and_in_two_epochs_are_parts_by_epoch(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        world.follow({"min_batch": 4})
        world.service.count(world.collection, [BITS] * 2, epoch=FIRST)
        store = world.service.running.store
        read = context.context_of(store, world.collection, (FIRST, LAST))
        parts = context.tallies_of(store, world.collection, read).parts
        assert [(part.epoch, part.cohort, part.n) for part in parts] == [
            (FIRST, 0, 7),
            (LAST, 0, 5),
        ]


def test_more_epochs_than_a_release_takes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "MOST_EPOCHS", 1)
    with opened(tmp_path) as world, pytest.raises(Problem, match="at most 1 for one release"):
        epochs(world, EpochSelection())


def test_nothing_is_over_before_the_first_epoch_is(tmp_path: Path) -> None:
    with opened(tmp_path, empty=True, valid_from="2027-01-15") as world:
        with pytest.raises(Problem, match="0 reports, but 3 are needed"):
            epochs(world, EpochSelection())
        with pytest.raises(Problem, match=f"epoch {TODAY} takes reports"):
            epochs(world, over(TODAY))


def test_epochs_without_a_report_are_too_few(tmp_path: Path) -> None:
    with opened(tmp_path) as world, pytest.raises(Problem, match="have 0 reports"):
        context.context_of(world.service.running.store, world.collection, [FIRST - 5])


def test_reports_that_went_since_they_were_counted_are_not_released(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        store = world.service.running.store
        read = context.context_of(store, world.collection, [FIRST])
        with pytest.raises(context.ReportsGoneError):
            context.tallies_of(store, world.collection, replace(read, n=read.n + 1))
