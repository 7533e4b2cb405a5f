"""The ledger of a collection adds up what its releases cost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_aggregator.queries.ledger import accounts
from support.builders.release_world import (
    FIRST,
    LAST,
    ReleaseWorld,
    asked,
    opened,
    over,
)


@pytest.fixture
def release_world(tmp_path: Path) -> Iterator[ReleaseWorld]:
    with opened(tmp_path) as release_world:
        yield release_world


def test_the_ledger_adds_up_by_epoch_and_by_installation(release_world: ReleaseWorld) -> None:
    one = release_world.releases.release(
        release_world.collection, asked("0.2"), audit=None
    ).row.release
    two = release_world.releases.release(
        release_world.collection, asked("0.3", epochs=over(LAST)), audit=None
    ).row.release
    [account] = accounts(release_world.service.running.store, [release_world.collection])
    spent = {each.first: each.spent.epsilon for each in account.epochs}
    left = {each.first: each.left.epsilon for each in account.epochs}
    assert spent == {FIRST: "0.2", LAST: "0.5"}
    assert left == {FIRST: "0.3", LAST: "0"}
    assert account.installation.limit.epsilon == "2"
    assert [each.release for each in account.releases] == [one, two]


def test_epochs_that_spent_alike_stand_together_in_the_ledger(release_world: ReleaseWorld) -> None:
    release_world.releases.release(release_world.collection, asked("0.2"), audit=None)
    [account] = accounts(release_world.service.running.store, [release_world.collection])
    assert [(run.first, run.last) for run in account.epochs] == [(FIRST, LAST)]
