"""A path that is not in its normal form is refused before it is routed, in front of every room."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deniable_aggregator.web.app import create_app
from deniable_aggregator.web.front import front_of
from deniable_gateway.problem import Problem
from deniable_gateway.spool.intake import KeylessIntake
from deniable_gateway.spool.options import IntakeOptions
from deniable_gateway.upload.front import Front
from deniable_gateway.upload.paths import require_normal_path
from deniable_gateway.upload.request import Reply
from deniable_shared.wire.report import MEDIA_TYPE
from support.builders import relay_world
from support.builders.api_world import opened
from support.doubles.asgi_as_wsgi import AsgiAsWsgi

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

REFUSED = [
    "//v1/collections/settings/reports",
    "///v1/collections/settings/reports",
    "/v1//collections/settings/reports",
    "/v1/collections//reports",
    "/v1/collections/settings//reports",
    "/v1/collections/settings/reports//",
    "/./v1/collections/settings/reports",
    "/v1/./collections/settings/reports",
    "/v1/../v1/collections/settings/reports",
    "/v1/collections/settings/estimates/../reports",
    "/v1/collections/settings/reports/.",
    "/v1/collections/settings/reports/..",
    "/v1\\collections/settings/reports",
    "\\v1/collections/settings/reports",
    "/v1%2fcollections/settings/reports",
    "/v1/%2E%2e/v1/collections/settings/reports",
    "/v1/collections%5Csettings/reports",
    "v1/collections/settings/reports",
    "*",
    "//",
    "//healthz",
    "/static/../healthz",
]
NORMAL = [
    "",
    "/",
    "/healthz",
    "/collections/settings/",
    "/static/deniable.0123456789abcdef.css",
    "/v1/users/100%",
    "/v1/users/a.b",
    "/v1/users/.ana",
    "/v1/users/ana...",
    "/v1/users/ana%20b",
]
AS_SENT = [
    "/v1%2Fcollections/settings/reports",
    "/%2e/v1/collections/settings/reports",
    "/v1/collections/settings%5creports?x=1",
]
"""What a server decodes to a normal path, where it says what was sent."""


def refused(path: str, as_sent: str = "") -> bool:
    try:
        require_normal_path(path, as_sent)
    except Problem as problem:
        return problem.slug == "not-found"
    return False


def test_an_unusual_path_is_refused() -> None:
    assert [path for path in REFUSED if not refused(path)] == []


def test_a_usual_path_is_not_refused() -> None:
    assert [path for path in NORMAL if refused(path, f"{path}?next=/..//%2F")] == []


def test_what_was_encoded_is_refused_where_the_server_keeps_it() -> None:
    path = "/v1/collections/settings/reports"
    assert [sent for sent in AS_SENT if not refused(path, sent)] == []


def test_either_way_in_looks_at_what_was_sent(tmp_path: Path) -> None:
    path = "/v1/collections/settings/estimates"
    with opened(tmp_path) as world:
        view, front = world.app.wsgi_app, AsgiAsWsgi(front_of(world.app))
        for sent in AS_SENT:
            for way, kept in ((view, "RAW_URI"), (view, "REQUEST_URI"), (front, "RAW_URI")):
                status, document = asked(way, "GET", path, **{kept: sent})
                assert (status, document["type"]) == (404, "urn:deniable:problem:not-found"), sent


class Unreached:
    """Stands behind a front that passes nothing on."""

    def body_limit(self, method: str, path: str) -> int:
        raise AssertionError("the request was routed")

    async def answer(self, scope: object, body: bytes) -> Reply:
        raise AssertionError("the request was routed")


@pytest.fixture(params=["aggregator", "view", "intake", "relay"])
def application(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[WSGIApplication]:
    """Each of the rooms that face a network."""
    if request.param == "aggregator":
        with opened(tmp_path) as world:
            yield AsgiAsWsgi(front_of(world.app))
    elif request.param == "view":
        with opened(tmp_path) as world:
            yield create_app(world.running).wsgi_app
    elif request.param == "intake":
        options = IntakeOptions(str(tmp_path), data=str(tmp_path / "nowhere"))
        yield AsgiAsWsgi(KeylessIntake(options).app)
    else:
        with relay_world.opened(tmp_path) as relay:
            yield AsgiAsWsgi(relay.running.app)


def asked(
    application: WSGIApplication, method: str, path: str, **more: str
) -> tuple[int, dict[str, object]]:
    """Status and problem document; the body must not be read."""
    answers: list[str] = []
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "CONTENT_TYPE": MEDIA_TYPE,
        "CONTENT_LENGTH": "1",
        "REMOTE_ADDR": "192.0.2.7",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(b"0"),
        **more,
    }
    take: Callable[..., object] = lambda status, headers, _=None: answers.append(status)  # noqa: E731  (one line shows it)
    body = b"".join(application(environ, take))  # type: ignore[arg-type]  # a double of start_response
    return int(answers[0][:3]), json.loads(body)


def test_every_room_answers_such_a_path_alike(application: WSGIApplication) -> None:
    for method, path in product(("POST", "GET"), REFUSED):
        status, document = asked(application, method, path)
        assert (status, document["type"]) == (404, "urn:deniable:problem:not-found"), (method, path)
        assert "not in its normal form" in str(document["detail"])


def test_the_web_framework_never_sees_such_a_path(tmp_path: Path) -> None:
    """What it costs is one check: no routing, no recursion, no log line."""
    with opened(tmp_path) as world:
        front = Front(world.running.arrivals, Unreached(), gate=world.running.gate)
        statuses = {path: asked(AsgiAsWsgi(front), "POST", path)[0] for path in REFUSED}
    assert statuses == dict.fromkeys(REFUSED, 404)


def test_such_requests_are_counted(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        for way in (create_app(world.running).wsgi_app, AsgiAsWsgi(front_of(world.app))):
            asked(way, "POST", "//v1/collections/x/reports")
        counted = world.running.metrics.requests.labels("none", "404")
        assert counted._value.get() == 2.0


@pytest.mark.slow
def test_pages_and_the_files_they_load_are_where_they_were(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        page = world.page("/", "viewer")
        files = re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text)
        assert page.status_code == 200
        assert files
        assert {world.page(file, "viewer").status_code for file in files} == {200}
