"""Acts outside the API, failed sign-ins, and an audit log without its end."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from deniable_aggregator.access import users
from deniable_aggregator.access.audit import AuditEntry, parse
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.keys import DELEGATION_SECONDS, renew_delegation
from deniable_aggregator.operations.backup import copying
from deniable_aggregator.operations.service import Service
from deniable_aggregator.releases.rollback_guard import heads_file
from deniable_aggregator.store import schema, schema_version
from deniable_aggregator.store.opening import open_store
from deniable_aggregator.web.auth import throttle
from support.builders.api_world import DAY, World, opened
from support.builders.data_directory import prepared
from support.builders.previous_schema import sqlite_before
from support.doubles.browser import PASSWORD, Browser
from support.processes.deniable_command import Deniable


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(users, "LOG2_N", 4)
    with opened(tmp_path) as service:
        yield service


def entries(service: World) -> list[dict[str, Any]]:
    """Those after `deniable init`'s."""
    found = service.get("/v1/audit", "admin").get_json()["entries"]
    assert isinstance(found, list)
    return found[1:]


def newest(settings: Settings) -> AuditEntry:
    with closing(open_store(settings)) as store:
        return parse(store.audit()[-1])


def failures(service: World) -> list[str]:
    """Who failed to sign in, as the log names them."""
    return [each["actor"] for each in entries(service) if each["act"] == "sign-in-failed"]


@pytest.mark.slow
def test_a_failed_sign_in_has_an_entry_that_names_nobody_unknown(service: World) -> None:
    service.running.users.add("ana", "viewer", PASSWORD, audit=None)
    browser = Browser.at(service.app)
    for name in ("ana", "a password in the wrong field"):
        browser.sign_in(name, "not the right one")
    assert failures(service) == ["ana (password)", "nobody known (password)"]
    written = json.dumps(entries(service))
    assert not [text for text in ("wrong field", "right one", "127.0.0.1") if text in written]


@pytest.mark.exhaustive
@pytest.mark.slow
def test_failed_sign_ins_cannot_fill_the_log(service: World) -> None:
    browser = Browser.at(service.app)
    for number in range(throttle.OF_NETWORK):
        browser.sign_in(f"somebody {number % 15}", "not the right one")
    assert len(failures(service)) == throttle.ENTRIES_OF_ALL
    service.clock.now += throttle.WINDOW_SECONDS
    for _ in range(3):
        browser.sign_in("somebody", "not the right one")
    assert len(failures(service)) == throttle.ENTRIES_OF_ALL + throttle.ENTRIES_OF_NAME


def test_a_new_delegation_has_an_entry_with_its_first_key_list(service: World) -> None:
    service.clock.now += 3 * DAY
    data, now = service.running.settings.data, service.clock()
    renew_delegation(data, operator_seed=service.operator_seed, now=now)
    for _ in range(2):
        service.running.tick()
    [entry] = entries(service)
    assert (entry["act"], entry["actor"]) == ("keys-delegated", "deniable keys delegate")
    assert entry["details"] == {"until": str(int(now) + DELEGATION_SECONDS)}
    service.clock.now += 8 * DAY
    service.running.tick()
    assert len(entries(service)) == 1


def test_an_older_schema_that_is_migrated_has_an_entry(tmp_path: Path) -> None:
    settings = prepared(tmp_path)
    kept = settings.database.rename(tmp_path / "whole.db")
    before = sqlite_before(kept, settings.database)
    assert schema_version.migrate(settings, lambda: 7.0) == (before, schema.HEAD)
    entry = newest(settings)
    assert (entry.at, entry.act, entry.actor) == (7, "schema-migrated", "deniable store migrate")
    assert entry.details == {"before": before, "after": schema.HEAD}
    assert schema_version.migrate(settings, lambda: 9.0) == (schema.HEAD, schema.HEAD)
    assert newest(settings).at == 7


@pytest.mark.slow
def test_a_restored_database_says_so_and_where_the_log_was_known_to_end(tmp_path: Path) -> None:
    settings = prepared(tmp_path)
    saved = copying.back_up(settings, tmp_path / "saved.zip", None, 0)
    service = Service.open(settings)
    service.users.add("ana", "viewer", PASSWORD, audit=None)
    made = AuditEntry.of("token-made", actor="Ana", at=1)
    service.tokens.create("viewer", "lost", audit=made)
    service.tick()
    service.close()
    lost = heads_file.read(settings.data)
    assert lost is not None
    assert lost.audit.size == 2
    for path in settings.data.glob("deniable.db*"):
        path.unlink()
    copying.restore(
        settings, saved, passphrase=str, nothing_released_since=False, clock=lambda: 7.0
    )
    entry = newest(settings)
    assert (entry.at, entry.act, entry.actor) == (7, "restored", "deniable store restore")
    assert entry.details == {"known_to_end": f"2:{lost.audit.head}"}
    with closing(open_store(settings)) as store:
        after = heads_file.read(settings.data)
        assert after is not None
        assert (after.audit.size, after.audit.head) == store.audit_head()


@pytest.fixture(scope="module")
def noted_deniable(tmp_path_factory: pytest.TempPathFactory) -> Deniable:
    """Of a directory whose heads.json has seen three entries."""
    command = Deniable(tmp_path_factory.mktemp("noted"))
    command.prepare()
    for label in ("first", "second"):
        command.done("access", "tokens", "new", "--role", "viewer", "--label", label)
    service = Service.open(Settings(data=command.data))
    service.tick()
    service.close()
    return command


@pytest.fixture
def deniable(noted_deniable: Deniable, tmp_path: Path) -> Deniable:
    return noted_deniable.copy(tmp_path)


def last_taken_away(data: Path) -> None:
    """An attacker with access to the database does this."""
    with closing(sqlite3.connect(data / "deniable.db")) as db:
        named = db.execute("select name from sqlite_master where type = 'trigger'").fetchall()
        for (name,) in named:
            db.execute(f"drop trigger {name}")
        db.execute("delete from audit where position = 3")
        db.commit()


CHECKS = (("access", "audit", "--verify"), ("doctor", "verify-log"), ("doctor",))


@pytest.mark.slow
@pytest.mark.parametrize("command", CHECKS, ids=" ".join)
def test_an_entry_taken_from_the_end_is_missed(
    deniable: Deniable, tmp_path: Path, command: tuple[str, ...]
) -> None:
    deniable.done(*command)
    last_taken_away(tmp_path / "data")
    said = deniable(*command)
    assert said.exit_code == 1
    assert "the end that heads.json has noted, 3:" in " ".join(said.output.split())


@pytest.mark.slow
def test_a_log_that_lost_its_end_goes_on_and_says_so(deniable: Deniable, tmp_path: Path) -> None:
    data = tmp_path / "data"
    seen = heads_file.read(data)
    assert seen is not None
    last_taken_away(data)
    service = Service.open(Settings(data=data))
    service.tick()
    assert heads_file.read(data) == seen
    service.close()
    for _ in range(2):
        deniable.done("ledger", "reconcile")
    entry = newest(Settings(data=data))
    assert entry.act == "ledger-reconciled"
    assert entry.details == {"audit_log": f"goes on without 3:{seen.audit.head}"}
    for command in CHECKS:
        deniable.done(*command)
    assert deniable.json("access", "audit", "--verify")["size"] == 3
