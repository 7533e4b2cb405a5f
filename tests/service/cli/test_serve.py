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


@dataclass(frozen=True)
class Restored:
    """A backup of the running service, restored into an empty directory."""

    before: list[object]
    said: str
    after: list[object]
    reconciled: str


@dataclass(frozen=True)
class Stranger:
    """What `doctor verify-log` says to one who has only the URL."""

    with_trust: str
    wrong_trust: int
    """The exit code."""
    without_trust: str


@dataclass(frozen=True)
class Stopped:
    """What was seen of a server until a Ctrl-C; `test_serve_not_ready.py` sends a SIGTERM."""

    deniable: Deniable
    address: str
    line: str
    """What it printed once it was ready."""
    ready: int
    """The status of /readyz after that line."""
    applied: dict[str, Any]
    manifest: str
    exported: str
    second_server: str
    """Why a second server was refused; the first one answered everything below afterwards."""
    without_token: str
    tokens: list[object]
    """As a command saw them that had only the URL and a token."""
    restored: Restored
    log: str
    """What `doctor verify-log` says of the running service, whose key was rotated."""
    stranger: Stranger
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
        assert process.stdout is not None
        line = process.stdout.readline()
        url = address(deniable)
        ready = httpx.get(f"{url}/readyz", timeout=PATIENCE).status_code
        second = deniable.refused("serve", "--port", "0")
        applied = deniable.json("collections", "apply", path, "--key", deniable.key)
        exported = deniable.done("collections", "export", "settings")
        manifest = httpx.get(f"{url}/v1/collections/settings/manifest", timeout=PATIENCE).text
        httpx.get(f"{url}/v1/collections/nothing?who=127.0.0.1", timeout=PATIENCE)
        without_token, tokens = from_elsewhere(deniable, tmp_path_factory.mktemp("nowhere"))
        restored = restored_elsewhere(deniable, tmp_path_factory.mktemp("restored"))
        deniable.done("keys", "rotate")
        log = deniable.done("doctor", "verify-log", "--url", url)
        stranger = seen_by_a_stranger(deniable, tmp_path_factory.mktemp("stranger"))
        mode = stat.S_IMODE((deniable.data / running_server.NAME).stat().st_mode)
        answer = stopped_with_a_request_under_way(process, url)
        _, logged = process.communicate(timeout=PATIENCE)
    return Stopped(
        deniable=deniable,
        address=url,
        line=line,
        ready=ready,
        applied=applied,
        manifest=manifest,
        exported=exported,
        second_server=second,
        without_token=without_token,
        tokens=tokens,
        restored=restored,
        log=log,
        stranger=stranger,
        answer_under_way=answer,
        exit_code=process.returncode,
        logged=logged,
        mode=mode,
    )


def from_elsewhere(deniable: Deniable, folder: Path) -> tuple[str, list[object]]:
    """What a command elsewhere says without a token, and the tokens it lists with one."""
    elsewhere, listed = Deniable(folder), ("access", "tokens", "list", "--all")
    url = ("--url", address(deniable))
    said = elsewhere.refused(*listed, *url)
    elsewhere.environ["DENIABLE_TOKEN"] = deniable.done(
        "access", "tokens", "new", "--role", "admin", "--label", "remote"
    ).strip()
    return said, elsewhere.json(*listed, *url)["tokens"]


def restored_elsewhere(deniable: Deniable, folder: Path) -> Restored:
    elsewhere = Deniable(folder)
    words = ("--passphrase-file", elsewhere.write("passphrase.txt", "correct horse battery\n"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sealed_keys, "_N", 1 << 10)  # a cheap passphrase
        before = deniable.json("collections", "list")["collections"]
        made = deniable.json("store", "backup", folder, "--keys", *words)
        said = elsewhere.done("store", "restore", made["file"], *words, "--nothing-released-since")
    after = elsewhere.json("collections", "list")["collections"]
    return Restored(before, said, after, elsewhere.done("ledger", "reconcile"))


def seen_by_a_stranger(deniable: Deniable, folder: Path) -> Stranger:
    verify = ("doctor", "verify-log", "--url", address(deniable))
    trust = (deniable.data / "trust").read_text().strip()
    stranger = Deniable(folder)
    return Stranger(
        stranger.done(*verify, "--trust", trust),
        stranger(*verify, "--trust", "ed25519:x").exit_code,
        stranger.refused(*verify),
    )


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


def test_it_says_where_it_is_and_is_ready_when_it_says_so(stopped: Stopped) -> None:
    assert stopped.address in stopped.line
    assert stopped.ready == 200


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


def test_a_url_and_a_token_reach_it_from_elsewhere(stopped: Stopped) -> None:
    assert stopped.without_token.startswith("A valid token is needed: ")
    assert stopped.without_token.endswith("(set DENIABLE_TOKEN)")
    assert len(stopped.tokens) == 3


def test_a_second_server_is_refused_and_the_first_stays(stopped: Stopped) -> None:
    assert "open" in stopped.second_server
    assert stopped.applied["created"]  # by the first one, afterwards


def test_a_backup_of_it_is_restored_elsewhere(stopped: Stopped) -> None:
    restored = stopped.restored
    assert "read every one back" in restored.said
    assert "reconcile" not in restored.said
    assert restored.after == restored.before != []
    assert "Nothing is missing" in restored.reconciled


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


def test_the_log_of_a_running_service_is_that_of_its_database(stopped: Stopped) -> None:
    for what in ("of the database: ", f"of {stopped.address}: ", "share their first"):
        assert what in stopped.log
    assert "fail" not in stopped.log


def test_a_stranger_verifies_the_log_with_the_public_key_alone(stopped: Stopped) -> None:
    assert "fail" not in stopped.stranger.with_trust
    assert stopped.stranger.wrong_trust == 2
    assert "is not prepared" in stopped.stranger.without_trust
