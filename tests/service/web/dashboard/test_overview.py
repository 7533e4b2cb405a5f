"""Pages for people: what the overview lists, what it loads, and that nothing in it can inject."""

from __future__ import annotations

import gzip
import hashlib
import re

import pytest

from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.web.dashboard import assets
from support.builders.api_world import DAY, INGEST, TODAY, World, authored

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


def test_the_page_lists_every_collection_with_its_price(service: World) -> None:
    collection = service.register(authored())
    page = service.page("/", None)
    assert (page.status_code, page.mimetype) == (200, "text/html")
    for text in (collection.id, "Which settings do people turn on?", "rr/1", "2027-06-01"):
        assert text in page.text


def test_the_page_without_collections_says_how_to_make_one(service: World) -> None:
    assert "deniable collections new" in service.page("/", None).text


def test_texts_of_a_manifest_stay_texts(service: World) -> None:
    service.register(manifest_from_toml(HOSTILE, ingest=INGEST))
    for role in (None, "viewer"):
        page = service.page("/", role).text
        assert "<script>alert" not in page
        assert "onerror=alert(1)>" not in page.replace("&gt;", "")
        assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; {{ 7 * 7 }}" in page


def test_a_page_may_load_what_is_ours_and_nothing_else(service: World) -> None:
    headers = service.page("/", None).headers
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
    assert headers["Cache-Control"] == "no-store"


def test_everything_the_page_refers_to_is_there(service: World) -> None:
    service.register(authored())
    page = service.page("/", None).text
    links = [link for link in re.findall(r'(?:href|src)="([^"]+)"', page) if link[0] != "#"]
    assert any(link.endswith(".css") for link in links)
    assert {service.page(link, None).status_code for link in links} == {200}


def test_no_markup_holds_a_script_or_a_style(service: World) -> None:
    service.register(authored())
    page = service.page("/", "viewer").text
    assert not re.search(r"style=|<style|\son[a-z]+=|javascript:", page)
    assert re.findall(r"<script(?![^>]*src=)", page) == []


@pytest.fixture
def style(service: World) -> str:
    """Address of our own style sheet."""
    found = re.search(r'href="(/static/deniable\.[^"]+)"', service.page("/", None).text)
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    "headers",
    [{}, {"Range": "bytes=99999-"}, {"If-Match": '"x"'}, {"If-None-Match": "*"}],
)
def test_style_is_served_whole_whatever_is_asked(
    service: World, style: str, headers: dict[str, str]
) -> None:
    answer = service.page(style, None, **headers)
    assert (answer.status_code, answer.mimetype) == (200, "text/css")
    assert answer.data == (assets.STATIC / "deniable.css").read_bytes()
    assert "ETag" not in answer.headers


def test_a_file_is_kept_for_good_because_its_address_names_its_content(
    service: World, style: str
) -> None:
    answer = service.page(style, None)
    assert "immutable" in answer.headers["Cache-Control"]
    assert hashlib.sha256(answer.data).hexdigest()[:16] in style
    assert service.page(style.replace("deniable.", "deniable.0"), None).status_code == 404


def test_a_file_is_compressed_where_the_browser_takes_that(service: World, style: str) -> None:
    plain, small = (
        service.page(style, None),
        service.page(style, None, **{"Accept-Encoding": "gzip"}),
    )
    assert small.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(small.data) == plain.data
    assert len(small.data) < len(plain.data) / 2


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/__init__.py", "/static//etc/passwd"]
)
def test_nothing_beside_the_files_is_served(service: World, path: str) -> None:
    assert service.page(path, None).status_code == 404


def test_a_stranger_sees_what_is_asked_and_no_number_of_reports(service: World) -> None:
    collection = service.register(authored())
    before = service.page("/", None).data
    service.count(collection, [{"dark_mode": True, "beta": False}] * 20)
    assert service.page("/", None).data == before


def test_a_viewer_sees_what_came_in_today(service: World) -> None:
    collection = service.register(authored())
    service.count(collection, [{"dark_mode": True, "beta": False}] * 1_234)
    page = service.page("/").text
    assert "Reports today</dt><dd>1\u202f234" in page


def test_an_expired_collection_is_an_alert(service: World) -> None:
    service.register(authored(expires="2027-01-20"))
    assert "takes reports until 2027-01-20" in service.page("/").text
    service.clock.now += 10 * DAY
    service.people.clear()  # sessions are over by then
    assert "has expired on 2027-01-20" in service.page("/").text


def test_an_epoch_that_did_not_close_is_an_alert(service: World) -> None:
    collection = service.register(authored())
    service.count(collection, [{"dark_mode": True, "beta": False}], epoch=TODAY - 3)
    assert "is the housekeeping running?" in service.page("/").text
    service.running.tick()
    assert "is the housekeeping running?" not in service.page("/").text


def test_many_collections_are_paged_and_found_by_words(service: World) -> None:
    for number in range(60):
        service.register(authored(f"question-{number:02}", expires="2027-06-01"))
    first, second = service.page("/").text, service.page("/?page=2").text
    assert "question-00" in first
    assert "question-59" not in first
    assert "question-59" in second
    found = service.page("/?q=QUESTION+-37").text
    assert re.findall(r">(question-\d\d)<", found) == ["question-37"]


def test_a_query_that_no_page_takes_is_told_as_a_page(service: World) -> None:
    answer = service.page("/?nonsense=1")
    assert (answer.status_code, answer.mimetype) == (400, "text/html")
    assert "nonsense must be one of archived, page, q" in answer.text


def test_a_field_that_a_form_left_empty_was_not_asked_for(service: World) -> None:
    assert service.page("/?q=&page=").status_code == 200
