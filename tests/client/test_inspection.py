"""The page of `telemetry show`: for one person, on loopback, behind a secret."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from hashlib import sha256
from http.client import HTTPConnection, HTTPResponse
from typing import NamedTuple

import pytest

from deniable_client import Client, StorageError
from deniable_client.inspection_page import HEADERS, MOST_FORM_BYTES, press, render
from deniable_client.inspection_server import InspectionServer
from support.builders.client_world import SETTINGS, Device, MakeDevice, manifest


class PageReply(NamedTuple):
    """What a browser got."""

    status: int
    text: str
    headers: dict[str, str]


class Person:
    """A browser that knows the address of the page."""

    def __init__(self, server: InspectionServer) -> None:
        self.server = server
        self.port = int(server.host.partition(":")[2])

    def ask(
        self, method: str = "GET", path: str = "", body: str | None = None, **headers: str | None
    ) -> PageReply:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=120)
        sent = {"Host": self.server.host, **{k: v for k, v in headers.items() if v is not None}}
        connection.request(method, path or self.server.path, body, sent)
        answer: HTTPResponse = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return PageReply(answer.status, text, dict(answer.getheaders()))

    def switch(
        self, answer: str, *, origin: str | None = "", token: str | None = None
    ) -> PageReply:
        given = self.server.token if token is None else token
        named = f"http://{self.server.host}" if origin == "" else origin
        return self.ask("POST", body=f"answer={answer}&token={given}", Origin=named)


@pytest.fixture
def client(device: Device) -> Client:
    return device.open()


@pytest.fixture
def page_reader(client: Client) -> Iterator[Person]:
    with InspectionServer(client, title="What <this> app reports").start() as server:
        yield Person(server)
        server.shutdown()


@pytest.mark.slow
def test_the_page_shows_the_question_and_asks(page_reader: Person) -> None:
    page = page_reader.ask()
    assert page.status == 200
    assert "<h1>What &lt;this&gt; app reports</h1>" in page.text
    assert "Telemetry is off: you were not asked yet." in page.text
    assert "Which settings do people turn on?" in page.text
    assert manifest().digest.hex() in page.text
    assert "Turn on</button>" in page.text
    assert "No report waits." in page.text


@pytest.mark.slow
def test_the_switch_grants_and_denies(page_reader: Person, client: Client) -> None:
    answer = page_reader.switch("granted")
    assert (answer.status, answer.headers["Location"]) == (303, page_reader.server.path)
    assert client.consent() == "granted"
    client.record("settings", SETTINGS)
    page = page_reader.ask()
    assert "Turn off and delete what waits</button>" in page.text
    assert client.explain().reports[0].sentence in page.text
    assert "ε = 1 of 8 spent, 7 left" in page.text
    page_reader.switch("denied")
    assert client.health().waiting == 0


@pytest.mark.slow
def test_what_left_is_shown_by_its_hash_alone(page_reader: Person, client: Client) -> None:
    client.consent("granted")
    client.record("settings", SETTINGS)
    [waiting] = client.explain().reports
    client.flush(early=True)
    [left] = client.explain().reports
    page = page_reader.ask().text
    assert left.request_sha256
    assert left.request_sha256 in page
    assert "The service has it" in page
    assert waiting.payload is not None
    assert (
        waiting.payload.hex()
        not in page.replace(left.request_sha256, "")
        .replace(manifest().digest.hex(), "")
        .partition("What left this device")[2]
        .partition("Where it goes")[0]
    )
    assert "1 entry, checkpoint" in page


def test_a_report_whose_end_is_not_known_keeps_its_word(make_device: MakeDevice) -> None:
    client = make_device().granted()
    client.record("settings", SETTINGS)
    client.flush(early=True)
    with client._state.transaction() as db:
        db.execute("UPDATE outbox SET state = 'elsewhere'")
    assert "elsewhere: " in render(client, title="t", action="/", token="t")


@pytest.mark.slow
@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.example"}, {"Host": "localhost:80"}, {"Host": "127.0.0.1"}],
)
def test_another_host_is_refused(page_reader: Person, headers: dict[str, str]) -> None:
    answer = page_reader.ask(**headers)
    assert answer.status == 421
    assert "settings" not in answer.text


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/", "/favicon.ico", "/%00/", "/" + "A" * 43 + "/"])
def test_without_the_secret_there_is_no_page(page_reader: Person, path: str) -> None:
    assert page_reader.ask(path=path).status == 404
    assert page_reader.ask("POST", path, "answer=granted", Origin="http://x").status == 404


@pytest.mark.slow
@pytest.mark.parametrize("origin", [None, "null", "https://evil.example", "http://localhost"])
def test_another_origin_presses_no_switch(
    page_reader: Person, client: Client, origin: str | None
) -> None:
    assert page_reader.switch("granted", origin=origin).status == 403
    assert client.consent() == "unknown"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "token"), [("granted", ""), ("granted", "ä"), ("granted", "x" * 43), ("maybe", None)]
)
def test_a_form_that_the_page_did_not_make_presses_no_switch(
    page_reader: Person, client: Client, answer: str, token: str | None
) -> None:
    encoded = None if token is None else token.replace("ä", "%C3%A4")
    assert page_reader.switch(answer, token=encoded).status == 403
    assert client.consent() == "unknown"


@pytest.mark.slow
def test_a_form_that_is_too_long_is_not_read_to_its_end(
    page_reader: Person, client: Client
) -> None:
    body = f"token={page_reader.server.token}&answer=granted&more=" + "x" * MOST_FORM_BYTES
    assert (
        page_reader.ask("POST", body=body, Origin=f"http://{page_reader.server.host}").status == 403
    )
    assert not press(client, body.encode(), token=page_reader.server.token)
    assert client.consent() == "unknown"


@pytest.mark.slow
@pytest.mark.parametrize("length", ["", "-1", "9" * 30, "ten"])
def test_a_length_that_is_none_is_no_form(page_reader: Person, length: str) -> None:
    with socket.create_connection(("127.0.0.1", page_reader.port), timeout=120) as connection:
        head = f"POST {page_reader.server.path} HTTP/1.1\r\nHost: {page_reader.server.host}\r\n"
        head += f"Origin: http://{page_reader.server.host}\r\nContent-Length: {length}\r\n\r\n"
        connection.sendall(head.encode())
        assert connection.makefile("rb").readline().split()[1] == b"403"


@pytest.mark.slow
def test_no_script_runs_and_nothing_is_loaded(page_reader: Person) -> None:
    page = page_reader.ask()
    policy = page.headers["Content-Security-Policy"]
    [style] = re.findall(r"<style>(.*?)</style>", page.text, re.DOTALL)
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    hashed = re.findall(r"style-src 'sha256-([^']+)'", policy)
    import base64

    assert hashed == [base64.b64encode(sha256(style.encode()).digest()).decode()]
    assert "<script" not in page.text
    assert " style=" not in page.text
    shown = page.text.replace("https://telemetry.example.org", "")
    for secret in (page_reader.server.token, page_reader.server.path):
        shown = shown.replace(secret, "")  # 43 letters by chance: "http" may be among them
    assert "http" not in shown
    assert HEADERS.items() <= page.headers.items()


@pytest.mark.slow
def test_it_listens_on_loopback_alone_and_logs_nothing(
    page_reader: Person, capfd: pytest.CaptureFixture[str]
) -> None:
    page_reader.ask()
    assert page_reader.server.server_address[0] == "127.0.0.1"
    assert capfd.readouterr() == ("", "")


def test_two_pages_have_two_secrets(client: Client) -> None:
    with (
        InspectionServer(client, title="a") as first,
        InspectionServer(client, title="b") as second,
    ):
        assert first.path != second.path
        assert first.token != second.token
        assert len(first.path) > 40


@pytest.mark.slow
def test_a_state_that_cannot_be_read_is_a_page_too(page_reader: Person, client: Client) -> None:
    client.close()
    page = page_reader.ask()
    assert "Telemetry is off: the app has closed it." in page.text
    assert "this client is closed." in page.text


@pytest.mark.slow
def test_an_answer_that_cannot_be_kept_says_so(
    page_reader: Person, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(answer: str) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr(client, "consent", full)
    answer = page_reader.switch("granted")
    assert (answer.status, answer.text) == (500, "Your answer could not be kept: the disk is full.")


def test_a_client_without_questions_shows_an_empty_page(make_device: MakeDevice) -> None:
    device = make_device()
    device.shipped = ()
    assert "This app asks nothing." in render(device.open(), title="t", action="/", token="t")


def test_what_an_operator_writes_is_text_and_no_markup(make_device: MakeDevice) -> None:
    client = make_device(manifest(purpose='"<b>Bold</b> & <script>"')).open()
    page = render(client, title="t", action="/", token="t")
    assert "<b>" not in page
    assert "&lt;b&gt;Bold&lt;/b&gt; &amp; &lt;script&gt;" in page
