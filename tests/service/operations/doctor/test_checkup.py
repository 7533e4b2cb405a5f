"""What `deniable doctor` looks at: every check can fail, and says what cures it."""

from __future__ import annotations

import importlib.util
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.keys import DELEGATION_SECONDS
from deniable_aggregator.operations import readiness
from deniable_aggregator.operations.doctor import Check, checkup, installation
from deniable_aggregator.operations.process import running_server
from deniable_aggregator.store import schema
from support.builders.data_directory import DAY, NOON, prepared

PUBLIC = "https://telemetry.example.org"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = prepared(tmp_path)
    for path in made.data.rglob("*"):
        os.utime(path, (NOON, NOON))
    return made


def levels(settings: Settings, what: str, now: float = NOON) -> list[str]:
    found = checkup.of_directory(settings, lambda: now)
    return [check.level for check in found if check.what == what]


def test_a_level_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="ok, warn or fail"):
        Check("fine", "x", "y")


@pytest.mark.parametrize(
    ("version", "level"),
    [("3.6.23", "fail"), ("3.36.0", "fail"), ("3.37.0", "warn"), ("3.51.2", "warn")],
)
def test_every_sqlite_with_a_known_fault_is_told_of(version: str, level: str) -> None:
    found = list(installation.sqlite_checks(version, "sqlite3"))
    assert level in {check.level for check in found}
    assert all(version in check.message for check in found)


@pytest.mark.parametrize("version", ["3.51.3", "3.53.0", "4.0"])
def test_a_sqlite_without_known_faults_is_well(version: str) -> None:
    [found] = installation.sqlite_checks(version, "sqlite3")
    assert found.level == "ok"


def test_every_fault_ends_after_it_began() -> None:
    assert all(fault.first < fault.fixed for fault in installation.SQLITE_FAULTS)


def test_distributions_of_two_versions_fail_and_those_of_one_are_named() -> None:
    [same] = installation.versions(lambda name: "1.2.3")
    [mixed] = installation.versions(
        {"deniable-shared": "1", "deniable-aggregator": "2"}.__getitem__
    )
    assert (same.level, mixed.level) == ("ok", "fail")
    assert "granian 1.2.3" in same.message


def test_a_python_that_is_too_old_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "OLDEST_PYTHON", (99, 0))
    assert [c.level for c in checkup.of_machine() if c.what == "python"] == ["fail"]


def test_without_the_client_demonstrations_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert [c.level for c in checkup.of_machine() if c.what == "client"] == ["warn"]


@pytest.mark.parametrize(
    ("wrong", "level"),
    [
        ({"trusted_proxy": True, "host": "192.0.2.1", "public_url": PUBLIC}, "warn"),
        ({"public_url": "http://telemetry.example.org"}, "fail"),
        ({"public_url": PUBLIC}, "warn"),
        ({"public_url": PUBLIC, "trusted_proxy": True}, "ok"),
        ({}, "ok"),
    ],
)
def test_settings_that_do_not_fit_a_proxy_are_told_of(wrong: dict[str, object], level: str) -> None:
    [found] = installation.proxies(Settings(**wrong))  # type: ignore[arg-type]  # one dict has values of many types
    assert found.level == level


@pytest.mark.parametrize(
    ("version", "level"), [(schema.HEAD, "ok"), ("0001", "warn"), ("9999", "fail")]
)
def test_a_schema_that_is_not_this_programs_is_told_of(
    settings: Settings, version: str, level: str
) -> None:
    with closing(sqlite3.connect(settings.database)) as db:
        db.execute("update alembic_version set version_num = ?", (version,))
        db.commit()
    assert installation.schema_check(settings).level == level


def test_a_missing_database_and_a_file_that_is_none_fail(settings: Settings) -> None:
    for path in settings.data.glob("deniable.db*"):
        path.unlink()
    assert installation.schema_check(settings).level == "fail"
    settings.database.write_bytes(b"not a database, but as long as the header of one is: 100 b" * 9)
    assert installation.schema_check(settings).level == "fail"


@pytest.mark.parametrize(
    ("rotate", "days", "level"),
    [(90, 91, "ok"), (90, 93, "warn"), (0, 366, "ok"), (0, 368, "warn")],
)
def test_a_key_that_nobody_replaces_is_told_of(
    settings: Settings, rotate: int, days: int, level: str
) -> None:
    rotated = Settings(data=settings.data, rotate_keys_days=rotate)
    assert installation.key_age(rotated, NOON + days * DAY).level == level


def test_without_a_key_no_report_can_be_opened(settings: Settings) -> None:
    (settings.data / "keys" / "report-1.key").unlink()
    assert installation.key_age(settings, NOON).level == "fail"


@pytest.mark.parametrize(
    ("left", "level"), [(0, "fail"), (DAY, "warn"), (59 * DAY, "warn"), (61 * DAY, "ok")]
)
def test_a_delegation_near_its_end_is_told_of(settings: Settings, left: int, level: str) -> None:
    now = NOON + DELEGATION_SECONDS - left
    assert levels(settings, "delegation", now) == [level]


def test_a_delegation_that_is_none_fails(settings: Settings) -> None:
    (settings.data / "keys" / "delegation.json").write_text("{}")
    assert levels(settings, "delegation") == ["fail"]


@pytest.mark.parametrize(
    ("days", "level"), [(0, "ok"), (10, "ok"), (12, "warn")], ids=lambda value: str(value)
)
def test_a_key_list_near_its_end_is_told_of(settings: Settings, days: int, level: str) -> None:
    with closing(sqlite3.connect(settings.database)) as db:
        [[envelope]] = db.execute("select envelope from key_lists")
    trust = (settings.data / "trust").read_text().strip()
    assert checkup._key_list(envelope, trust, NOON + days * DAY).level == level


@pytest.mark.parametrize(("free", "level"), [(1 << 20, "fail"), (1 << 28, "warn"), (1 << 40, "ok")])
def test_a_disk_with_little_left_is_told_of(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, free: int, level: str
) -> None:
    monkeypatch.setattr(readiness, "free_bytes", lambda place: free)
    assert levels(settings, "disk") == [level]


def test_a_directory_that_cannot_be_written_fails(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    assert levels(settings, "disk") == ["fail"]


def test_what_a_killed_server_left_is_told_of(settings: Settings) -> None:
    live = running_server.RunningServer(address="http://127.0.0.1:9", token="dn_x", pid=2**22 - 1)
    assert levels(settings, "server") == ["ok"]
    running_server.write(settings.data, live)
    assert levels(settings, "server") == ["warn"]


def test_a_clock_behind_the_files_fails(settings: Settings) -> None:
    assert levels(settings, "clock") == ["ok"]
    assert levels(settings, "clock", NOON - 61) == ["fail"]
