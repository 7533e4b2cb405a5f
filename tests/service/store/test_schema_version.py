"""Only what is meant to migrate does, and the audit log says so; what reads stops at the schema."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from deniable_aggregator.access import audit
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.service import Service
from deniable_aggregator.store import schema
from deniable_aggregator.store.opening import open_store
from deniable_aggregator.store.schema_version import current_version
from support.builders.data_directory import NOON, prepared, prepared_on_postgres
from support.builders.databases import KINDS
from support.builders.previous_schema import postgres_before, sqlite_before
from support.processes import postgres_server
from support.processes.deniable_command import NOWHERE, Deniable

pytestmark = pytest.mark.slow

READERS = (
    ("doctor",),
    ("collections", "list"),
    ("ledger",),
    ("keys", "list"),
    ("access", "tokens", "list"),
    ("access", "audit"),
)


def aged(deniable: Deniable) -> str:
    """The database as the program before this one left it; its schema."""
    path = deniable.data / "deniable.db"
    return sqlite_before(path.rename(deniable.folder / "whole.db"), path)


def migrations(settings: Settings) -> list[audit.AuditEntry]:
    with closing(open_store(settings)) as store:
        entries = [audit.parse(row) for row in store.audit()]
    return [entry for entry in entries if entry.act == "schema-migrated"]


@pytest.fixture
def deniable(tmp_path: Path) -> Deniable:
    command = Deniable(tmp_path)
    command.prepare()
    return command


def test_a_command_that_reads_leaves_an_older_schema_as_it_is(deniable: Deniable) -> None:
    before = aged(deniable)
    for command in READERS:
        answer = deniable(*command)
        assert current_version(Settings(data=deniable.data)) == before, command
        assert "deniable store migrate" in " ".join(answer.output.split()), command


def test_the_doctor_stops_at_an_older_schema_and_does_not_fail(deniable: Deniable) -> None:
    deniable.environ["DENIABLE_PUBLIC_URL"] = NOWHERE
    aged(deniable)
    answer = deniable("doctor")
    assert answer.exit_code == 0
    assert "is not checked until deniable store migrate" in " ".join(answer.stdout.split())


def test_a_command_makes_no_database_where_it_is_missing(deniable: Deniable) -> None:
    (deniable.data / "deniable.db").unlink()
    assert "the database is missing or empty" in deniable.refused("collections", "list")
    assert "missing or empty" in deniable("doctor").stdout
    assert not (deniable.data / "deniable.db").exists()


def test_init_of_an_older_directory_refuses_and_migrates_nothing(deniable: Deniable) -> None:
    before = aged(deniable)
    assert "is prepared already" in deniable.refused("init")
    assert current_version(Settings(data=deniable.data)) == before


def test_reconcile_goes_on_without_a_database_that_is_missing(deniable: Deniable) -> None:
    path = deniable.write("settings.toml")
    deniable.done("collections", "apply", path)
    for file in deniable.data.glob("deniable.db*"):
        file.unlink()
    said = " ".join(deniable.done("ledger", "reconcile").split())
    assert "No charge is missing" in said
    assert "settings-" in said
    acts = deniable.json("access", "audit")["entries"]
    [entry] = [act for act in acts if act["act"] == "ledger-reconciled"]
    assert entry["details"]["lost"].startswith("settings-")
    assert "restore a backup that has it or register it again" in said
    assert "is registered" in deniable.done("collections", "apply", path)
    assert "register it again" not in deniable.done("ledger", "reconcile")


@pytest.mark.parametrize("kind", KINDS)
def test_a_service_that_migrates_says_so_in_the_audit_log(tmp_path: Path, kind: str) -> None:
    if kind == "sqlite":
        settings = prepared(tmp_path)
        before = sqlite_before(settings.database.rename(tmp_path / "whole.db"), settings.database)
    else:
        made = prepared_on_postgres(tmp_path)
        old = postgres_server.empty()
        before = postgres_before(made.store, old)
        settings = Settings(data=made.data, store=old)
    for _ in range(2):
        Service.open(settings, clock=lambda: NOON, actor="deniable spool drain").close()
    [entry] = migrations(settings)
    assert (entry.at, entry.actor) == (int(NOON), "deniable spool drain")
    assert entry.details == {"before": before, "after": schema.HEAD}
