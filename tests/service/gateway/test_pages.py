"""A relay and a keyless intake answer pages as the aggregator does: those that their copy names."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deniable_aggregator.collections.registry import Collection
from deniable_shared.wire.report import MEDIA_TYPE, encode_upload
from support.builders import api_world, relay_world, split_service
from support.builders.relay_world import Answer
from support.doubles.asgi_as_wsgi import as_wsgi

PAGE = "https://www.example.org"
ELSEWHERE = "https://evil.example"
ASKED = api_world.authored("asked", more=f'web_origins = ["{PAGE}"]\n')
A_MINUTE = 20
"""Reports that one network may send."""
LIMITS = {"reports_per_minute_per_prefix": A_MINUTE}
READABLE = {
    "Access-Control-Allow-Origin": PAGE,
    "Access-Control-Expose-Headers": "Content-Length, Date, Retry-After",
    "Vary": "Origin",
}
PREFLIGHT = {
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Max-Age": "86400",
}


@dataclass
class Gateway:
    """What stands between pages and a service, and the collection that names a page."""

    app: Any
    world: api_world.World
    collection: Collection
    learn: Callable[[], None]
    """Copy what the service publishes."""

    @property
    def reports(self) -> str:
        return f"/v1/collections/{self.collection.id}/reports"

    def ask(self, method: str, path: str, body: bytes = b"", /, **fields: str) -> Answer:
        """One request of a browser, without a cookie unless `fields` have one."""
        said: list[Any] = []
        environ = {
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "QUERY_STRING": "",
            "CONTENT_TYPE": MEDIA_TYPE if body else "",
            "CONTENT_LENGTH": str(len(body)),
            "REMOTE_ADDR": "198.51.100.7",
            "wsgi.input": io.BytesIO(body),
            **{f"HTTP_{name.upper()}": value for name, value in fields.items()},
        }
        answer = b"".join(as_wsgi(self.app)(environ, lambda *started: said.extend(started)))
        return Answer(int(said[0].split()[0]), dict(said[1]), answer)

    def upload(self, body: bytes | None = None, /, **fields: str) -> Answer:
        """A report of a page; its own body unless one is given."""
        report = self.world.report(self.collection, split_service.YES)
        return self.ask("POST", self.reports, body or encode_upload([report]), **fields)

    def preflight(self, **fields: str) -> Answer:
        return self.ask("OPTIONS", self.reports, access_control_request_method="POST", **fields)


@contextmanager
def relay(folder: Path) -> Iterator[Gateway]:
    with relay_world.opened(folder, reports_per_minute=A_MINUTE) as opened:
        found = opened.aggregator.register(ASKED)
        yield Gateway(opened.running.app, opened.aggregator, found, opened.renew)


@contextmanager
def intake(folder: Path) -> Iterator[Gateway]:
    with split_service.opened(folder, intake_options=LIMITS) as opened:
        found = opened.world.register(ASKED)
        yield Gateway(opened.intake.app, opened.world, found, opened.publish)


@pytest.fixture(params=[relay, intake], ids=["relay", "intake"])
def unaware(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Gateway]:
    with request.param(tmp_path) as opened:
        yield opened


@pytest.fixture
def gateway(unaware: Gateway) -> Gateway:
    unaware.learn()
    return unaware


def for_pages(answer: Answer) -> dict[str, str]:
    """The fields that let a page read an answer."""
    return {
        name.title(): value
        for name, value in answer.headers.items()
        if name.lower().startswith(("access-control", "vary"))
    }


def test_no_page_may_upload_before_its_collection_is_copied(unaware: Gateway) -> None:
    assert for_pages(unaware.upload(origin=PAGE)) == for_pages(unaware.preflight(origin=PAGE)) == {}


@pytest.mark.slow
def test_a_page_that_the_collection_names_uploads_and_reads_the_answer(gateway: Gateway) -> None:
    asked, accepted = gateway.preflight(origin=PAGE), gateway.upload(origin=PAGE)
    assert (asked.status, asked.body, for_pages(asked)) == (204, b"", READABLE | PREFLIGHT)
    assert (accepted.codes, for_pages(accepted)) == ([], READABLE)


@pytest.mark.slow
def test_a_page_reads_refusals_and_learns_to_wait(gateway: Gateway) -> None:
    refused = gateway.upload(b"x", origin=PAGE)
    assert (refused.status, for_pages(refused)) == (400, READABLE)
    busy = [gateway.upload(b"x", origin=PAGE) for _ in range(A_MINUTE + 1)][-1]
    assert (busy.status, for_pages(busy)) == (429, READABLE)
    assert int(busy.headers["Retry-After"]) > 0


def test_every_page_reads_what_is_public(gateway: Gateway) -> None:
    named = f"/v1/collections/{gateway.collection.id}/manifest"
    for path in ("/v1/keys", "/v1/log", named):
        answer = gateway.ask("GET", path, origin=ELSEWHERE)
        assert answer.status == 200
        assert for_pages(answer) == READABLE | {"Access-Control-Allow-Origin": ELSEWHERE}


NOT_FOR_A_PAGE: list[dict[str, str]] = [
    {},
    {"origin": ELSEWHERE},
    {"origin": "null"},
    {"origin": PAGE + ":8443"},
    {"origin": PAGE, "cookie": "a=b"},
    {"origin": PAGE, "authorization": "Bearer x"},
]


def test_no_other_request_is_for_a_page(gateway: Gateway) -> None:
    for fields in NOT_FOR_A_PAGE:
        gateway.world.clock.now += 60  # a network may send again
        uploaded, asked = gateway.upload(**fields), gateway.preflight(**fields)
        assert (for_pages(uploaded), for_pages(asked)) == ({}, {}), fields
        assert uploaded.status != 429
        assert "set-cookie" not in {name.lower() for name in uploaded.headers}, fields
