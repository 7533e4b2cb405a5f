"""Uploads by both ways in, the front and the view: what is read, answered, passed on."""

from __future__ import annotations

import io
import json
import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deniable_aggregator.operations.service import Service
from deniable_aggregator.web.app import create_app
from deniable_aggregator.web.front import front_of
from deniable_shared.wire.problems import PROBLEM_MEDIA_TYPE, ReportError
from deniable_shared.wire.replies import read_statuses
from deniable_shared.wire.report import (
    ERRORS_MEDIA_TYPE,
    MAX_UPLOAD_BYTES,
    MEDIA_TYPE,
    decode_errors,
    encode_upload,
)
from support.builders import service_world
from support.builders.service_world import World
from support.doubles.asgi_as_wsgi import AsgiAsWsgi

if TYPE_CHECKING:
    pass

PATH = "/v1/collections/settings/reports"
SERVER = {"SERVER_NAME": "localhost", "SERVER_PORT": "80", "wsgi.url_scheme": "http"}


class Unread(io.BytesIO):
    """A body that no code may read."""

    def read(self, size: int | None = -1, /) -> bytes:
        raise AssertionError("the body was read")


@pytest.fixture(params=["front", "view"], autouse=True)
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Way, "kind", request.param)
    monkeypatch.setattr(Way, "made", {})


class Way:
    kind = "front"
    made: dict[Service, Any] = {}  # noqa: RUF012  (a fixture replaces it)


def way_in(bare_service: World) -> Any:
    """A WSGI callable: the view, or the front. It is made once for a service."""
    if bare_service.running not in Way.made:
        app = create_app(bare_service.running)
        front = Way.kind == "front"
        Way.made[bare_service.running] = AsgiAsWsgi(front_of(app)) if front else app.wsgi_app
    return Way.made[bare_service.running]


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def problem(self) -> str:
        """The slug of a well-formed problem document."""
        document = json.loads(self.body)
        assert self.headers["Content-Type"] == PROBLEM_MEDIA_TYPE
        assert document["status"] == self.status
        assert document["detail"]
        return str(document["type"]).rpartition(":")[2]


def post(bare_service: World, body: bytes | io.BytesIO = b"", **environ: str | None) -> Answer:
    """POST with the right length and type by default; None leaves a variable out."""
    stream = body if isinstance(body, io.BytesIO) else io.BytesIO(body)
    request: dict[str, object] = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": PATH,
        "CONTENT_TYPE": MEDIA_TYPE,
        "CONTENT_LENGTH": str(len(stream.getvalue())),
        "REMOTE_ADDR": "192.0.2.77",
        **SERVER,
        "wsgi.input": stream,
        **environ,
    }
    answers: list[tuple[str, list[tuple[str, str]]]] = []
    present = {name: value for name, value in request.items() if value is not None}
    chunks = way_in(bare_service)(
        present, lambda status, headers, _=None: answers.append((status, headers))
    )
    [(status, headers)] = answers
    return Answer(int(status.split()[0]), dict(headers), b"".join(chunks))


def test_an_accepted_report_is_answered_with_an_empty_200(bare_service: World) -> None:
    answer = post(bare_service, encode_upload([bare_service.report()]))
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["Content-Type"] == ERRORS_MEDIA_TYPE
    assert answer.headers["Content-Length"] == "0"
    assert read_statuses(answer.status, answer.headers, answer.body) == []
    assert bare_service.n() == 1


def test_a_refused_report_is_answered_with_its_code(bare_service: World) -> None:
    report = bare_service.report(payload=b"\xff")
    answer = post(bare_service, encode_upload([report]))
    assert (answer.status, answer.headers["Content-Type"]) == (200, ERRORS_MEDIA_TYPE)
    [status] = decode_errors(answer.body)
    assert (status.report_id, status.error) == (
        report.header.report_id,
        ReportError.INVALID_MESSAGE,
    )


def test_other_paths_are_passed_on(bare_service: World) -> None:
    paths = (
        "/healthz",
        "/v1/collections/settings/estimates",
        "/v1/collections/settings/reports/",
        "/v1/collections/a/b/reports",
        "/v1/collections/reports",
        "/other/settings/reports",
    )
    statuses = {path: post(bare_service, Unread(), PATH_INFO=path).status for path in paths}
    assert [path for path, status in statuses.items() if status not in (404, 405)] == []


def test_other_methods_are_passed_on(bare_service: World) -> None:
    methods = ("GET", "HEAD", "PUT", "OPTIONS", "post")
    statuses = {each: post(bare_service, Unread(), REQUEST_METHOD=each).status for each in methods}
    assert statuses == dict.fromkeys(methods, 405)


