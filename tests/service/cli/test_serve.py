"""`deniable serve`, as a real process, and what other commands make of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.backup import sealed_keys
from deniable_aggregator.operations.process import running_server
from deniable_aggregator.operations.process.serving import free_port, granian_arguments, running
from support.processes.deniable_command import NOWHERE, Deniable, wait_until

pytestmark = pytest.mark.processes

PATIENCE = 90.0


@pytest.fixture
def deniable(tmp_path: Path) -> Deniable:
    command = Deniable(tmp_path)
    command.prepare()
    return command


@pytest.fixture
def process(deniable: Deniable) -> Iterator[subprocess.Popen[str]]:
    with deniable.process("serve", "--port", "0") as process:
        wait_until("server.json", lambda: running_server.find(deniable.data) is not None)
        yield process


@pytest.fixture(scope="module")
def running_one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Deniable, str]]:
    """A server that stays, and the line it printed."""
    deniable = Deniable(tmp_path_factory.mktemp("running"))
    deniable.prepare()
    with deniable.process("serve", "--port", "0") as process:
        assert process.stdout is not None
        yield deniable, process.stdout.readline()


@dataclass(frozen=True)
class Stopped:
    """What was seen of a server until a Ctrl-C; `test_serve_not_ready.py` sends a SIGTERM."""

    deniable: Deniable
    applied: dict[str, Any]
    manifest: str
    exported: str
    answer_under_way: bytes
    exit_code: int
    logged: str
    mode: int
    """Of server.json, while it ran."""


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    deniable = Deniable(tmp_path_factory.mktemp("stopped"))
    deniable.prepare()
    path = deniable.write("settings.toml")
    with deniable.process("serve", "--port", "0", "--access-log") as process:
        wait_until("server.json", lambda: running_server.find(deniable.data) is not None)
        url = address(deniable)
        applied = deniable.json("collections", "apply", path, "--key", deniable.key)
        exported = deniable.done("collections", "export", "settings")
        manifest = httpx.get(f"{url}/v1/collections/settings/manifest", timeout=PATIENCE).text
        httpx.get(f"{url}/v1/collections/nothing?who=127.0.0.1", timeout=PATIENCE)
        mode = stat.S_IMODE((deniable.data / running_server.NAME).stat().st_mode)
        answer = stopped_with_a_request_under_way(process, url)
        _, logged = process.communicate(timeout=PATIENCE)
    return Stopped(deniable, applied, manifest, exported, answer, process.returncode, logged, mode)


def stopped_with_a_request_under_way(process: subprocess.Popen[str], url: str) -> bytes:
    """The beginning of the answer to a body whose end follows the signal."""
    host, port = url.removeprefix("http://").split(":")
    head = b"PUT /v1/collections/x HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab"
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head)
        later = threading.Timer(0.5, connection.sendall, [b"cd"])
        later.start()
        process.send_signal(signal.SIGINT)
        answer = connection.recv(12)
        later.join()
    return answer


def address(deniable: Deniable) -> str:
    live = running_server.read(deniable.data)
    assert live is not None
    return live.address


def test_it_says_where_it_is_and_is_ready_when_it_says_so(
    running_one: tuple[Deniable, str],
) -> None:
    deniable, line = running_one
    assert address(deniable) in line
    assert httpx.get(address(deniable) + "/readyz", timeout=PATIENCE).status_code == 200


def test_server_json_is_the_owners_and_goes_when_it_stops(stopped: Stopped) -> None:
    assert stopped.mode == 0o600
    assert stopped.exit_code == 0
    assert not (stopped.deniable.data / running_server.NAME).exists()


def test_commands_reach_it_and_its_token_ends_with_it(stopped: Stopped) -> None:
    assert stopped.applied["created"]
    assert stopped.manifest == stopped.exported
    assert stopped.exit_code == 0
    (token,) = (
        t
        for t in stopped.deniable.json("access", "tokens", "list", "--all")["tokens"]
        if "serve" in t["label"]
    )
    assert token["revoked"] is not None


def test_a_url_and_a_token_reach_it_from_elsewhere(
    running_one: tuple[Deniable, str], tmp_path: Path
) -> None:
    deniable, _ = running_one
    elsewhere = Deniable(tmp_path / "nowhere")
    url = address(deniable)
    said = elsewhere.refused("access", "tokens", "list", "--url", url)
    assert said.startswith("A valid token is needed: ")
    assert said.endswith("(set DENIABLE_TOKEN)")
    elsewhere.environ["DENIABLE_TOKEN"] = deniable.done(
        "access", "tokens", "new", "--role", "admin", "--label", "remote"
    ).strip()
    assert len(elsewhere.json("access", "tokens", "list", "--url", url)["tokens"]) == 3


def test_a_second_server_is_refused_and_the_first_stays(
    running_one: tuple[Deniable, str],
) -> None:
    deniable, _ = running_one
    assert "open" in deniable.refused("serve", "--port", "0")
    assert running_server.find(deniable.data) is not None


def test_a_backup_of_it_is_restored_elsewhere(
    running_one: tuple[Deniable, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealed_keys, "_N", 1 << 10)  # a cheap passphrase
    deniable, _ = running_one
    elsewhere = Deniable(tmp_path)
    words = ("--passphrase-file", elsewhere.write("passphrase.txt", "correct horse battery\n"))
    deniable.done("collections", "apply", deniable.write("settings.toml"), "--key", deniable.key)
    before = deniable.json("collections", "list")["collections"]
    made = deniable.json("store", "backup", tmp_path, "--keys", *words)
    said = elsewhere.done("store", "restore", made["file"], *words, "--nothing-released-since")
    assert "read every one back" in said
    assert "reconcile" not in said
    assert elsewhere.json("collections", "list")["collections"] == before != []
    assert "Nothing is missing" in elsewhere.done("ledger", "reconcile")


def test_a_request_under_way_is_answered_before_it_stops(stopped: Stopped) -> None:
    assert stopped.answer_under_way == b"HTTP/1.1 401"


@pytest.mark.exhaustive
def test_nothing_outlives_it_when_it_is_killed(
    deniable: Deniable, process: subprocess.Popen[str]
) -> None:
    live = running_server.read(deniable.data)
    assert live is not None
    process.kill()
    wait_until("the child drains", lambda: not Path(f"/proc/{live.pid}").exists())
    assert running_server.find(deniable.data) is None
    assert deniable.json("collections", "list") == {"collections": []}
    deniable.environ["DENIABLE_PUBLIC_URL"] = NOWHERE
    checks = deniable.json("doctor")["checks"]
    assert any("left over" in check["message"] for check in checks)


@pytest.mark.exhaustive
def test_a_server_that_is_killed_ends_the_command_with_1(
    deniable: Deniable, process: subprocess.Popen[str]
) -> None:
    live = running_server.read(deniable.data)
    assert live is not None
    os.kill(live.pid, signal.SIGKILL)
    assert process.wait(timeout=PATIENCE) == 1
    assert process.stderr is not None
    assert "the service stopped unexpectedly" in process.stderr.read()


@pytest.mark.exhaustive
def test_a_directory_full_of_strange_modules_changes_nothing(
    deniable: Deniable, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("secrets.py", "flask.py", "deniable_aggregator.py"):
        deniable.write(name, "raise SystemExit('not this one')")
    monkeypatch.chdir(deniable.folder)
    settings = Settings(data=Path("data"), port=free_port())
    with running(settings) as process:
        assert httpx.get(f"{process.address}/readyz", timeout=PATIENCE).status_code == 200


def test_a_port_that_is_taken_is_named_with_the_cure(deniable: Deniable) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port}" in deniable.refused("serve", "--port", str(port))


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_an_address_of_another_machine_is_named_with_the_cure(
    deniable: Deniable, host: str
) -> None:
    said = deniable("serve", "--host", host, "--port", "8000").stderr
    assert f"Error: cannot listen on {host}" in said
    assert said.strip().endswith("with --host")
    assert "while attempting" not in said


def test_serving_needs_a_prepared_directory(tmp_path: Path) -> None:
    said = Deniable(tmp_path).refused("serve", "--port", str(free_port()))
    assert "deniable init" in said


def test_no_line_of_the_access_log_holds_an_address(stopped: Stopped) -> None:
    lines = [line for line in stopped.logged.splitlines() if "/v1/collections" in line]
    assert len([line for line in lines if "/v1/collections/nothing" in line]) == 1
    assert [line for line in lines if "127.0.0.1" in line] == []


def test_every_limit_granian_would_leave_open_is_set() -> None:
    arguments = granian_arguments(Settings(), access_log=False)
    for option in (
        "--backpressure",
        "--workers-kill-timeout",
        "--http1-header-read-timeout",
        "--access-log-fmt",
    ):
        assert option in arguments
    assert "addr" not in json.dumps(arguments)


def test_the_log_of_a_running_service_is_that_of_its_database(
    running_one: tuple[Deniable, str],
) -> None:
    deniable, _ = running_one
    deniable.done("keys", "rotate")
    shown = deniable.done("doctor", "verify-log", "--url", address(deniable))
    for what in ("of the database: ", f"of {address(deniable)}: ", "share their first"):
        assert what in shown
    assert "fail" not in shown


def test_a_stranger_verifies_the_log_with_the_public_key_alone(
    running_one: tuple[Deniable, str], tmp_path: Path
) -> None:
    deniable, _ = running_one
    trust = (deniable.data / "trust").read_text().strip()
    stranger = Deniable(tmp_path)
    url = ("--url", address(deniable))
    assert "fail" not in stranger.done("doctor", "verify-log", *url, "--trust", trust)
    assert stranger("doctor", "verify-log", *url, "--trust", "ed25519:x").exit_code == 2
    assert "is not prepared" in stranger.refused("doctor", "verify-log", *url)
