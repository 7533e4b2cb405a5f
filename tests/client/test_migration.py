"""A state file of version 1, as the client that asked once wrote it, goes on as if nothing were."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from deniable_client import Ceiling, Client, Outcome
from deniable_client._state import keychain, schema
from deniable_client.testing import FakeClock, RecordingTransport
from support.builders.client_world import OTHER, SETTINGS, START, URL
from support.doubles.statement_crashes import Killed, Killer, killed_before
from support.tiers import by_tier

DUMP = (Path(__file__).parent / "fixtures" / "state-1.sql").read_text()
TOLD: dict[str, Any] = json.loads(DUMP.splitlines()[2].removeprefix("-- "))
NAMES: dict[str, str] = TOLD["collections"]
WANTED: dict[str, dict[str, Any]] = TOLD["would have tossed"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file."""
    file = tmp_path / "state.db"
    with closing(sqlite3.connect(file)) as db:
        db.executescript(DUMP)
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
    return file


def open_client(path: Path) -> Client:
    """The app's next version."""
    return Client(
        URL,
        trust=TOLD["trust"],
        state=path,
        ceiling=Ceiling(2, 4, 8),
        transport=RecordingTransport(),
        clock=FakeClock(START),
        background=False,
    )


@pytest.fixture
def client(path: Path) -> Iterator[Client]:
    """The app's next version on that file."""
    with open_client(path) as client:
        yield client


def look(path: Path, question: str, *values: object) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(question, values).fetchall()


def test_consent_ledger_and_queue_are_kept(client: Client, path: Path) -> None:
    spent = {name: each.spent for name, each in client.budget().collections.items()}
    assert spent == {"answered": 1, "waiting": 1, "unanswered": 0, "twin": 1}
    assert client.consent() == "granted"
    assert client.flush().waiting == 2
    assert look(path, "PRAGMA user_version") == [(schema.VERSION,)]


@pytest.mark.parametrize("name", ["answered", "waiting", "older twin"])
def test_what_was_answered_stays_answered(client: Client, name: str) -> None:
    assert client.record(NAMES[name], OTHER) is Outcome.ALREADY_ANSWERED


@pytest.mark.parametrize(("name", "value"), [("unanswered", SETTINGS), ("newer twin", OTHER)])
def test_a_question_not_yet_answered_tosses_the_coin_it_would_have_tossed(
    client: Client, path: Path, name: str, value: object
) -> None:
    assert client.record(NAMES[name], value) is Outcome.QUEUED
    wanted = WANTED[NAMES[name]]
    (row,) = look(
        path, "SELECT epoch, payload, report_id FROM outbox WHERE collection = ?", NAMES[name]
    )
    assert row == (
        wanted["epoch"],
        bytes.fromhex(wanted["payload"]),
        bytes.fromhex(wanted["report_id"]),
    )


def test_no_two_collections_share_a_key_any_more(client: Client, path: Path) -> None:
    client.close()
    keys = [key for (key,) in look(path, "SELECT key FROM course")]
    assert len(keys) == len(set(keys)) == 5
    assert None not in keys


def test_the_key_of_a_name_leaves_no_byte_once_it_is_used(path: Path) -> None:
    (before,) = look(path, "SELECT key FROM name WHERE name = 'unanswered'")[0]
    with open_client(path) as client:
        client.record("unanswered", SETTINGS)
    assert before not in path.read_bytes()
    assert keychain.step(before) in path.read_bytes()


def test_a_denied_file_gets_no_key(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE installation SET consent = 'denied'")
        db.execute("UPDATE name SET key = NULL")
    with open_client(path) as client:
        assert client.record("unanswered", SETTINGS) is Outcome.NO_CONSENT
    assert look(path, "SELECT count(key) FROM course") == [(0,)]


def attempt(act: Callable[[], object], killer: Killer) -> None:
    try:
        with killed_before(killer):
            act()
    except Killed:
        pass


@pytest.mark.slow
@pytest.mark.deeper
def test_a_migration_is_whole_or_did_not_happen(path: Path, tmp_path: Path) -> None:
    at, versions = 0, set()
    while True:
        file = tmp_path / f"{at}.db"
        file.write_bytes(path.read_bytes())
        killer = Killer(at, file, tmp_path / f"grave-{at}")
        attempt(lambda file=file: open_client(file).close(), killer)  # type: ignore[misc]  # mypy infers no lambda with a default
        if not killer.dead:
            break
        copy = killer.grave / file.name
        versions.update(look(copy, "PRAGMA user_version"))
        with open_client(copy) as client:
            assert client.record("unanswered", SETTINGS) is Outcome.QUEUED
            assert client.budget().spent == 4
        at += by_tier(3, 1)
    assert versions == {(1,), (schema.VERSION,)}
