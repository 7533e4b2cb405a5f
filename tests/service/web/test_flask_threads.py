"""Flask behind the event loop: whole bodies in, whole answers out, places for what is long."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from flask import Blueprint, Flask, Response, request

from deniable_aggregator.web.api.operations import MAX_JSON_BYTES
from deniable_aggregator.web.app import create_app
from deniable_aggregator.web.flask_threads import (
    PLACES_OF_BLUEPRINTS,
    FlaskThreads,
    _place,
    environ_of,
)
from deniable_gateway.upload.request import Reply
from support.builders.api_world import World, authored, opened

LONG = 60.0


def scope(path: str = "/", method: str = "GET", *headers: tuple[bytes, bytes]) -> dict[str, Any]:
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "query_string": b"a=b%20c",
        "headers": list(headers),
        "client": ("192.0.2.7", 1),
        "server": ("127.0.0.1", 8000),
    }


def run(asking: Coroutine[Any, Any, Reply]) -> Reply:
    return asyncio.run(asking)


def threads_of(app: Flask) -> FlaskThreads:
    """Whatever Flask does not answer is not counted."""
    return FlaskThreads(app, count=lambda _endpoint, _status: None)


def test_a_view_gets_the_request_as_it_was_sent() -> None:
    app = Flask("told")

    @app.post("/é")
    def view() -> dict[str, object]:
        names = ("X-A", "Cookie", "Content-Length", "Host")
        return {
            "body": request.get_data().decode(),
            "fields": {name: request.headers.get(name) for name in names},
            "place": [request.remote_addr, request.host, request.args["a"], request.scheme],
        }

    fields = (
        *((b"x-a", b"1"), (b"x-a", b"2"), (b"x_a", b"3"), (b"cookie", b"a=1")),
        *((b"cookie", b"b=2"), (b"content-length", b"4"), (b"host", b"here:80")),
    )
    asked = threads_of(app).answer(scope("/é", "POST", *fields), b"body")
    status, headers, body = run(asked)
    assert (status, dict(headers)["Content-Type"]) == (200, "application/json")
    assert app.json.loads(body) == {
        "body": "body",
        "fields": {"X-A": "1,2", "Cookie": "a=1; b=2", "Content-Length": "4", "Host": "here:80"},
        "place": ["192.0.2.7", "here", "b c", "http"],
    }


def test_the_environment_is_that_of_wsgi() -> None:
    environ = environ_of(scope("/a b/ü"), b"x")
    assert environ["PATH_INFO"] == "/a b/ü".encode().decode("latin-1")
    assert (environ["SERVER_NAME"], environ["SERVER_PORT"]) == ("127.0.0.1", "8000")
    assert isinstance(environ["wsgi.input"], BytesIO)


def test_an_answer_that_comes_bit_by_bit_is_closed_at_its_end() -> None:
    app, closed = Flask("bits"), threading.Event()

    @app.get("/")
    def view() -> Response:
        made = Response(iter(["a", "b"]))
        made.call_on_close(closed.set)
        return made

    assert run(threads_of(app).answer(scope(), b""))[2] == b"ab"
    assert closed.is_set()


def app_of_blueprints() -> tuple[Flask, threading.Event]:
    """An estimate that takes until it is let go, a sign-in, probes."""
    app, through = Flask("places"), threading.Event()
    places = {"estimates": "/slow", "signin": "/sign-in", "metrics": "/metrics"}
    for name, path in places.items():
        blueprint = Blueprint(name, __name__)

        def view(slow: bool = name == "estimates") -> str:
            if slow:
                assert through.wait(LONG)
            return threading.current_thread().name.partition("_")[0]

        blueprint.add_url_rule(path, "metrics", view)
        app.register_blueprint(blueprint)
    return app, through


def test_estimates_that_take_long_hold_neither_sign_in_nor_probes() -> None:
    app, through = app_of_blueprints()
    threads = threads_of(app)

    async def asking() -> list[bytes]:
        slow = [asyncio.ensure_future(threads.answer(scope("/slow"), b"")) for _ in range(20)]
        quick = [await threads.answer(scope(path), b"") for path in ("/sign-in", "/metrics", "/x")]
        through.set()
        return [body for _, _, body in (*quick[:2], *await asyncio.gather(*slow))]

    assert asyncio.run(asking()) == [b"passwords", b"probes", *[b"long"] * 20]


@pytest.mark.slow
def test_that_the_process_runs_is_said_on_the_loop_and_counted(tmp_path: Path) -> None:
    """Flask answers the first of these requests; the others are equal and wait for no thread."""
    with opened(tmp_path) as world:
        counted: list[tuple[str, int]] = []
        app = create_app(world.running)
        threads = FlaskThreads(app, count=lambda *each: counted.append(each))
        threads._pools.clear()
        first, *later = [run(threads.answer(scope("/healthz"), b"")) for _ in range(3)]
        flask = app.test_client().get("/healthz")
        asked = world.running.metrics.requests.labels("health.healthz", "200")
        assert asked._value.get() == 2  # `first`, and Flask's own
    assert later == [first, first]
    assert (first[0], first[2]) == (flask.status_code, flask.data)
    assert dict(first[1]) == dict(flask.headers)
    assert counted == [("health.healthz", 200)] * 2


def test_every_view_has_a_place_and_devices_need_none_of_the_long_ones(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        check_places(world)


def check_places(world: World) -> None:
    app = create_app(world.running)
    threads = threads_of(app)
    found = world.register(authored())
    quick = ("/v1/keys", "/v1/log", "/v1/collections", f"/v1/collections/{found.id}/manifest")
    assert {_place(threads._endpoint("GET", path)) for path in (*quick, "/nowhere")} == {"quick"}
    assert _place(threads._endpoint("GET", "/sign-in")) == "passwords"
    assert _place(threads._endpoint("GET", "/sign-in/provider")) == "provider"
    long = (f"/v1/collections/{found.id}/estimates", "/", f"/collections/{found.id}")
    assert {_place(threads._endpoint("GET", path)) for path in long} == {"long"}
    probes = ("/healthz", "/readyz", "/metrics")
    assert {_place(threads._endpoint("GET", path)) for path in probes} == {"probes"}
    blueprints = {rule.endpoint.partition(".")[0] for rule in app.url_map.iter_rules()}
    assert blueprints >= PLACES_OF_BLUEPRINTS.keys()


@pytest.mark.parametrize(
    ("method", "path", "longer"),
    [
        ("POST", "/sign-in", False),
        ("GET", "/nowhere", False),
        ("PUT", "/v1/collections/settings", True),
    ],
)
def test_a_body_is_read_up_to_what_the_operation_takes(
    tmp_path: Path, method: str, path: str, longer: bool
) -> None:
    with opened(tmp_path) as world:
        limit = threads_of(create_app(world.running)).body_limit(method, path)
    assert (limit > MAX_JSON_BYTES) == longer
    assert limit >= MAX_JSON_BYTES
