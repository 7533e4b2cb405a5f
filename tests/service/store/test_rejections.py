"""Rejection counters: by reason, in memory first, on disk with the next flush."""

from __future__ import annotations

import pytest

from deniable_aggregator.base.errors import StoreError
from support.builders.databases import AnyStore, Database
from support.builders.store_reports import COLLECTION, register, rows


def test_counters_add_up_by_reason(store: AnyStore) -> None:
    store.count_rejections(COLLECTION, {"cannot-open": 2, "too-early": 1})
    store.count_rejections(COLLECTION, {"cannot-open": 3})
    assert store.rejections(COLLECTION) == {"cannot-open": 5, "too-early": 1}


def test_counters_are_the_same_before_and_after_a_flush(store: AnyStore) -> None:
    store.count_rejections(COLLECTION, {"cannot-open": 2})
    store.flush()
    store.count_rejections(COLLECTION, {"cannot-open": 1, "too-early": 4})
    before = store.rejections(COLLECTION)
    store.flush()
    store.flush()
    assert before == store.rejections(COLLECTION) == {"cannot-open": 3, "too-early": 4}


def test_a_rejection_costs_the_disk_nothing_until_the_flush(
    store: AnyStore, database: Database
) -> None:
    store.count_rejections(COLLECTION, {"cannot-open": 1})
    assert rows(database, "rejections") == 0
    store.flush()
    assert rows(database, "rejections") == 1


def test_closing_the_store_writes_them(store: AnyStore, database: Database) -> None:
    store.count_rejections(COLLECTION, {"cannot-open": 1})
    store.close()
    again = database.open()
    assert again.rejections(COLLECTION) == {"cannot-open": 1}
    again.close()


def test_collections_have_counters_of_their_own(store: AnyStore) -> None:
    register(store, "other-aaaaaa")
    store.count_rejections("other-aaaaaa", {"too-early": 1})
    assert store.rejections(COLLECTION) == {}


def test_an_unknown_collection_has_no_counters(store: AnyStore) -> None:
    with pytest.raises(StoreError, match="'other-aaaaaa'"):
        store.count_rejections("other-aaaaaa", {"too-early": 1})
    with pytest.raises(StoreError, match="'other-aaaaaa'"):
        store.rejections("other-aaaaaa")
