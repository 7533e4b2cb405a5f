"""`deniable doctor verify-log`: what it proves, and every way in which a log can be wrong."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.client.service_client import ServiceClient
from deniable_aggregator.operations.doctor import log_audit
from deniable_aggregator.operations.doctor.log_audit import Chain
from deniable_shared.errors import ForkError
from deniable_shared.wire.transparency_log import LogEntry
from support.builders.api_world import World, authored, opened
from support.builders.store_reports import append_log
from support.processes.deniable_command import Deniable


@pytest.fixture(scope="module")
def rotated(tmp_path_factory: pytest.TempPathFactory) -> Deniable:
    """A directory whose log has a collection and a second key."""
    command = Deniable(tmp_path_factory.mktemp("rotated"))
    command.prepare()
    command.done("collections", "apply", command.write("settings.toml"))
    command.done("keys", "rotate", "--now", "--yes")
    return command


@pytest.fixture
def deniable(rotated: Deniable, tmp_path: Path) -> Deniable:
    return rotated.copy(tmp_path)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[World]:
    with opened(tmp_path / "world") as service:
        service.register(authored())
        yield service


@contextmanager
def changed(deniable: Deniable, *statements: str) -> Iterator[None]:
    """The database after an edit by an attacker, who first removes the triggers."""
    with closing(sqlite3.connect(deniable.data / "deniable.db", isolation_level=None)) as db:
        triggers = db.execute("select name from sqlite_master where type = 'trigger'").fetchall()
        for (name,) in triggers:
            db.execute(f"drop trigger {name}")
        for statement in statements:
            db.execute(statement)
    yield


def verified(deniable: Deniable) -> list[str]:
    """What fails."""
    answer = deniable("doctor", "verify-log", "--json")
    found = [check for check in json.loads(answer.stdout)["checks"] if check["level"] == "fail"]
    assert answer.exit_code == (1 if found else 0)
    return [check["message"] for check in found]


def test_an_untouched_log_is_well(deniable: Deniable) -> None:
    shown = deniable.done("doctor", "verify-log")
    assert "fail" not in shown
    for what in ("of the database: 4 entries end in", "1, each signed", "3, each signed"):
        assert what in shown


@pytest.mark.slow
def test_the_head_is_the_one_the_service_shows(deniable: Deniable) -> None:
    rotated = deniable.json("keys", "list")["log"]
    answer = deniable.json("doctor", "verify-log", "--head", rotated["head"])
    assert answer["size"] == rotated["size"] + 1
    assert "is not in this log" in deniable("doctor", "verify-log", "--head", "ab" * 32).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("update log set body_hash = zeroblob(32) where position = 2", "broken at entry 2"),
        ("update log set type = 'release' where position = 2", "broken at entry 2"),
        ("update log set head = zeroblob(32) where position = 3", "broken at entry 3"),
        ("delete from manifests", "some logged documents are missing, stored are"),
        (
            "delete from key_lists where version = 3",
            "some logged documents are missing, stored are",
        ),
        ("update manifests set digest = zeroblob(32)", "does not match its body"),
        ("update manifests set position = 1", "not in the log at its place"),
        ("update key_lists set position = 1 where version = 2", "not in the log at its place"),
        ("update key_lists set version = 9 where version = 2", "fell from version"),
    ],
)
def test_what_was_changed_in_the_database_is_named(
    deniable: Deniable, statement: str, message: str
) -> None:
    with changed(deniable, "pragma foreign_keys = off", statement):
        assert any(message in found for found in verified(deniable))


def test_a_log_cut_short_is_missed_by_the_key_lists_over_it(deniable: Deniable) -> None:
    with changed(deniable, "delete from log where position > 2"):
        assert any("not in the log" in found for found in verified(deniable))


def test_a_rewritten_log_fails_at_the_first_key_list_over_the_old_one(
    deniable: Deniable,
) -> None:
    entries = list(log_audit.read_database(Settings(data=deniable.data)).entries)
    entries[0] = LogEntry("release", sha256(b"another past").digest())
    heads = Chain.of(entries).heads
    statements = [
        f"update log set head = x'{head.hex()}' where position = {place}"  # noqa: S608  (the names in it are fixed)
        for place, head in enumerate(heads[1:], start=1)
    ]
    new = entries[0].body_hash.hex()
    first = f"update log set type = 'release', body_hash = x'{new}' where position = 1"  # noqa: S608  (the names in it are fixed)
    with changed(deniable, first, *statements):
        assert any("signed over another log" in found for found in verified(deniable))


def test_a_directory_without_database_is_refused(tmp_path: Path) -> None:
    assert "has no database" in Deniable(tmp_path).refused("doctor", "verify-log")


def connected(service: World) -> ServiceClient:
    client = httpx.Client(
        base_url="http://deniable.test", transport=httpx.WSGITransport(app=service.app.wsgi_app)
    )
    return ServiceClient(client, address="http://deniable.test")


def of_service(service: World, chain: Chain) -> list[str]:
    """What fails when the service's signed documents are held against that chain."""
    with connected(service) as connection:
        trust = service.running.keys.trust
        found = list(log_audit.of_service(connection, chain, trust, service.clock()))
    assert found
    return [check.message for check in found if check.level == "fail"]


def test_a_service_shows_the_log_of_its_database(service: World) -> None:
    with connected(service) as connection:
        shown = log_audit.read_service(connection)
    assert shown == log_audit.read_database(service.running.settings)
    assert of_service(service, shown) == []


@pytest.mark.slow
def test_a_log_of_many_pages_is_read_to_its_end(service: World) -> None:
    for number in range(2_500):
        append_log(service.running.store, "release", number.to_bytes(32))
    with connected(service) as connection:
        shown = log_audit.read_service(connection)
    assert (len(shown.entries), shown.heads[-1].hex()) == service.running.store.log_head()


def test_a_service_that_hides_an_entry_is_found_out(service: World) -> None:
    service.clock.now += 3_600
    service.running.tick()
    kept = log_audit.read_database(service.running.settings)
    others = Chain.of([kept.entries[0], LogEntry("manifest", bytes(32)), *kept.entries[2:]])
    errors = of_service(service, others)
    assert any("signed over a log of 2 entries" in error for error in errors)
    assert any("it is not in the log" in error for error in errors)
    assert log_audit.compare_chains(kept, others).message.endswith("differ from entry 2 on")
    assert log_audit.compare_chains(kept, Chain.of(kept.entries[:-1])).level == "ok"


def test_a_page_whose_head_is_not_that_of_its_entries_is_a_fork(
    service: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    size, _ = service.running.store.log_head()
    monkeypatch.setattr(service.running.store, "log_head", lambda: (size, "ab" * 32))
    with (
        connected(service) as connection,
        pytest.raises(ForkError, match="claims that its log ends"),
    ):
        log_audit.read_service(connection)


def test_a_database_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no database"):
        log_audit.read_database(Settings(data=tmp_path))
