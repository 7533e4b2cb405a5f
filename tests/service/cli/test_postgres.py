"""The commands on PostgreSQL: the address is all they need; several workers serve."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.doctor import checkup
from deniable_aggregator.operations.process import running_server
from support.processes import postgres_server
from support.processes.deniable_command import Deniable, wait_until

pytestmark = pytest.mark.slow

PATIENCE = 90.0


@pytest.fixture
def address() -> Iterator[str]:
    """An empty database."""
    made = postgres_server.empty()
    yield made
    postgres_server.drop(made)


@pytest.fixture
def deniable(tmp_path: Path, address: str) -> Deniable:
    """A directory that was prepared with the address in the environment, which is forgotten."""
    command = Deniable(tmp_path)
    command.environ["DENIABLE_STORE"] = address
    command.done("init", "--public-url", "https://t.example.org")
    command.environ["DENIABLE_STORE"] = None
    return command


def asked(url: str, headers: dict[str, str] | None = None) -> httpx.Response:
    return httpx.get(url, headers=headers, timeout=PATIENCE)


def applied(deniable: Deniable) -> str:
    path = deniable.write("settings.toml")
    return deniable.done("collections", "apply", path, "--key", deniable.key)


@pytest.mark.slow
def test_init_keeps_the_address_where_only_the_owner_reads_it(
    deniable: Deniable, address: str
) -> None:
    path = deniable.data / "deniable.toml"
    assert address in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not (deniable.data / "deniable.db").exists()


@pytest.mark.slow
def test_init_again_is_refused(deniable: Deniable, address: str) -> None:
    assert "is prepared already" in deniable.refused("init")
    deniable.environ["DENIABLE_STORE"] = address
    said = deniable.refused("init", "--data", deniable.folder / "second")
    assert "the database has the data of another directory" in said


def test_a_session_works_as_with_sqlite(deniable: Deniable) -> None:
    assert "is registered" in applied(deniable)
    assert "settings-" in deniable.done("collections", "list")
    assert "is in the log" not in deniable.done("doctor", "verify-log")
    assert "of the database: 2 entries" in deniable.done("doctor", "verify-log")


def test_the_doctor_looks_at_the_server_and_at_what_waits(
    deniable: Deniable, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkup, "_POSTGRES", "select '18.4', 'on', 'on'")
    server, roll_up = checkup.of_postgres(Settings(store=address))
    assert (server.level, server.message) == ("ok", "18.4")
    assert (roll_up.level, roll_up.message.partition(",")[0]) == ("ok", "0 batches wait")
    monkeypatch.setattr(checkup, "MANY_WAITING", -1)
    assert [check.level for check in checkup.of_postgres(Settings(store=address))] == ["ok", "warn"]


def test_the_doctor_fails_where_fsync_is_off(deniable: Deniable) -> None:
    result = deniable("doctor")
    assert "fsync is off" in result.output
    assert "  sqlite " not in result.output
    assert result.exit_code == 1


def test_the_doctor_says_when_the_server_is_gone_and_shows_no_password(
    deniable: Deniable,
) -> None:
    deniable.environ["DENIABLE_STORE"] = "postgresql://me:secret@127.0.0.1:1/x"
    result = deniable("doctor")
    assert result.exit_code == 1
    assert "the database refuses: connection" in result.output
    assert "secret" not in result.output


def test_more_workers_with_sqlite_are_refused_with_the_reason(tmp_path: Path) -> None:
    deniable = Deniable(tmp_path)
    deniable.prepare()
    said = deniable.refused("serve", "--workers", "2")
    assert "workers must be 1 with SQLite, which one process writes at a time" in said


@pytest.mark.exhaustive
@pytest.mark.processes
def test_workers_serve_one_directory_and_one_that_is_killed_is_replaced(
    deniable: Deniable,
) -> None:
    with deniable.process("serve", "--port", "0", "--workers", "2") as process:
        wait_until("server.json", lambda: running_server.find(deniable.data) is not None)
        assert "is registered" in applied(deniable)
        live = running_server.read(deniable.data)
        assert live is not None
        ask = f"{live.address}/v1/collections/settings/manifest"
        before = workers(live.pid)
        assert len(before) == 2
        os.kill(before.pop(), signal.SIGKILL)
        lock = deniable.data / "lock"
        wait_until("a new one", lambda: any(opens(pid, lock) for pid in workers(live.pid) - before))
        wait_until("an answer", lambda: answers(ask))
        assert [asked(ask).status_code for _ in range(10)] == [200] * 10
        os.kill(live.pid, signal.SIGKILL)  # granian drains late when a worker is this new
        assert process.wait(timeout=PATIENCE) == 1
    assert running_server.read(deniable.data) is None


@pytest.mark.exhaustive
@pytest.mark.processes
def test_any_worker_shows_the_counters_of_all_workers_of_this_server(
    deniable: Deniable,
) -> None:
    for _ in range(2):
        with deniable.process("serve", "--port", "0", "--workers", "2"):
            wait_until("server.json", lambda: running_server.find(deniable.data) is not None)
            live = running_server.read(deniable.data)
            assert live is not None
            collections = f"{live.address}/v1/collections"
            assert [asked(collections).status_code for _ in range(20)] == [200] * 20
            bearer = {"Authorization": f"Bearer {live.token}"}
            for _ in range(6):
                text = asked(f"{live.address}/metrics", bearer).text
                labels = 'operation="collections.collections",status="200"'
                assert f"deniable_requests_total{{{labels}}} 20.0" in text
            assert asked(f"{live.address}/metrics").status_code == 401


def workers(pid: int) -> set[int]:
    """Granian's processes that serve."""
    run = ["/bin/ps", "-o", "pid=", "--ppid", str(pid)]
    return {int(line) for line in subprocess.run(run, capture_output=True).stdout.split()}


def opens(pid: int, lock: Path) -> bool:
    """Whether the process has the directory open."""
    try:
        return any(file.resolve() == lock.resolve() for file in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:  # it came and went
        return False


def answers(url: str) -> bool:
    try:
        return asked(url).is_success
    except httpx.HTTPError:
        return False


@pytest.mark.exhaustive
@pytest.mark.processes
def test_two_servers_share_one_directory_and_leave_each_others_token_alone(
    deniable: Deniable,
) -> None:
    with deniable.process("serve", "--port", "0"):
        wait_until("server.json", lambda: running_server.find(deniable.data) is not None)
        first = running_server.read(deniable.data)
        assert first is not None
        with deniable.process("serve", "--port", "0"):
            wait_until("another", lambda: running_server.find(deniable.data) != first)
            tokens = f"{first.address}/v1/tokens"
            bearer = {"Authorization": f"Bearer {first.token}"}
            assert asked(tokens, bearer).status_code == 200
