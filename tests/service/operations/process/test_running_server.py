"""server.json: where the running service is."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from deniable_aggregator.operations.process import running_server
from deniable_aggregator.operations.process.running_server import RunningServer
from deniable_aggregator.operations.process.serving import free_port

NO_PROCESS = 2**22 + 1  # above the largest pid Linux gives


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Healthy) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_server_that_lives_and_answers_is_found(tmp_path: Path, address: str) -> None:
    server = RunningServer(address=address, token="dn_x", pid=os.getpid())
    running_server.write(tmp_path, server)
    assert running_server.find(tmp_path) == server


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    running_server.write(tmp_path, RunningServer(address="http://127.0.0.1:1", token="dn_x", pid=1))
    assert stat.S_IMODE((tmp_path / running_server.NAME).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [running_server.NAME]


def test_a_process_that_is_gone_is_no_server(tmp_path: Path, address: str) -> None:
    running_server.write(tmp_path, RunningServer(address=address, token="dn_x", pid=NO_PROCESS))
    assert running_server.find(tmp_path) is None


def test_a_process_that_does_not_answer_is_no_server(tmp_path: Path) -> None:
    silent = f"http://127.0.0.1:{free_port()}"
    running_server.write(tmp_path, RunningServer(address=silent, token="dn_x", pid=os.getpid()))
    assert running_server.find(tmp_path) is None


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"address": "ftp://x", "token": "", "pid": 1}'])
def test_a_file_that_says_something_else_is_no_server(tmp_path: Path, text: str) -> None:
    (tmp_path / running_server.NAME).write_text(text)
    assert running_server.read(tmp_path) is None


def test_a_directory_without_the_file_has_no_server(tmp_path: Path) -> None:
    assert running_server.find(tmp_path) is None
    running_server.remove(tmp_path, 1)


def test_the_token_is_not_shown_by_accident() -> None:
    server = RunningServer(address="http://127.0.0.1:1", token="dn_secret", pid=1)
    assert "dn_secret" not in repr(server)
