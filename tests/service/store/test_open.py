"""Opening: which schema is there, how it gets there, what a store says when it is closed."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path

import pytest

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store import schema
from deniable_aggregator.store.sqlite import schema as sqlite_schema
from support.builders.databases import COLLECTION, KINDS, AnyStore, Database, Sqlite
from support.builders.store_reports import EPOCH, arrival, counted, sums

RELEASED = {
    "postgres/0001_spine.sql": "9fb72734acc403d7773449a2f3552776a628e81ebd05142af49b76fb2c04e453",
    "postgres/0002_ledger.sql": "35b96568f628e6e62b9616a7adf779373934d4da0d194e86398b87a05493af57",
    "postgres/0003_retention.sql": (
        "64bfd180b744bcb9e618733be7c014590fd5f7acecc833508d92d740c6992681"
    ),
    "postgres/0004_access.sql": "a594918ce634eb23dde06ba371a24848b4998426b91ec8dd811bc4a677d39d0f",
    "postgres/0005_views.sql": "d0515040c6a6cd514ecf373dcf7b8e014f7be36dcaf9e02b63d2a5ae7295f6d3",
    "postgres/0006_blocks.sql": "d300bc54943b4168b2fd47ff9c6b4a5654cd3e1b2fd734347a1608767d0eaac2",
    "postgres/0007_vouchers.sql": (
        "84b1a7cf2189c1a3548d1b73eba81f2efca02a68dfd31a15858ac8e25899f15a"
    ),
    "postgres/0008_spools.sql": "904817ff1d10a06519fa31f4b89fd81da2a022f96771f107b0f021b509e70dc5",
    "postgres/0009_checksums.sql": (
        "f52eaf28cb6e996fb5eec8d45e704bc96be8779411a33d85a4be1acf2e39a091"
    ),
    "postgres/0010_archived.sql": (
        "45b1928a34c0cfa5e7dbfe94ec85aec7df0ee8da1221806f5ee6ea7f3ce03f2b"
    ),
    "postgres/0011_notes.sql": ("b2e0c7493283643ab8415dc35b7ce32bfa72da09a54395ee11fd3b940861645a"),
    "postgres/0012_alerts.sql": (
        "00d0c468a8befc7e72eb691f91b0bb06751569a29d3904839d723f09390f21c3"
    ),
    "sqlite/0001_spine.sql": "2eadeb17b1b579d72f5e3c30399793304dd96d0f02b211e97cd66dd439642fd1",
    "sqlite/0002_ledger.sql": "59818cb20fbb60f7d6aa3a0036177c932a8cf18cd1099c291bd691ea5bbcfbe9",
    "sqlite/0003_retention.sql": "7a5a49199a0d87605c69327c829bf17ca223229995b5b6c4045264d317068ccb",
    "sqlite/0004_access.sql": "71038f63c1f658898ec1ea6ba776284039c4f9a5d1cc6fe7292d1dd1ea192fd9",
    "sqlite/0005_views.sql": "11a9fd5152cb458c569c1ce1377aca1625cee998ba77289b69010006856e9475",
    "sqlite/0006_blocks.sql": "3a5d469c908b881b35f193f8c8f42d854504fa179e85e38930a9e472a7e589df",
    "sqlite/0007_vouchers.sql": "733ae86a50577799990041afaec547c395f2573d0bf351a5587df25a3b174375",
    "sqlite/0008_spools.sql": "d9ccc9c22da4d6241171fd69da268ea9cda90f33d520c5dc6120455e724e62bf",
    "sqlite/0009_checksums.sql": (
        "574548fc68ec7488f05eb520cfc7792a51bdb9fa15221ae6644e55dc2b5d0886"
    ),
    "sqlite/0010_archived.sql": (
        "200e13bf22f724da8afadb84ce04437cb8bfd6a3b1be7936b9c1201833cb04e6"
    ),
    "sqlite/0011_notes.sql": ("de36f1cd166d2541871790229998b40960bd1cc5b3c347a9ce65c16f2519e773"),
    "sqlite/0012_alerts.sql": ("ec61212289cfc85f01bb476125580d0561780ff7c46d29e632129943bee67262"),
}
"""SHA-256 of every migration that a database somewhere may have had: a change is a new file."""


def test_readers_see_what_was_committed_while_a_writer_is_at_work(store: AnyStore) -> None:
    store.commit([arrival(1)], sums)
    with store._connections.write() as db:
        db.execute("delete from seen")
        found: list[object] = []
        reader = threading.Thread(target=lambda: found.append(counted(store)))
        reader.start()
        reader.join()
    assert found == [{EPOCH: (1, [1])}]


def test_readers_cannot_write(store: AnyStore) -> None:
    with pytest.raises(StoreError, match=r"read-?only"), store._connections.read() as db:
        db.execute("delete from tokens")


def test_a_closed_store_says_so(store: AnyStore) -> None:
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.epochs(COLLECTION)
    with pytest.raises(StoreError, match="closed"):
        store.commit([arrival(1)], sums)


def test_migrations_are_numbered_without_a_gap_up_to_the_head() -> None:
    numbers = [name[:4] for name in sorted(path.name for path in scripts("sqlite"))]
    assert numbers == [f"{number:04}" for number in range(1, int(schema.HEAD) + 1)]


def scripts(kind: str) -> list[Path]:
    return list((schema.FOLDER / kind).glob("*.sql"))


def test_a_released_migration_never_changes_and_all_are_listed() -> None:
    found = {
        f"{kind}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()
        for kind in KINDS
        for path in scripts(kind)
    }
    assert found == RELEASED


def test_both_databases_have_the_same_migrations() -> None:
    names = [{path.name for path in scripts(kind)} for kind in KINDS]
    assert names[0] == names[1]


def test_opening_twice_changes_nothing(database: Database) -> None:
    before = schema_of(database)
    database.open().close()
    assert schema_of(database) == before
    assert database.execute("select version_num from alembic_version") == [(schema.HEAD,)]


def schema_of(database: Database) -> list[tuple[object, ...]]:
    if isinstance(database, Sqlite):
        return database.execute("select sql from sqlite_master order by name")
    return database.execute(
        "select table_name, column_name, data_type, column_default from information_schema.columns"
        " where table_schema = 'public' order by 1, 2"
    )


def test_stores_that_open_an_empty_database_at_once_all_find_it_filled(unfilled: Database) -> None:
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: unfilled.open(), range(1 if is_file(unfilled) else 4)))
    assert [store.log_head()[0] for store in stores] == [0] * len(stores)
    for store in stores:
        store.close()


def is_file(database: Database) -> bool:
    """The directory's lock keeps a second store away from a file."""
    return isinstance(database, Sqlite)


