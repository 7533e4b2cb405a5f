"""What `deniable serve` says of a service that does not become ready, and one that must wait."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest

from deniable_aggregator.operations.process import running_server
from deniable_aggregator.operations.process.serving import Server, ServingError
from support.processes.deniable_command import Deniable, wait_until

PATIENCE = 90.0


@contextmanager
def answering(document: dict[str, object]) -> Iterator[str]:
    """The address of a server that answers everything with 503 and this document."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(503)
            self.end_headers()
            self.wfile.write(json.dumps(document).encode())

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process that does nothing until its standard input closes."""
    wait = [sys.executable, "-c", "input()"]
    with subprocess.Popen(wait, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        yield process


def test_what_readyz_said_last_is_in_the_error(child: subprocess.Popen[bytes]) -> None:
    with answering({"detail": "not ready: disk is full"}) as address:
        server = Server(child, address=address, token="")
        with pytest.raises(ServingError) as caught:
            server.await_ready(deadline=0.0)
    assert "after 90 s: not ready: disk is full. Repair that" in str(caught.value)
    assert "deniable doctor" in str(caught.value)


@pytest.mark.slow
def test_what_it_waits_for_is_said_at_once_and_once(
    child: subprocess.Popen[bytes], caplog: pytest.LogCaptureFixture
) -> None:
    with answering({"detail": "not ready: disk is full"}) as address:
        server = Server(child, address=address, token="")
        with pytest.raises(ServingError):
            server.await_ready(deadline=time.monotonic() + 0.2)
    waiting = [each.message for each in caplog.records if "Waiting" in each.message]
    assert waiting == ["not ready: disk is full. Waiting until that is repaired"]


def test_a_suspended_service_serves_and_says_what_to_do(child: subprocess.Popen[bytes]) -> None:
    detail = "not ready: database does not match heads.json"
    with answering({"detail": detail, "suspended": ["database"]}) as address:
        server = Server(child, address=address, token="")
        server.await_ready(deadline=0.0)
    assert server.suspended == detail


@pytest.mark.processes
def test_a_service_with_a_lost_database_waits_for_the_command_and_goes_on(tmp_path: Path) -> None:
    deniable = Deniable(tmp_path)
    deniable.prepare()
    path = deniable.write("settings.toml")
    collection = deniable.json("collections", "apply", path)["collections"][0]["collection"]
    for file in deniable.data.glob("deniable.db*"):
        file.unlink()
    with deniable.process("serve", "--port", "0") as process:
        wait_until("server.json", lambda: running_server.find(deniable.data) is not None)
        live = running_server.read(deniable.data)
        assert live is not None
        upload = f"{live.address}/v1/collections/{collection}/reports"
        before = httpx.post(upload, timeout=PATIENCE)
        assert before.status_code == 503
        assert "deniable ledger reconcile" in before.json()["detail"]
        assert f"{collection}: it was registered here" in deniable.done("ledger", "reconcile")
        assert httpx.get(f"{live.address}/readyz", timeout=PATIENCE).status_code == 200
        assert "is registered" in deniable.done("collections", "apply", path)
        assert httpx.post(upload, timeout=PATIENCE).status_code == 415
    assert process.returncode == 0  # a SIGTERM ended it
    assert not (deniable.data / running_server.NAME).exists()
