"""Pages for people: what the overview lists, what it loads, and that nothing in it can inject."""

from __future__ import annotations

import gzip
import hashlib
import re
from typing import Any

import pytest

from deniable_aggregator.access.audit import parse
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.documents.estimate_arguments import EstimatesArguments
from deniable_aggregator.queries.estimates import estimates
from deniable_aggregator.web.dashboard import assets, headlines
from deniable_shared.manifest.model import Manifest
from support.builders.api_world import DAY, INGEST, TODAY, World, authored
from support.doubles.browser import Browser

NO_BUDGET = 'central = { per_epoch = "0", per_installation = "0", delta = "0" }\n'
YES = {"dark_mode": True, "beta": False}
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


def test_a_page_may_load_what_is_ours_and_nothing_else(unchanged_service: World) -> None:
    headers = unchanged_service.page("/", None).headers
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


@pytest.mark.slow
def test_everything_the_page_refers_to_is_there(service: World) -> None:
    service.register(authored())
    page = service.page("/", None).text
    links = [link for link in re.findall(r'(?:href|src)="([^"]+)"', page) if link[0] != "#"]
    assert any(link.endswith(".css") for link in links)
    assert {service.page(link, None).status_code for link in links} == {200}


@pytest.mark.slow
def test_no_markup_holds_a_script_or_a_style(service: World) -> None:
    service.register(authored())
    page = service.page("/", "viewer").text
    assert not re.search(r"style=|<style|\son[a-z]+=|javascript:", page)
    assert re.findall(r"<script(?![^>]*src=)", page) == []


@pytest.fixture
def style(unchanged_service: World) -> str:
    """Address of our own style sheet."""
    found = re.search(r'href="(/static/deniable\.[^"]+)"', unchanged_service.page("/", None).text)
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    "headers",
    [{}, {"Range": "bytes=99999-"}, {"If-Match": '"x"'}, {"If-None-Match": "*"}],
)
def test_style_is_served_whole_whatever_is_asked(
    unchanged_service: World, style: str, headers: dict[str, str]
) -> None:
    answer = unchanged_service.page(style, None, **headers)
    assert (answer.status_code, answer.mimetype) == (200, "text/css")
    assert answer.data == (assets.STATIC / "deniable.css").read_bytes()
    assert "ETag" not in answer.headers


def test_a_file_is_kept_for_good_because_its_address_names_its_content(
    unchanged_service: World, style: str
) -> None:
    answer = unchanged_service.page(style, None)
    assert "immutable" in answer.headers["Cache-Control"]
    assert hashlib.sha256(answer.data).hexdigest()[:16] in style
    assert unchanged_service.page(style.replace("deniable.", "deniable.0"), None).status_code == 404


def test_a_file_is_compressed_where_the_browser_takes_that(
    unchanged_service: World, style: str
) -> None:
    plain, small = (
        unchanged_service.page(style, None),
        unchanged_service.page(style, None, **{"Accept-Encoding": "gzip"}),
    )
    assert small.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(small.data) == plain.data
    assert len(small.data) < len(plain.data) / 2


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/__init__.py", "/static//etc/passwd"]
)
def test_nothing_beside_the_files_is_served(unchanged_service: World, path: str) -> None:
    assert unchanged_service.page(path, None).status_code == 404


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


@pytest.mark.slow
def test_an_expired_collection_is_an_alert(service: World) -> None:
    service.register(authored(expires="2027-01-20"))
    assert "takes reports until 2027-01-20" in service.page("/").text
    service.clock.now += 10 * DAY
    service.people.clear()  # sessions are over by then
    assert "has expired on 2027-01-20" in service.page("/").text


def test_an_epoch_that_did_not_close_is_an_alert(service: World) -> None:
    collection = service.register(authored())
    service.count(collection, [{"dark_mode": True, "beta": False}], epoch=TODAY - 3)
    assert "is maintenance running?" in service.page("/").text
    service.running.tick()
    assert "is maintenance running?" not in service.page("/").text


def names(page: str) -> list[str]:
    """The names of the questions that are listed, in order."""
    return re.findall(r"<small>([a-z0-9-]+) ·", page)


@pytest.mark.slow
def test_many_questions_are_paged_and_found_by_words(service: World) -> None:
    for number in range(60):
        service.register(authored(f"question-{number:02}", expires="2027-06-01"))
    shown = [names(service.page(f"/?page={page}").text) for page in (1, 2, 3)]
    assert [len(each) for each in shown] == [25, 25, 10]
    assert [name for page in shown for name in page] == [
        f"question-{number:02}" for number in range(60)
    ]
    assert names(service.page("/?q=QUESTION+-37").text) == ["question-37"]
    assert names(service.page("/?q=nothing").text) == []