def test_another_media_type_is_refused_unread(bare_service: World) -> None:
    types = (
        "",
        "application/json",
        "application/vnd.deniable",
        MEDIA_TYPE.replace("version=1", "version=2"),
    )
    answers = {each: post(bare_service, Unread(b"x"), CONTENT_TYPE=each) for each in types}
    assert refusals(answers) == dict.fromkeys(types, (415, "unsupported-media-type"))


def refusals(answers: dict[str, Answer]) -> dict[str, tuple[int, str]]:
    return {name: (answer.status, answer.problem) for name, answer in answers.items()}


def test_the_media_type_may_be_spelled_in_every_legal_way(bare_service: World) -> None:
    types = (
        "application/vnd.deniable; message=upload-req; version=1",
        "application/vnd.deniable;version=1;message=upload-req",
        'Application/VND.deniable; message="upload-req"; version=1',
    )
    statuses = {
        each: post(bare_service, encode_upload([bare_service.report()]), CONTENT_TYPE=each).status
        for each in types
    }
    assert statuses == dict.fromkeys(types, 200)


def test_a_missing_length_is_refused_unread(bare_service: World) -> None:
    for length in (None, ""):
        answer = post(
            bare_service, Unread(b"x"), CONTENT_LENGTH=length, HTTP_TRANSFER_ENCODING="chunked"
        )
        assert (answer.status, answer.problem) == (411, "length-required"), length


def test_a_length_that_is_no_number_is_refused_unread(bare_service: World) -> None:
    lengths = ("-1", "1.5", "ten", "+5", "٥", " 5")
    answers = {each: post(bare_service, Unread(b"x"), CONTENT_LENGTH=each) for each in lengths}
    assert refusals(answers) == dict.fromkeys(lengths, (400, "invalid-message"))


def test_a_length_over_the_limit_is_refused_unread(bare_service: World) -> None:
    lengths = (str(MAX_UPLOAD_BYTES + 1), "9" * 5_000)
    answers = {each: post(bare_service, Unread(b"x"), CONTENT_LENGTH=each) for each in lengths}
    assert refusals(answers) == dict.fromkeys(lengths, (413, "too-large"))


def test_no_more_than_the_announced_length_is_read(bare_service: World) -> None:
    body = encode_upload([bare_service.report()])
    stream = io.BytesIO(body + b"the next request")
    assert post(bare_service, stream, CONTENT_LENGTH=str(len(body))).status == 200
    assert stream.tell() == len(body)


@pytest.mark.slow
def test_a_body_that_ends_early_is_refused(bare_service: World) -> None:
    body = encode_upload([bare_service.report()])
    answer = post(bare_service, body[:-1], CONTENT_LENGTH=str(len(body)))
    assert (answer.status, answer.problem) == (400, "invalid-message")
    assert bare_service.n() == 0


def test_problems_of_the_whole_request_are_documents(bare_service: World) -> None:
    body = encode_upload([bare_service.report()])
    assert post(bare_service, b"rubbish").problem == "invalid-message"
    assert post(bare_service, body, PATH_INFO="/v1/collections/other/reports").status == 404
    bare_service.running.registry.close(bare_service.manifest.collection, audit=None)
    assert post(bare_service, body).problem == "collection-closed"


@pytest.mark.slow
def test_a_relays_token_lets_many_reports_in_and_no_other_token_does(bare_service: World) -> None:
    body = encode_upload([bare_service.report(), bare_service.report()])
    tokens = {
        role: bare_service.running.tokens.create(role, role, audit=None)[1]
        for role in ("relay", "admin")
    }
    wanted = {
        None: ReportError.TOKEN_REQUIRED,
        "Bearer dn_nonsense": ReportError.TOKEN_INVALID,
        f"Bearer {tokens['admin']}": ReportError.TOKEN_INVALID,
    }
    for credential, error in wanted.items():
        answer = post(bare_service, body, HTTP_AUTHORIZATION=credential)
        assert [status.error for status in decode_errors(answer.body)] == [error] * 2
    answer = post(bare_service, body, HTTP_AUTHORIZATION=f"Bearer {tokens['relay']}")
    assert (answer.status, answer.body, bare_service.n()) == (200, b"", 2)


@pytest.mark.parametrize("trusted", [False, True])
def test_behind_a_trusted_proxy_the_proxy_limits(tmp_path: Path, trusted: bool) -> None:
    settings = replace(
        service_world.prepared(tmp_path), reports_per_minute_per_prefix=1, trusted_proxy=trusted
    )
    with service_world.opened(tmp_path, settings) as bare_service:
        statuses = [
            post(bare_service, encode_upload([bare_service.report()])).status for _ in range(3)
        ]
    assert statuses == ([200] * 3 if trusted else [200, 429, 429])


