"""Whatever goes wrong is a problem document, and says nothing of the inside."""

from __future__ import annotations

import io
import logging

import pytest
from werkzeug.test import TestResponse

from deniable_aggregator.base.errors import StoreUnavailableError
from deniable_shared.wire.problems import PROBLEMS
from support.builders.api_world import World, authored
from support.builders.manifests import manifest_with

SECRET = "the password is swordfish"


def check_problem(answer: TestResponse, slug: str) -> dict[str, object]:
    document: dict[str, object] = answer.get_json()
    kind = PROBLEMS[slug]
    assert answer.content_type == "application/problem+json"
    assert answer.status_code == document["status"] == kind.status
    assert (document["type"], document["title"]) == (kind.uri, kind.title)
    assert document["retry"] is kind.retry
    assert document["detail"]
    return document


@pytest.mark.parametrize(
    "path",
    [
        "/nope",
        "/v1",
        "/v1/",
        "/v1/collections/",
        "//v1/nope",
        "/v1//keys",
        "/static/",
        "/%00",
        "/ü",
    ],
)
def test_an_address_with_nothing_behind_it_is_a_problem(
    unchanged_service: World, path: str
) -> None:
    check_problem(unchanged_service.get(path, None), "not-found")


BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def test_in_a_browser_it_is_a_page_that_leads_back(unchanged_service: World) -> None:
    answer = unchanged_service.get("/nope", None, Accept=BROWSER)
    assert (answer.status_code, answer.mimetype) == (404, "text/html")
    assert "There is nothing at this address" in answer.text
    assert 'href="/"' in answer.text


@pytest.mark.parametrize(
    ("path", "accepted"),
    [("/nope", "*/*"), ("/nope", "application/json, text/html;q=0.5"), ("/v1/nope", BROWSER)],
)
def test_who_asks_for_documents_gets_one(
    unchanged_service: World, path: str, accepted: str
) -> None:
    check_problem(unchanged_service.get(path, None, Accept=accepted), "not-found")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["DELETE", "OPTIONS", "PATCH", "PUT", "TRACE", "MKCOL"])
def test_a_method_that_is_not_taken_is_a_problem_naming_those_that_are(
    unchanged_service: World, method: str
) -> None:
    answer = unchanged_service.send(method, "/v1/collections/settings/estimates")
    document = check_problem(answer, "method-not-allowed")
    assert answer.headers["Allow"] == "GET, HEAD"
    assert "GET, HEAD" in str(document["detail"])


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_uploads_are_posted(unchanged_service: World, method: str) -> None:
    answer = unchanged_service.send(method, "/v1/collections/settings/reports", None)
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "POST"


