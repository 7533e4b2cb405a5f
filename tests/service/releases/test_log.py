"""`deniable doctor verify-log` over releases: each is in the log, behind its salt."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deniable_aggregator.operations.doctor import log_audit
from support.builders.release_world import FIRST, ReleaseWorld, asked, opened, over


@pytest.fixture
def release_world(tmp_path: Path) -> Iterator[ReleaseWorld]:
    with opened(tmp_path) as release_world:
        release_world.releases.release(release_world.collection, asked(), audit=None)
        release_world.releases.release(
            release_world.collection, asked(epochs=over(FIRST)), audit=None
        )
        yield release_world


def failures(release_world: ReleaseWorld) -> list[str]:
    settings = release_world.service.running.settings
    chain = log_audit.read_database(settings)
    trust = release_world.service.running.keys.trust
    return [
        check.message
        for check in log_audit.of_database(settings, chain, trust)
        if check.level == "fail"
    ]


def change(release_world: ReleaseWorld, statement: str) -> None:
    """An attacker does this, who first removes the triggers."""
    path = release_world.service.running.settings.database
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for (name,) in db.execute("select name from sqlite_master where type = 'trigger'"):
            db.execute(f"drop trigger {name}")
        db.execute(statement)


def test_releases_are_entries_of_the_log_that_verify(release_world: ReleaseWorld) -> None:
    entries = release_world.service.running.store.log()
    assert [entry.type for entry in entries][-2:] == ["release", "release"]
    assert failures(release_world) == []


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("update results set document = cast('{}' as blob)", "is not in the log at its place"),
        ("update results set salt = zeroblob(32)", "is not in the log at its place"),
        ("delete from results", "some logged documents are missing, stored are"),
    ],
)
def test_a_release_that_was_changed_or_lost_is_missed(
    release_world: ReleaseWorld, statement: str, words: str
) -> None:
    change(release_world, statement)
    assert any(words in failure for failure in failures(release_world))


def test_a_database_from_before_the_ledger_verifies_too(release_world: ReleaseWorld) -> None:
    path = release_world.service.running.settings.database
    with closing(sqlite3.connect(path)) as db:
        db.execute("alter table results rename to elsewhere")
        db.execute("update alembic_version set version_num = '0001'")
        db.commit()
    assert failures(release_world) == [
        "some logged documents are missing, stored are: "
        "1 of 1 (manifest), 1 of 1 (keys), 0 of 2 (release)"
    ]