def test_a_network_over_its_rate_is_told_when_to_come_back(tmp_path: Path) -> None:
    settings = replace(service_world.prepared(tmp_path), reports_per_minute_per_prefix=1)
    with service_world.opened(tmp_path, settings) as bare_service:
        answers = [post(bare_service, b"x", REMOTE_ADDR=f"192.0.2.{n}") for n in range(2)]
    assert [answer.problem for answer in answers] == ["invalid-message", "too-many-requests"]
    assert 10 <= int(answers[1].headers["Retry-After"]) <= 20


def test_no_answer_sets_a_cookie_or_allows_another_origin(bare_service: World) -> None:
    bodies = [
        encode_upload([bare_service.report()]),
        encode_upload([bare_service.report(payload=b"\xff")]),
        b"x",
    ]
    for body in bodies:
        names = post(
            bare_service, body, HTTP_ORIGIN="https://evil.example", HTTP_COOKIE="a=b"
        ).headers
        assert not [name for name in names if name.startswith("Access-Control") or "Cook" in name]


PAGE = "https://www.example.org"
READABLE = {
    "Access-Control-Allow-Origin": PAGE,
    "Access-Control-Expose-Headers": "Content-Length, Date, Retry-After",
    "Vary": "Origin",
}


def for_pages(answer: Answer) -> dict[str, str]:
    """The fields that let a page read an answer."""
    return {
        name.title(): value
        for name, value in answer.headers.items()
        if name.lower().startswith(("access-control", "vary"))
    }


@pytest.fixture
def asked_on_a_page(bare_service: World, monkeypatch: pytest.MonkeyPatch) -> World:
    collection = PATH.split("/")[3]
    origins = {collection: (PAGE,)}
    monkeypatch.setattr(bare_service.running, "web_origins", lambda name: origins.get(name, ()))
    return bare_service


def test_a_page_that_the_collection_names_may_read_the_answer(
    asked_on_a_page: World,
) -> None:
    good = post(asked_on_a_page, encode_upload([asked_on_a_page.report()]), HTTP_ORIGIN=PAGE)
    refused = post(asked_on_a_page, b"x", HTTP_ORIGIN=PAGE)
    assert [good.status, refused.status] == [200, 400]
    assert [for_pages(good), for_pages(refused)] == [READABLE, READABLE]


def test_a_page_may_ask_first_and_remembers_the_answer(asked_on_a_page: World) -> None:
    asked = {"REQUEST_METHOD": "OPTIONS", "HTTP_ACCESS_CONTROL_REQUEST_METHOD": "POST"}
    answer = post(asked_on_a_page, b"", HTTP_ORIGIN=PAGE, **asked)
    assert (answer.status, answer.body) == (204, b"")
    assert for_pages(answer) == READABLE | {
        "Access-Control-Allow-Methods": "POST",
        "Access-Control-Allow-Headers": "Content-Type",
        "Access-Control-Max-Age": "86400",
    }
    elsewhere = post(asked_on_a_page, b"", HTTP_ORIGIN="https://evil.example", **asked)
    assert (elsewhere.status, for_pages(elsewhere)) == (405, {})


NOT_FOR_A_PAGE = [
    {"HTTP_ORIGIN": "https://evil.example"},
    {"HTTP_ORIGIN": "null"},
    {"HTTP_ORIGIN": PAGE + ":8443"},
    {"HTTP_ORIGIN": PAGE, "HTTP_COOKIE": "a=b"},
    {"HTTP_ORIGIN": PAGE, "HTTP_AUTHORIZATION": "Bearer x"},
    {"HTTP_ORIGIN": PAGE, "PATH_INFO": "/v1/collections/other-000000/reports"},
]


@pytest.mark.slow
def test_no_other_request_is_for_a_page(asked_on_a_page: World) -> None:
    for fields in NOT_FOR_A_PAGE:
        body = encode_upload([asked_on_a_page.report()])
        assert for_pages(post(asked_on_a_page, body, **fields)) == {}, fields


@pytest.mark.slow
def test_no_address_and_no_report_is_ever_logged(
    bare_service: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    report = bare_service.report()
    post(bare_service, encode_upload([report]))
    post(bare_service, encode_upload([bare_service.report(payload=b"\xff")]))
    monkeypatch.setattr(bare_service.running.ingest, "_commit", None)
    assert post(bare_service, encode_upload([bare_service.report()])).status == 503
    assert "a commit of 1 reports failed" in caplog.text
    assert "192.0.2" not in caplog.text
    assert report.header.report_id.hex() not in caplog.text


def test_what_nobody_foresaw_is_a_500_that_tells_nothing(
    bare_service: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*arguments: object, **more: object) -> None:
        raise RuntimeError("secret of the inside")

    monkeypatch.setattr(bare_service.running.ingest, "_check", broken)
    answer = post(bare_service, b"x")
    assert (answer.status, answer.problem) == (500, "internal")
    assert b"secret" not in answer.body
    assert "secret of the inside" in caplog.text