def test_a_broken_inside_is_logged_and_not_shown(
    service: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr(service.running.registry, "all", broken)
    with caplog.at_level(logging.ERROR):
        answer = service.get("/v1/collections", None)
    check_problem(answer, "internal")
    assert SECRET not in answer.text
    assert "RuntimeError" not in answer.text
    assert SECRET in caplog.text
    assert "collections.collections failed" in caplog.text


def test_a_lost_database_is_named_and_may_be_tried_again(
    service: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def lost() -> None:
        raise StoreUnavailableError(SECRET)

    monkeypatch.setattr(service.running.registry, "all", lost)
    with caplog.at_level(logging.ERROR):
        answer = service.get("/v1/collections", None)
    document = check_problem(answer, "unavailable")
    assert "the database does not answer" in str(document["detail"])
    assert int(answer.headers["Retry-After"]) > 0
    assert SECRET not in answer.text
    assert SECRET in caplog.text


@pytest.mark.parametrize("path", ["/v1/collections", "/v1/keys", "/v1/collections/x/manifest"])
def test_public_operations_refuse_arguments_they_do_not_know(
    unchanged_service: World, path: str
) -> None:
    document = check_problem(unchanged_service.get(f"{path}?nonsense=1", None), "invalid-argument")
    assert (document["argument"], document["given"]) == ("nonsense", "nonsense")


def test_a_broken_database_is_not_ready_but_alive(
    service: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise OSError(SECRET)

    monkeypatch.setattr(service.running.store, "ping", broken)
    answer = service.get("/readyz", None)
    check_problem(answer, "unavailable")
    assert SECRET not in answer.text
    assert answer.get_json()["checks"]["database"] == "does not answer"
    assert answer.headers["Retry-After"] == "5"
    assert service.get("/healthz", None).get_json() == {"status": "ok"}


def test_ready_and_alive_say_so(unchanged_service: World) -> None:
    checks = dict.fromkeys(("database", "keys", "disk", "clock"), "ok")
    assert unchanged_service.get("/readyz", None).get_json() == {
        "status": "ready",
        "checks": checks,
    }
    assert unchanged_service.get("/healthz?probe=1", None).get_json() == {"status": "ok"}


@pytest.mark.parametrize("path", ["/v1/collections", "/v1/keys", "/nope", "/", "/openapi.json"])
def test_no_answer_sets_a_cookie_or_allows_another_origin(
    unchanged_service: World, path: str
) -> None:
    headers = {"Origin": "https://elsewhere.example", "Cookie": "session=x"}
    answer = unchanged_service.get(path, None, **headers)
    assert "Set-Cookie" not in answer.headers
    assert [name for name in answer.headers if name[0].startswith("Access-Control")] == []
    assert "Vary" not in answer.headers or "Cookie" not in answer.headers["Vary"]


SIGNED = {
    "/v1/keys": 200,
    "/v1/log": 200,
    "/v1/log?from=-1": 400,
    "/v1/collections/settings/manifest": 200,
    "/v1/collections/other/manifest": 404,
}


def test_what_is_signed_answers_every_origin(service: World) -> None:
    service.register(authored())
    page = "https://elsewhere.example"
    answers = {path: service.get(path, None, Origin=page) for path in SIGNED}
    assert {path: answer.status_code for path, answer in answers.items()} == SIGNED
    for path, answer in answers.items():
        headers = answer.headers
        assert headers["Access-Control-Allow-Origin"] == page, path
        assert headers["Access-Control-Expose-Headers"] == "Content-Length, Date, Retry-After", path
        assert "Origin" in headers.getlist("Vary"), path


def test_pages_that_may_upload_are_those_of_the_newest_manifest(service: World) -> None:
    page = "https://www.example.org"
    asked = service.register(manifest_with({"web_origins": [page]}))
    assert service.running.web_origins(asked.id) == service.running.web_origins("settings")
    assert service.running.web_origins("settings") == (page,)
    assert service.running.web_origins("unknown") == ()


@pytest.mark.slow
def test_public_answers_do_not_depend_on_cookies(service: World) -> None:
    service.register(authored())
    for path in ("/", "/v1/collections", "/v1/keys", "/v1/collections/settings/manifest"):
        assert service.get(path, None).data == service.get(path, None, Cookie="session=abc").data


@pytest.mark.parametrize("length", ["-1", "x", "99999999999999999999", "1e3"])
def test_a_nonsensical_content_length_is_refused(unchanged_service: World, length: str) -> None:
    answer = unchanged_service.client.post(
        "/v1/tokens",
        headers={**unchanged_service.authorization("admin"), "Content-Type": "application/json"},
        environ_overrides={"CONTENT_LENGTH": length},
    )
    assert answer.status_code in (400, 411, 413)
    assert answer.content_type == "application/problem+json"


def test_a_body_that_does_not_say_how_long_it_is_is_refused_unread(
    unchanged_service: World,
) -> None:
    class Endless(io.RawIOBase):
        """A chunked body that never ends."""

        def readinto(self, buffer: object) -> int:
            raise AssertionError("the body was read")

    answer = unchanged_service.client.post(
        "/v1/tokens",
        headers={**unchanged_service.authorization("admin"), "Content-Type": "application/json"},
        environ_overrides={
            "wsgi.input": Endless(),
            "wsgi.input_terminated": True,
            "HTTP_TRANSFER_ENCODING": "chunked",
        },
    )
    check_problem(answer, "length-required")
