"""Opening: who may read the files, which schema is there, how it gets there."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from deniable_aggregator.errors import StoreError
from deniable_aggregator.store import schema
from deniable_aggregator.store.migrations import script
from deniable_aggregator.store.sqlite import SqliteStore
from support.stores import COLLECTION, EPOCH, arrival, counted, peek, sums


def test_the_database_and_its_log_are_the_owners_alone(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "new.db")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    store.close()
    assert modes == {"new.db": 0o600, "new.db-wal": 0o600, "new.db-shm": 0o600}


def test_the_writer_is_durable_and_the_readers_cannot_write(store: SqliteStore) -> None:
    with store._connections.write() as db:
        assert db.execute("pragma synchronous").fetchone() == (2,)
        assert db.execute("pragma journal_mode").fetchone() == ("wal",)
    with pytest.raises(StoreError, match="readonly"), store._connections.read() as db:
        db.execute("delete from tokens")


def test_readers_see_what_was_committed_while_a_writer_is_at_work(store: SqliteStore) -> None:
    store.commit([arrival(1)], sums)
    with store._connections.write() as db:
        db.execute("delete from seen")
        found: list[object] = []
        reader = threading.Thread(target=lambda: found.append(counted(store)))
        reader.start()
        reader.join(10)
    assert found == [{EPOCH: (1, [1])}]


def test_a_closed_store_says_so(store: SqliteStore) -> None:
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.epochs(COLLECTION)
    with pytest.raises(StoreError, match="closed"):
        store.commit([arrival(1)], sums)


def test_the_head_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", "deniable_aggregator.store:migrations")
    assert ScriptDirectory.from_config(config).get_current_head() == schema.HEAD


def test_migrating_twice_changes_nothing(database: Path) -> None:
    before = peek(database, "select sql from sqlite_master order by name")
    schema.migrate(database)
    assert peek(database, "select sql from sqlite_master order by name") == before
    assert schema.revision_of(database) == schema.HEAD


def test_a_current_database_opens_without_the_migration_tools(database: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from deniable_aggregator.store.sqlite import SqliteStore\n"
        "SqliteStore(Path(sys.argv[1])).close()\n"
        "print(sorted({'alembic', 'sqlalchemy'} & set(sys.modules)))"
    )
    run = [sys.executable, "-c", code, str(database)]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_a_migration_that_fails_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "sqlite"
    broken.mkdir()
    whole = (script.FOLDER / "sqlite" / "0001_spine.sql").read_text()
    (broken / "0001_spine.sql").write_text(whole + "\ncreate table log (again integer);\n")
    monkeypatch.setattr(script, "FOLDER", tmp_path)
    with pytest.raises(Exception, match="table log already exists"):
        schema.migrate(tmp_path / "new.db")
    assert peek(tmp_path / "new.db", "select name from sqlite_master where name = 'cells'") == []
    monkeypatch.undo()
    schema.migrate(tmp_path / "new.db")
    assert schema.revision_of(tmp_path / "new.db") == schema.HEAD


def test_the_database_of_a_newer_program_is_refused(database: Path) -> None:
    connection = sqlite3.connect(database)
    with connection:
        connection.execute("update alembic_version set version_num = '9999'")
    connection.close()
    with pytest.raises(StoreError, match=r"schema 9999, this program knows up to \d{4}"):
        SqliteStore(database)


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
    assert [statement.strip() for statement in script.statements(text)] == wanted


def test_a_script_that_ends_inside_a_statement_is_refused() -> None:
    with pytest.raises(ValueError, match="inside a statement"):
        list(script.statements("select 1;\nselect"))
