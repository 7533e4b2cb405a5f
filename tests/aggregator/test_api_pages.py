"""The page for people: what it lists, and that nothing in it can act."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_shared.authoring import manifest_from_toml
from support.api_world import INGEST, World, authored, opened

HOSTILE = """\
name = "hostile"
purpose = "<script>alert(1)</script> & {{ 7 * 7 }}"
owner = "\\"><img src=x onerror=alert(1)>"
epsilon = "1"
expires = 2027-06-01
[domain]
type = "bits"
labels = ["<b>"]
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with opened(tmp_path) as world:
        yield world


def test_the_page_lists_every_collection_with_its_price(world: World) -> None:
    collection = world.register(authored())
    page = world.get("/", None)
    assert (page.status_code, page.mimetype) == (200, "text/html")
    for text in (collection.id, "Which settings do people turn on?", "rr/1", "2027-06-01"):
        assert text in page.text


def test_the_page_without_collections_says_how_to_make_one(world: World) -> None:
    assert "deniable collections new" in world.get("/", None).text


def test_texts_of_a_manifest_stay_texts(world: World) -> None:
    world.register(manifest_from_toml(HOSTILE, ingest=INGEST))
    page = world.get("/", None).text
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; {{ 7 * 7 }}" in page


def test_the_page_may_load_what_is_its_own_and_nothing_else(world: World) -> None:
    headers = world.get("/", None).headers
    policy = dict(
        part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";")
    )
    assert policy == {
        "default-src": "'none'",
        **dict.fromkeys(("script-src", "style-src", "connect-src", "form-action"), "'self'"),
        "img-src": "'self' data:",
        **dict.fromkeys(("frame-ancestors", "base-uri"), "'none'"),
    }
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "camera=()" in headers["Permissions-Policy"]


def test_everything_the_page_refers_to_is_there(world: World) -> None:
    world.register(authored())
    page = world.get("/", None).text
    links = re.findall(r'(?:href|src)="([^"]+)"', page)
    assert links
    assert {world.get(link, None).status_code for link in links} == {200}
    assert "style=" not in page


@pytest.mark.parametrize(
    "headers",
    [{}, {"Range": "bytes=99999-"}, {"If-Match": '"x"'}, {"If-None-Match": "*"}],
)
def test_style_is_served_whole_whatever_is_asked(world: World, headers: dict[str, str]) -> None:
    answer = world.get("/static/deniable.css", None, **headers)
    assert (answer.status_code, answer.mimetype) == (200, "text/css")
    assert "ETag" not in answer.headers


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/__init__.py", "/static//etc/passwd"]
)
def test_nothing_beside_the_style_is_served(world: World, path: str) -> None:
    assert world.get(path, None).status_code == 404
