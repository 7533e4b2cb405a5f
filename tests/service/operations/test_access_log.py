"""What a real server writes while it serves: never who asked.

The server is granian with the very arguments `deniable serve` gives it, its access log switched on.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.process.serving import free_port, granian_arguments
from deniable_aggregator.operations.service import Service
from deniable_gateway.serving import ACCESS_LOG_FORMAT
from deniable_shared.wire.report import MEDIA_TYPE, encode_upload
from support.builders.api_world import authored, opened

pytestmark = pytest.mark.processes

READY_SECONDS = 90


@dataclass
class Exchange:
    """One request to the server: what came back, and from which port it was sent."""

    status: int
    client_port: int


@dataclass
class Served:
    """What a server was asked, and all it wrote from its start to its end."""

    settings: Settings
    exchanges: dict[str, Exchange]
    output: str
    exit_code: int

    @property
    def request_lines(self) -> list[str]:
        logged = [json.loads(line) for line in self.output.splitlines()]
        return [line["event"] for line in logged if line["logger"] == "granian.access"]


def ask(port: int, method: str, path: str, body: bytes | None = None) -> Exchange:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=READY_SECONDS)
    try:
        connection.connect()
        client_port: int = connection.sock.getsockname()[1]
        connection.request(method, path, body, {"Content-Type": MEDIA_TYPE} if body else {})
        return Exchange(connection.getresponse().status, client_port)
    finally:
        connection.close()


def await_ready(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server stopped while starting"
        try:
            if ask(port, "GET", "/readyz").status == 200:
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"the server was not ready after {READY_SECONDS} s")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    folder = tmp_path_factory.mktemp("served")
    with opened(folder, now=time.time()) as world:
        day = datetime.now(UTC).date()
        begin, end = str(day - timedelta(9)), str(day + timedelta(99))
        collection = world.register(authored(valid_from=begin, expires=end))
        epoch = int(time.time()) // collection.manifest.epoch_seconds
        report = world.report(collection, {"dark_mode": True, "beta": False}, epoch=epoch)
    settings = Settings(data=folder / "data", port=free_port())
    log = folder / "log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "granian", *granian_arguments(settings, access_log=True)],
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, **settings.environ()},
        )
        try:
            await_ready(process, settings.port)
            upload = f"/v1/collections/{collection.id}/reports"
            exchanges = {
                "page": ask(settings.port, "GET", "/"),
                "upload": ask(settings.port, "POST", upload, encode_upload([report])),
                "refused": ask(settings.port, "GET", "/v1/tokens?token=dn_secret"),
                "missing": ask(settings.port, "GET", "/nothing%0aGET%20/forged%20127.0.0.1"),
                "long": ask(settings.port, "GET", "/" + "x" * 20_000),
                "method": ask(settings.port, "MKCOL", "/v1/keys"),
            }
        finally:
            process.send_signal(signal.SIGTERM)
            exit_code = process.wait(timeout=READY_SECONDS)
    return Served(settings, exchanges, log.read_text(), exit_code)


def test_the_requests_were_answered_and_logged(served: Served) -> None:
    statuses = {name: exchange.status for name, exchange in served.exchanges.items()}
    assert statuses == {
        "page": 200,
        "upload": 200,
        "refused": 401,
        "missing": 404,
        "long": 404,
        "method": 405,
    }
    for line in ("GET '/' 200", "GET '/v1/tokens' 401", "MKCOL '/v1/keys' 405"):
        assert any(logged.startswith(line) for logged in served.request_lines), served.output
    assert any("/reports' 200" in line for line in served.request_lines)


def test_no_line_names_an_address_but_the_one_listened_at(served: Served) -> None:
    named = [line for line in served.output.splitlines() if "127.0.0.1" in line.replace(r"\n", "")]
    foreign = [line for line in named if "forged 127.0.0.1" not in line]
    assert [line for line in foreign if "Listening at" not in line] == []


def test_no_line_names_the_port_of_a_client(served: Served) -> None:
    for exchange in served.exchanges.values():
        port = re.compile(rf"\b{exchange.client_port}\b")
        assert [line for line in served.request_lines if port.search(line)] == []


def test_no_line_shows_a_query_string(served: Served) -> None:
    assert "dn_secret" not in served.output


def test_a_path_cannot_forge_a_line(served: Served) -> None:
    assert [line for line in served.request_lines if line.startswith("GET /forged")] == []
    assert any(
        r"GET '/nothing\nGET /forged 127.0.0.1' 404" in line for line in served.request_lines
    )


def test_a_path_cannot_flood_the_log(served: Served) -> None:
    assert max(len(line) for line in served.request_lines) < 250


def test_the_upload_was_counted_and_survives_the_server(served: Served) -> None:
    service = Service.open(served.settings)
    try:
        (collection,) = service.registry.all()
        assert [row.n for row in service.store.epochs(collection.id)] == [1]
    finally:
        service.close()


def test_a_server_that_is_told_to_stop_closes_its_database(served: Served) -> None:
    assert served.exit_code == 0
    assert not served.settings.database.with_name("deniable.db-wal").exists()


def test_the_format_asks_for_no_address_no_query_and_no_header() -> None:
    asked = set(re.findall(r"%\((\w+)", ACCESS_LOG_FORMAT))
    assert asked == {"method", "path", "status", "dt_ms"}
