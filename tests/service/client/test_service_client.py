"""The client of the service: how it is reached, what it reads, and what it says when it cannot."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import unquote

import httpx
import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.cli.command_client import connect, local
from deniable_aggregator.client.errors import QueryError, ServiceError, UnreachableError
from deniable_aggregator.client.remote import remote
from deniable_aggregator.client.service_client import ServiceClient
from deniable_aggregator.operations.service import Service
from support.processes.deniable_command import Deniable


class Stranger(BaseHTTPRequestHandler):
    """A server that is not deniable."""

    def do_GET(self) -> None:
        body = {"list": b"[1]", "page": b"<html>"}.get(self.path.split("/")[1], b"")
        self.send_response(200 if body else 502)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def stranger_address() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Stranger) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    Deniable(tmp_path).done("init")
    return Settings(data=tmp_path / "data")


def speaking(respond: Callable[[httpx.Request], httpx.Response]) -> ServiceClient:
    """A client whose requests `respond` answers."""
    http = httpx.Client(base_url="http://x.test", transport=httpx.MockTransport(respond))
    return ServiceClient(http, address="http://x.test")


def answering(answer: httpx.Response) -> ServiceClient:
    return speaking(lambda request: answer)


def test_without_a_server_the_directory_is_opened_and_locked(settings: Settings) -> None:
    with connect(settings, None, {}) as client:
        assert client.collections().json() == {"collections": []}
        with pytest.raises(Exception, match="open"):
            Service.open(settings)
    Service.open(settings).close()


def test_a_url_wins_over_the_directory(settings: Settings, stranger_address: str) -> None:
    with connect(settings, stranger_address, {}) as client:
        assert client.address == stranger_address


def test_the_local_token_may_do_everything_and_is_not_stored(settings: Settings) -> None:
    with local(settings) as client:
        made = client.make_token("viewer", "x").document
        listed = client.tokens().document.tokens
        assert [row.label for row in listed] == ["deniable init", "x"]
        client.revoke_token(made.id)


def test_a_problem_is_said_as_title_and_detail(settings: Settings) -> None:
    with local(settings) as client, pytest.raises(ServiceError) as refused:
        client.estimates("nothing", {})
    error = refused.value
    assert str(error).startswith("No collection has this id or name: ")
    assert str(error) == f"{error.title}: {error.detail}"
    assert (error.slug, error.status, error.retry) == ("unknown-collection", 404, False)


@pytest.mark.parametrize("path", ["/list", "/page"])
def test_an_answer_that_is_not_ours_is_recognized(stranger_address: str, path: str) -> None:
    with remote(stranger_address + path, None) as client:
        answer = client.collections()
    with pytest.raises(UnreachableError, match="else than a JSON object"):
        answer.json()
    with pytest.raises(UnreachableError, match="else than a JSON object"):
        _ = answer.document


def test_a_status_without_a_problem_document_is_said_as_it_is(stranger_address: str) -> None:
    with remote(stranger_address, None) as client, pytest.raises(ServiceError, match="HTTP 502"):
        client.collections()


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>"])
def test_without_a_token_the_error_names_its_variable(body: bytes) -> None:
    client = answering(httpx.Response(401, content=body))
    with pytest.raises(ServiceError, match=r"^HTTP 401 Unauthorized \(set DENIABLE_TOKEN\)$"):
        client.tokens()


def test_an_answer_that_takes_too_long_is_no_answer() -> None:
    def late(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("late")

    with pytest.raises(UnreachableError, match="did not answer in time: try again"):
        speaking(late).ready()


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://no-such-host.invalid"])
def test_nothing_there_is_said_with_the_address(url: str) -> None:
    with (
        remote(url, None, trust_env=False) as client,
        pytest.raises(UnreachableError, match=f"nothing answers at {url}"),
    ):
        client.ready()


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(UnreachableError, match="http"), remote("http://[", None) as client:
        client.ready()


def test_an_address_without_a_scheme_is_refused() -> None:
    said = r"must begin with http:// or https://, got 127\.0\.0\.1:8000"
    with pytest.raises(UnreachableError, match=said), remote("127.0.0.1:8000", None) as client:
        client.ready()


def test_errors_are_one_family() -> None:
    assert issubclass(ServiceError, QueryError)
    assert issubclass(UnreachableError, QueryError)


COLLECTION = {
    "collection": "theme-1", "name": "theme", "purpose": "Which?", "owner": "o", "version": 1,
    "state": "open", "archived": False, "mechanism": "grr/1", "epsilon": "1", "repeat": "once",
    "read": "live", "requires": [], "identified": False, "epoch_seconds": 86400,
    "valid_from": "2027-01-01", "expires": "2027-06-01", "domain": {"type": "bits"},
}  # fmt: skip


def test_members_of_a_newer_service_are_kept_in_json_only() -> None:
    newer = {"collections": [COLLECTION | {"colour": "red"}], "more": [1, {"x": None}]}
    answer = answering(httpx.Response(200, json=newer)).collections()
    assert [row.collection for row in answer.document.collections] == ["theme-1"]
    assert answer.json() == newer


@pytest.mark.parametrize("missing", ["archived", "identified", "requires"])
def test_members_that_an_older_service_lacks_have_defaults(missing: str) -> None:
    older = {name: value for name, value in COLLECTION.items() if name != missing}
    [row] = (
        answering(httpx.Response(200, json={"collections": [older]}))
        .collections()
        .document.collections
    )
    assert not getattr(row, missing)


def test_a_document_that_cannot_be_read_is_of_another_version() -> None:
    strange = {"collections": [COLLECTION | {"epsilon": 1}]}
    answer = answering(httpx.Response(200, json=strange)).collections()
    assert answer.json() == strange
    with pytest.raises(UnreachableError, match=r"collections\[0\]\.epsilon.*another version"):
        _ = answer.document


@pytest.mark.parametrize("name", ["../tokens/3f9a01c2b4de", "a?b=c", "a#b", "a b", "ä%2F", ".."])
def test_a_name_is_one_step_of_the_address_whatever_is_in_it(name: str) -> None:
    sent: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(204)

    speaking(respond).delete_collection(name)
    path, _, query = sent[0].url.raw_path.partition(b"?")
    assert path.startswith(b"/v1/collections/")
    assert unquote(path.decode().removeprefix("/v1/collections/")) == name
    assert (path.count(b"/"), query) == (3, b"")


def test_arguments_that_are_none_are_not_sent() -> None:
    sent: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={})

    client = speaking(respond)
    client.make_token("viewer", "x")
    client.estimates("c", {"from": None, "to": "3", "set": ["a", "b,c"]})
    assert json.loads(sent[0].content) == {"role": "viewer", "label": "x"}
    assert sent[1].url.params.multi_items() == [("to", "3"), ("set", "a"), ("set", "b,c")]