@pytest.mark.slow
def test_questions_are_sorted_by_what_is_asked_for(service: World) -> None:
    for name, month, reports in (("b", 3, 9), ("a", 5, 5), ("c", 6, 7)):
        found = service.register(authored(name, expires=f"2027-0{month}-01"))
        service.count(found, [YES] * reports)
    by = {sort: names(service.page(f"/?sort={sort}").text) for sort in ("name", "reports", "ends")}
    assert by == {"name": ["a", "b", "c"], "reports": ["b", "c", "a"], "ends": ["b", "a", "c"]}
    assert names(service.page("/?sort=owner").text) == ["a", "b", "c"]
    assert names(service.page("/?sort=newest").text) == ["a", "b", "c"]


def test_the_order_shows_a_stranger_no_number_of_reports(service: World) -> None:
    for name, reports in (("b", 9), ("a", 5)):
        service.count(service.register(authored(name)), [YES] * reports)
    page = service.page("/?sort=reports", None).text
    assert names(page) == ["a", "b"]
    assert 'value="reports"' not in page


def test_a_state_lists_the_questions_that_are_in_it(service: World) -> None:
    for name in ("asked", "closed", "hidden"):
        service.register(authored(name))
    service.running.registry.close(service.running.registry.get("closed").id, audit=None)
    hidden = service.running.registry.get("hidden").id
    service.running.registry.archive(hidden, archived=True, audit=None)
    shown = {
        state: names(service.page(f"/?state={state}").text)
        for state in ("current", "open", "closed", "archived", "all")
    }
    assert shown == {
        "current": ["asked", "closed"],
        "open": ["asked"],
        "closed": ["closed"],
        "archived": ["hidden"],
        "all": ["asked", "closed", "hidden"],
    }


@pytest.mark.slow
def test_a_public_question_leads_everyone_to_its_results(service: World) -> None:
    found = service.register(authored("open-data", more="public = true\n"))
    service.register(authored())
    for role in (None, "viewer"):
        page = service.page("/?state=public", role).text
        assert names(page) == ["open-data"]
        links = re.findall(r'href="([^"]+)"[^>]*>public<', page)
        assert [service.page(link, None).status_code for link in links] == [200]
    assert f'<a href="/public/{found.id}">' in service.page("/", None).text


@pytest.mark.slow
def test_a_line_has_the_answer_of_the_closed_days_with_its_interval(service: World) -> None:
    found = service.register(authored(type="choice", labels=("tea", "coffee"), min_batch=5))
    for epoch in (TODAY - 3, TODAY - 2, TODAY - 1):
        service.count(found, ["tea"] * 40 + ["coffee"] * 10, epoch=epoch)
        service.running.store.close_epoch(found.id, epoch, service.clock(), audit=None)
    service.count(found, ["coffee"] * 500)
    page = service.page("/").text
    span = f"from={TODAY - 3}&to={TODAY - 1}"
    reply = service.get(f"/v1/collections/{found.id}/estimates?{span}").get_json()
    tea = next(row for row in reply["estimates"] if row["label"] == "tea")
    assert f"{100 * tea['frequency']:.1f}\u202f%</strong>" in page
    assert "so far" not in page
    assert '<polyline points="0.000,' in page
    assert "3 days, with its interval" in page
    assert service.page("/", None).text.count("<polyline") == 0


@pytest.mark.slow
def test_a_line_is_kept_until_another_epoch_closes(
    service: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = service.register(authored(type="choice", labels=("tea", "coffee")))
    computed: list[str] = []

    def noted(store: Any, collection: Collection, question: EstimatesArguments) -> Any:
        computed.append(str(question.last))
        return estimates(store, collection, question)

    monkeypatch.setattr(f"{headlines.__name__}.estimates", noted)
    for epoch in (TODAY - 2, TODAY - 1):
        service.count(found, ["tea"] * 40, epoch=epoch)
        service.running.store.close_epoch(found.id, epoch, service.clock(), audit=None)
        pages = [service.page("/").text for _ in range(3)]
        assert pages[1:] == pages[:2]
    service.count(found, ["coffee"] * 40)
    service.page("/")
    assert computed == [str(TODAY - 2), str(TODAY - 1)]


def test_an_answer_of_today_alone_says_so_far(service: World) -> None:
    found = service.register(authored(type="choice", labels=("tea", "coffee"), min_batch=5))
    service.count(found, ["tea"] * 50)
    page = service.page("/").text
    assert ", so far</small>" in page
    assert "<polyline" not in page


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (authored(type="choice", labels=("a", "b"), min_batch=50), "see its page"),
        (authored(read="releases"), "by releases only"),
        (authored("none"), "waiting for the first report"),
    ],
    ids=["few", "releases", "none"],
)
def test_where_there_is_no_answer_the_line_says_why(
    service: World, manifest: Manifest, said: str
) -> None:
    found = service.register(manifest)
    if manifest.name != "none":
        service.count(found, ["a" if manifest.domain.type == "choice" else YES] * 9)
    assert said in service.page("/").text


