"""The append-only log: chained, without gaps, refused any change by SQL itself."""

from __future__ import annotations

import hashlib

import pytest

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store import transparency_log
from deniable_aggregator.store.rows import KeyListRow
from deniable_shared.wire.transparency_log import LogEntry, extend
from support.builders.databases import AnyStore, Database
from support.builders.store_reports import COLLECTION, append_log, manifest_row, register


def key_list(version: int) -> KeyListRow:
    return KeyListRow(version, 100, 200, bytes([version]) * 32, b"envelope %d" % version)


def test_the_log_of_an_empty_store_has_a_head_of_zeros(unfilled: Database) -> None:
    store = unfilled.open()
    assert store.log_head() == (0, "00" * 32)
    assert store.log() == []
    store.close()


def test_a_head_hashes_the_head_before_the_type_and_the_body_hash(
    store: AnyStore,
) -> None:
    before = bytes.fromhex(store.log_head()[1])
    append_log(store, "release", b"\x07" * 32)
    wanted = hashlib.sha256(before + b"release" + b"\x07" * 32).hexdigest()
    assert store.log_head() == (2, wanted)


def test_manifests_and_key_lists_are_entries_in_the_order_they_came(store: AnyStore) -> None:
    store.add_key_list(key_list(1), log_size=1, audit=None)
    register(store, COLLECTION, version=2)
    assert store.log() == [
        LogEntry("manifest", manifest_row().digest),
        LogEntry("keys", b"\x01" * 32),
        LogEntry("manifest", manifest_row(version=2).digest),
    ]


def test_a_reader_can_follow_the_chain_page_by_page(
    store: AnyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transparency_log, "LOG_PAGE", 3)
    for number in range(7):
        append_log(store, "release", bytes([number]) * 32)
    head, first = bytes(32), 0
    while page := store.log(first):
        assert len(page) <= 3
        head = extend(head, page)
        first += len(page)
    assert (first, head.hex()) == store.log_head()


def test_sql_itself_refuses_to_change_what_is_append_only(
    store: AnyStore, database: Database
) -> None:
    store.add_key_list(key_list(1), log_size=1, audit=None)
    for table in ("log", "manifests", "key_lists"):
        for change in ("delete from {}", "update {} set position = position + 100"):
            with database.refusing("append-only"):
                database.execute(change.format(table))


def test_sql_itself_refuses_a_gap_in_the_log(store: AnyStore, database: Database) -> None:
    body = f"x'{bytes(32).hex()}'"
    with database.refusing("append-only"):
        database.execute(f"insert into log values (5, 'keys', {body}, {body})")  # noqa: S608  (the names in it are fixed)


def test_a_version_is_registered_once(store: AnyStore) -> None:
    with pytest.raises(StoreError, match=r"(?i)unique"):
        register(store, COLLECTION)
    assert store.log_head()[0] == 1


def test_manifests_come_back_byte_for_byte_oldest_first(store: AnyStore) -> None:
    register(store, "other-aaaaaa")
    register(store, COLLECTION, version=2)
    assert store.manifests() == [
        manifest_row(),
        manifest_row("other-aaaaaa"),
        manifest_row(version=2),
    ]


def test_the_key_list_of_the_highest_version_is_the_latest(store: AnyStore) -> None:
    assert store.latest_key_list() is None
    assert store.add_key_list(key_list(1), log_size=1, audit=None)
    assert store.add_key_list(key_list(2), log_size=2, audit=None)
    assert store.latest_key_list() == key_list(2)


@pytest.mark.parametrize("log_size", [0, 2])
def test_a_key_list_over_another_log_is_not_added(store: AnyStore, log_size: int) -> None:
    assert not store.add_key_list(key_list(1), log_size=log_size, audit=None)
    assert store.latest_key_list() is None
    assert store.log_head()[0] == 1


def test_a_key_list_version_is_never_used_twice(store: AnyStore) -> None:
    store.add_key_list(key_list(1), log_size=1, audit=None)
    with pytest.raises(StoreError, match=r"(?i)unique"):
        store.add_key_list(key_list(1), log_size=2, audit=None)
    assert store.log_head()[0] == 2


def test_a_collection_is_closed_for_good(store: AnyStore, database: Database) -> None:
    assert not store.collections()[COLLECTION].closed
    store.set_collection_closed(COLLECTION, audit=None)
    assert store.collections()[COLLECTION].closed
    with database.refusing("stays closed"):
        database.execute("update collections set closed = 0")
