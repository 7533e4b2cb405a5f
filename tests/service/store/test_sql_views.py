"""What is kept for the views: nothing else reads it, and it ends with its epoch."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deniable_aggregator.store.rows import EpochView
from support.builders.databases import Database
from support.builders.store_reports import COLLECTION, EPOCH, arrivals, sums

ROOT = Path(__file__).parents[3]

PACKAGE = ROOT / "aggregator" / "service" / "deniable_aggregator"


@pytest.mark.slow
def test_nothing_but_the_views_reads_what_is_made_for_them() -> None:
    readers = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*")
        if path.suffix in (".py", ".sql") and re.search(r"\bshown_estimates\b", path.read_text())
    }
    folder = "store/migrations"
    assert readers == {f"{folder}/{kind}/0005_views.sql" for kind in ("sqlite", "postgres")} | {
        "store/sql_views.py"
    }
    assert "select" not in _of("_SHOW_ESTIMATE")


def _of(name: str) -> str:
    from deniable_aggregator.store import sql_views

    return str(getattr(sql_views, name))


def test_a_store_shows_nothing_of_an_epoch_that_is_open_or_gone(database: Database) -> None:
    store = database.open()
    store.commit(arrivals(range(3)), sums)
    shown = EpochView(EPOCH, "1/1", 3)
    assert not store.set_epoch_view(COLLECTION, shown)
    store.close_epoch(COLLECTION, EPOCH, 1, audit=None)
    assert store.set_epoch_view(COLLECTION, shown)
    assert store.epoch_view_makers(COLLECTION) == {EPOCH: "1/1"}
    store.expire_epoch(COLLECTION, EPOCH, 2)
    assert not store.set_epoch_view(COLLECTION, shown)
    assert store.epoch_view_makers(COLLECTION) == {}
    store.close()
