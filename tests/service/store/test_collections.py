"""Archived and deleted collections in either database."""

from __future__ import annotations

import pytest

from deniable_aggregator.access import audit
from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store.rows import DeletedManifest
from deniable_shared.wire.transparency_log import LogEntry
from support.builders.databases import AnyStore, Database
from support.builders.ledgers import admitted, charge_row
from support.builders.store_reports import (
    COLLECTION,
    EPOCH,
    arrival,
    counted,
    manifest_row,
    register,
    sums,
)

MISTAKE = "mistake-aaaaaa"


def allowed(used: bool) -> None:
    assert not used


def test_archiving_is_kept_and_undone_and_changes_nothing_else(
    store: AnyStore, database: Database
) -> None:
    assert not store.collections()[COLLECTION].archived
    store.set_collection_archived(COLLECTION, archived=True, audit=None)
    store.commit([arrival(1)], sums)
    store.close()
    again = database.open()
    found = again.collections()[COLLECTION]
    assert (found.archived, found.closed) == (True, False)
    assert counted(again) == {EPOCH: (1, [1])}
    again.set_collection_archived(COLLECTION, archived=False, audit=None)
    assert not again.collections()[COLLECTION].archived
    again.close()


def test_archiving_twice_is_one_entry_of_the_audit_log(store: AnyStore) -> None:
    entry = audit.AuditEntry.of("collection-archived", actor="ana", at=1)
    for _ in range(2):
        store.set_collection_archived(COLLECTION, archived=True, audit=entry)
    assert [audit.parse(row).act for row in store.audit()] == ["collection-archived"]


def test_a_deleted_collection_is_gone_and_its_log_entries_stay(store: AnyStore) -> None:
    register(store, MISTAKE)
    register(store, MISTAKE, version=2)
    store.count_rejections(MISTAKE, {"too-early": 2})
    store.flush()
    store.count_rejections(MISTAKE, {"too-early": 1})
    entry = audit.AuditEntry.of("collection-deleted", actor="ana", at=1)
    store.delete_collection(MISTAKE, allowed, audit=entry)
    assert store.collections().keys() == {COLLECTION}
    assert store.manifests() == [manifest_row()]
    assert store.deleted_manifests() == [
        DeletedManifest(MISTAKE, version, manifest_row(MISTAKE, version).digest)
        for version in (1, 2)
    ]
    entries = [manifest_row(), manifest_row(MISTAKE), manifest_row(MISTAKE, 2)]
    assert store.log() == [LogEntry("manifest", row.digest) for row in entries]
    assert [audit.parse(row).act for row in store.audit()] == ["collection-deleted"]
    with pytest.raises(StoreError, match="has no manifest"):
        store.rejections(MISTAKE)
    store.flush()
    register(store, "next-aaaaaa")
    assert store.rejections("next-aaaaaa") == {}


def test_the_same_manifest_is_registered_again_with_an_entry_of_its_own(store: AnyStore) -> None:
    register(store, MISTAKE)
    store.set_collection_closed(MISTAKE, audit=None)
    store.delete_collection(MISTAKE, allowed, audit=None)
    register(store, MISTAKE)
    assert store.log_head()[0] == 3
    assert store.manifests() == [manifest_row(), manifest_row(MISTAKE)]
    assert not store.collections()[MISTAKE].closed
    assert store.commit([arrival(1, collection=MISTAKE)], sums)
    store.flush()


def test_a_refusal_inside_the_transaction_deletes_nothing(store: AnyStore) -> None:
    def refused(used: bool) -> None:
        assert not used
        raise RuntimeError("its first epoch has begun")

    register(store, MISTAKE)
    entry = audit.AuditEntry.of("collection-deleted", actor="ana", at=1)
    with pytest.raises(RuntimeError, match="has begun"):
        store.delete_collection(MISTAKE, refused, audit=entry)
    assert store.collections().keys() == {COLLECTION, MISTAKE}
    assert store.manifests() == [manifest_row(), manifest_row(MISTAKE)]
    assert (store.deleted_manifests(), store.audit()) == ([], [])


@pytest.mark.parametrize("use", ["report", "closed", "charge"])
def test_what_was_used_is_said_to_be_and_not_deleted_by_the_database(
    store: AnyStore, use: str
) -> None:
    if use == "report":
        store.commit([arrival(1)], sums)
    elif use == "closed":
        store.close_epoch(COLLECTION, EPOCH, 0, audit=None)
    else:
        store.charge(charge_row(1), admitted, audit=None)
    said: list[bool] = []
    with pytest.raises(StoreError, match=r"(?i)foreign key"):
        store.delete_collection(COLLECTION, said.append, audit=None)
    assert said == [True]
    assert store.collections().keys() == {COLLECTION}
    assert store.manifests() == [manifest_row()]


def test_a_process_that_knew_a_deleted_collection_goes_on(database: Database) -> None:
    if "postgres" not in database.address:
        pytest.skip("one process alone has a SQLite file open")
    first, second = database.open(), database.open()
    register(first, MISTAKE)
    second.count_rejections(MISTAKE, {"too-early": 1})
    first.delete_collection(MISTAKE, allowed, audit=None)
    second.flush()
    with pytest.raises(StoreError, match=r"(?i)foreign key"):
        second.commit([arrival(1, collection=MISTAKE)], sums)
    register(first, MISTAKE)
    second.collections()
    assert second.commit([arrival(1, collection=MISTAKE)], sums)
    assert len(first.tallies(MISTAKE, EPOCH, EPOCH)) == 1
    for store in (first, second):
        store.close()


@pytest.mark.parametrize("change", ["delete from {}", "update {} set collection = 'x'"])
def test_sql_itself_keeps_what_was_deleted_noted(
    store: AnyStore, database: Database, change: str
) -> None:
    register(store, MISTAKE)
    store.delete_collection(MISTAKE, allowed, audit=None)
    with database.refusing("append-only"):
        database.execute(change.format("deleted_manifests"))
    with database.refusing("append-only"):
        database.execute("delete from manifests")