def test_a_migration_that_fails_leaves_nothing_behind(
    unfilled: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in KINDS:
        (tmp_path / kind).mkdir()
        whole = (schema.FOLDER / kind / "0001_spine.sql").read_text()
        (tmp_path / kind / "0001_spine.sql").write_text(f"{whole}\ncreate table log (n integer);\n")
    monkeypatch.setattr(schema, "FOLDER", tmp_path)
    with pytest.raises(StoreError, match=r"log.* already exists"):
        unfilled.open()
    assert schema_of(unfilled) == []
    monkeypatch.undo()
    unfilled.open().close()
    assert unfilled.execute("select version_num from alembic_version") == [(schema.HEAD,)]


def test_migrations_before_the_one_that_fails_stay(
    unfilled: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a migration computes is part of its transaction."""

    def fail(*_: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setitem(schema._COMPUTED, "0009", fail)
        with pytest.raises(StoreError, match="disk is full"):
            unfilled.open()
    assert unfilled.execute("select version_num from alembic_version") == [("0008",)]
    assert "seal" not in str(schema_of(unfilled))
    unfilled.open().close()
    assert unfilled.execute("select version_num from alembic_version") == [(schema.HEAD,)]


def test_a_file_that_another_process_upgrades_meanwhile_is_upgraded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    begin = sqlite_schema._transaction
    turns = count()

    def begin_late(connection: sqlite3.Connection) -> AbstractContextManager[sqlite3.Connection]:
        if next(turns) == 3:
            sqlite_schema.migrate(path)
        return begin(connection)

    monkeypatch.setattr(sqlite_schema, "_transaction", begin_late)
    assert sqlite_schema.migrate(path) is None
    assert sqlite_schema.version_of(path) == schema.HEAD


def test_the_database_of_a_newer_program_is_refused(database: Database) -> None:
    database.execute("update alembic_version set version_num = '9999'")
    with pytest.raises(
        StoreError, match=r"schema 9999, but this program supports only up to \d{4}"
    ):
        database.open()