@pytest.mark.slow
def test_an_administrator_archives_a_question_and_puts_it_back(service: World) -> None:
    found = service.register(authored("mistake"))
    admin = Browser.signed_in(service.app, service.running, "admin")
    for act, listed in (("collection-archived", []), ("collection-unarchived", ["mistake"])):
        answer = admin.post("/", act=act, id=found.id)
        assert answer.status_code == 303
        assert names(service.page("/").text) == listed
    acts = [parse(row).act for row in service.running.store.audit()]
    assert [act for act in acts if act.startswith("collection-")] == [
        "collection-archived",
        "collection-unarchived",
    ]


def test_a_viewer_archives_nothing(service: World) -> None:
    found = service.register(authored())
    viewer = Browser.signed_in(service.app, service.running, "viewer")
    assert viewer.post("/", act="collection-archived", id=found.id).status_code == 403
    assert "Archive" not in viewer.client.get("/").text
    assert not service.running.registry.get(found.id).archived


def menus(page: str) -> list[list[str]]:
    """The texts of the menu, and of the operator's."""
    found = re.findall(r'<nav[^>]*aria-label="(?:Pages|Operator)">(.*?)</nav>', page, re.S)
    return [re.findall(r">([A-Z][^<]*)</a>", each) for each in found]


@pytest.mark.slow
def test_the_menu_is_of_the_person_who_looks(service: World) -> None:
    reading = ["Questions", "Releases", "Budgets", "Set up"]
    assert menus(service.page("/", None).text) == [["Questions"]]
    assert menus(service.page("/", "viewer").text) == [reading]
    assert menus(service.page("/", "analyst").text) == [reading]
    assert menus(service.page("/", "admin").text) == [[*reading, "Operator"]]
    assert menus(service.page("/keys", "admin").text) == [
        [*reading, "Operator"],
        ["Health", "Log", "Access", "Keys", "Audit"],
    ]
    assert menus(service.page("/health", "viewer").text) == [reading, ["Health", "Log"]]


@pytest.mark.slow
def test_every_release_is_listed_with_its_question(service: World) -> None:
    found = service.register(
        authored(
            "drinks",
            type="choice",
            labels=("tea", "coffee"),
            more='central = { per_epoch = "1", per_installation = "1", delta = "0" }\n',
        )
    )
    service.register(authored("free", more=NO_BUDGET))
    assert "Nothing was released yet" in service.page("/releases", "analyst").text
    service.count(found, ["tea"] * 30, epoch=TODAY - 1)
    service.running.store.close_epoch(found.id, TODAY - 1, service.clock(), audit=None)
    wanted = {"mechanism": "histogram", "epsilon": "0.25", "epochs": [TODAY - 1]}
    path = f"/v1/collections/{found.id}/releases"
    release = service.send("POST", path, "analyst", json=wanted).get_json()["release"]
    page = service.page("/releases", "analyst").text
    assert f"/collections/{found.id}/releases/{release}" in page
    assert "Share of each answer</a>" in page
    assert re.findall(r'<li><a href="[^"]+">([a-z]+)</a></li>', page) == ["drinks"]
    assert "Make a release" not in service.page("/releases", "viewer").text


def test_a_release_of_what_a_visitor_may_not_see_is_not_listed(service: World) -> None:
    other = service.register(authored("other"))
    browser = Browser.at(service.app)
    browser.use(service.running.sessions.make_link("Eve", "viewer", [other.id], audit=None))
    secret = service.register(authored("secret"))
    assert secret.name not in browser.client.get("/releases").text
    assert secret.name not in browser.client.get("/").text


def test_a_query_that_no_page_takes_is_told_as_a_page(service: World) -> None:
    answer = service.page("/?nonsense=1")
    assert (answer.status_code, answer.mimetype) == (400, "text/html")
    assert "nonsense must be one of page, q, sort, state" in answer.text


def test_a_field_that_a_form_left_empty_was_not_asked_for(service: World) -> None:
    assert service.page("/?q=&page=").status_code == 200
