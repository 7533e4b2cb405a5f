"""How commands reach the service, and what they say when they cannot."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from deniable_aggregator.process.connection import (
    RefusedError,
    UnreachableError,
    connect,
    local,
    remote,
)
from deniable_aggregator.service import Service
from deniable_aggregator.settings import Settings
from support.deniable_command import Deniable


class Stranger(BaseHTTPRequestHandler):
    """A server of somebody else's."""

    def do_GET(self) -> None:
        body = {"/list": b"[1]", "/page": b"<html>"}.get(self.path, b"")
        self.send_response(200 if body else 502)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def stranger() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Stranger) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    Deniable(tmp_path).done("init")
    return Settings(data=tmp_path / "data")


def test_without_a_server_the_directory_is_opened_and_locked(settings: Settings) -> None:
    with connect(settings, None, {}) as connection:
        assert connection.get_json("/v1/collections") == {"collections": []}
        with pytest.raises(Exception, match="open"):
            Service.open(settings)
    Service.open(settings).close()


def test_a_url_wins_over_the_directory(settings: Settings, stranger: str) -> None:
    with connect(settings, stranger, {}) as connection:
        assert connection.address == stranger


def test_the_local_token_may_do_everything_and_is_not_stored(settings: Settings) -> None:
    with local(settings) as connection:
        made = connection.post("/v1/tokens", {"role": "viewer", "label": "x"})
        listed = connection.get_json("/v1/tokens")["tokens"]
        assert isinstance(listed, list)
        assert [row["label"] for row in listed] == ["deniable init", "x"]
        connection.delete(f"/v1/tokens/{made['id']}")


def test_a_problem_is_said_as_title_and_detail(settings: Settings) -> None:
    with local(settings) as connection, pytest.raises(RefusedError) as refused:
        connection.get("/v1/collections/nothing/estimates")
    assert str(refused.value).startswith("No collection has this id or name: ")
    assert (refused.value.slug, refused.value.status) == ("unknown-collection", 404)


@pytest.mark.parametrize("path", ["/list", "/page"])
def test_an_answer_that_is_not_ours_is_recognized(stranger: str, path: str) -> None:
    with remote(stranger, None) as connection, pytest.raises(UnreachableError, match="no JSON"):
        connection.get_json(path)


def test_a_status_without_a_problem_document_is_said_as_it_is(stranger: str) -> None:
    with remote(stranger, None) as connection, pytest.raises(RefusedError, match="HTTP 502"):
        connection.get("/elsewhere")


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://no-such-host.invalid"])
def test_nothing_there_is_said_with_the_address(url: str) -> None:
    with (
        remote(url, None, trust_env=False) as connection,
        pytest.raises(UnreachableError, match=f"nothing answers at {url}"),
    ):
        connection.get("/")


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(UnreachableError, match="http"), remote("http://[", None) as connection:
        connection.get("/")
