"""What only a SQLite file has: permissions, pragmas, `insert or replace`, and scripts."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store.sqlite.schema import split_script
from deniable_aggregator.store.sqlite.store import SqliteStore
from support.builders import databases
from support.builders.databases import Sqlite, register
from support.builders.ledgers import admitted, charge_row, result_row
from support.builders.store_reports import COLLECTION, EPOCH, arrival, sums


@pytest.fixture
def file(tmp_path: Path) -> Sqlite:
    """A migrated database file with one collection."""
    made = databases.fresh("sqlite", tmp_path)
    assert isinstance(made, Sqlite)
    return made


def test_the_database_and_its_log_are_the_owners_alone(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "new.db")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    store.close()
    assert modes == {"new.db": 0o600, "new.db-wal": 0o600, "new.db-shm": 0o600}


def test_the_writer_is_durable(file: Sqlite) -> None:
    store = file.open()
    with store._connections.write() as db:
        assert db.execute("pragma synchronous").fetchone() == (2,)
        assert db.execute("pragma journal_mode").fetchone() == ("wal",)
    store.close()


@pytest.mark.parametrize(
    "table", ["charges", "closed_epochs", "log", "manifests", "results", "session_records"]
)
def test_nothing_append_only_is_replaced(file: Sqlite, table: str) -> None:
    store = file.open()
    store.commit([arrival(1)], sums)
    store.close_epoch(COLLECTION, EPOCH, 0, audit=None)
    store.charge(charge_row(1), admitted, audit=None)
    store.store_result(result_row(1), b"zero")
    store.close()
    with file.refusing("append-only|stays closed"):
        file.execute(f"insert or replace into {table} select * from {table}")  # noqa: S608  (the names in it are fixed)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are notes, not tables\n" * 100)
    with pytest.raises(StoreError, match="not a SQLite database"):
        SqliteStore(path)


def test_a_database_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened: No such file or directory"):
        SqliteStore(tmp_path / "missing" / "new.db")


def test_an_older_sqlite_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    with pytest.raises(StoreError, match=r"3\.37\.0 or newer"):
        SqliteStore(tmp_path / "new.db")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("select 1;\nselect 2;\n", ["select 1;", "select 2;"]),
        ("-- why\nselect 1;", ["-- why\nselect 1;"]),
        (
            "create trigger t before update on x\nbegin select 1; select 2; end;\nselect 3;",
            ["create trigger t before update on x\nbegin select 1; select 2; end;", "select 3;"],
        ),
    ],
)
def test_scripts_are_split_into_statements(text: str, wanted: list[str]) -> None:
    assert [statement.strip() for statement in split_script(text)] == wanted


def test_a_script_that_ends_inside_a_statement_is_refused() -> None:
    with pytest.raises(ValueError, match="inside a statement"):
        list(split_script("select 1;\nselect"))


def without_its_log(file: Sqlite, tmp_path: Path) -> SqliteStore:
    """The file alone, as it is copied by hand."""
    copy = tmp_path / "copied.db"
    shutil.copyfile(file.path, copy)
    return SqliteStore(copy)


def test_the_file_alone_has_what_is_registered(file: Sqlite, tmp_path: Path) -> None:
    with closing(file.open()) as store:
        register(store, "theme-000000")
        store.checkpoint(at_once=True)
        with closing(without_its_log(file, tmp_path)) as copied:
            assert copied.collections().keys() == {COLLECTION, "theme-000000"}


def test_the_file_alone_has_every_report_after_an_idle_tick(file: Sqlite, tmp_path: Path) -> None:
    with closing(file.open()) as store:
        store.commit([arrival(1)], sums)
        store.checkpoint()
        with closing(without_its_log(file, tmp_path)) as copied:
            assert copied.epochs(COLLECTION) == []  # it was not idle since the last tick
        store.checkpoint()
        with closing(without_its_log(file, tmp_path)) as copied:
            assert copied.epochs(COLLECTION) == store.epochs(COLLECTION) != []


def test_an_idle_store_checkpoints_once(file: Sqlite, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(file.open()) as store:
        store.commit([arrival(1)], sums)
        for _ in range(2):
            store.checkpoint()
        with monkeypatch.context() as patch:
            patch.setattr(store._connections, "checkpoint", None)
            store.checkpoint()


def test_nothing_is_written_to_a_file_that_was_replaced(file: Sqlite, tmp_path: Path) -> None:
    with closing(file.open()) as store:
        other = tmp_path / "other.db"
        shutil.copyfile(file.path, other)
        other.replace(file.path)
        for act in (store.ping, lambda: store.commit([arrival(1)], sums)):
            with pytest.raises(StoreError, match="removed or replaced while it was open"):
                act()


@pytest.mark.slow
def test_a_store_loads_no_pandas_and_hides_none(tmp_path: Path) -> None:
    """The process imports an empty pandas at the end: the real one takes three seconds."""
    (tmp_path / "pandas.py").touch()
    code = (
        "import sys, deniable_aggregator.store.sqlite.store\n"
        "assert 'pandas' not in sys.modules\nimport pandas\nprint(pandas.__file__)"
    )
    environ = os.environ | {"PYTHONPATH": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, env=environ
    )
    assert ended.stdout.decode().strip() == str(tmp_path / "pandas.py")
