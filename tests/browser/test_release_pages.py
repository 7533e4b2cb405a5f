"""Releases, budgets, comparison and log in a browser: what is spent is spent once, and said."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any
from urllib.parse import urlsplit

import pytest

from support.processes.chromium import WIDTHS, Window
from support.processes.dashboard_site import Site
from support.tiers import rows

pytestmark = pytest.mark.processes


@pytest.fixture
def analyst(window: Callable[..., Window]) -> Window:
    return window(role="analyst")


def account(site: Site, name: str) -> dict[str, Any]:
    answer = site.get(f"/v1/ledger?collection={site.collections[name]}")
    [found] = answer.json()["collections"]
    return dict(found)


def spent(site: Site, name: str) -> tuple[str, int]:
    found = account(site, name)
    return found["installation"]["spent"]["epsilon"], len(found["releases"])


def priced(site: Site, tab: Window, name: str, epsilon: str) -> None:
    """Fill the form in and see the cost."""
    tab.open(f"/collections/{site.collections[name]}/releases")
    tab.page.fill("#argument-epsilon", epsilon)
    tab.page.click("text=See the price")
    tab.page.wait_for_url("**cost=true*")
    tab.settle()


def test_a_release_is_spent_once_after_reload_and_double_click(analyst: Window, site: Site) -> None:
    """Of a collection whose budget no other test here spends."""
    tab, name = analyst, "hostile"
    priced(site, tab, name, "0.2")
    assert spent(site, name) == ("0.1", 1)
    tab.page.dblclick("text=Release, and spend ε = 0.2")
    tab.page.wait_for_url(lambda url: len(urlsplit(url).path.split("/")) == 5)
    tab.settle()
    address = tab.page.url
    assert spent(site, name) == ("0.3", 2)
    told = tab.numbers("estimates")
    assert told
    tab.page.reload()
    tab.settle()
    assert tab.page.url == address
    assert tab.numbers("estimates") == told
    assert spent(site, name) == ("0.3", 2)
    priced(site, tab, name, "0.2")
    assert "exists already" in tab.page.inner_text("#price")
    tab.open(f"/ledger?collection={site.collections[name]}")
    assert "ε = 1.7" in tab.page.inner_text("#view")
    assert tab.errors == tab.violations() == []


def test_a_release_on_the_page_is_the_api_s(analyst: Window, site: Site) -> None:
    path = f"/collections/{site.collections['settings']}/releases/{site.releases['settings']}"
    analyst.open(path)
    told = site.get("/v1" + path).json()["result"]["estimates"]
    shown = analyst.numbers("estimates")
    assert shown.keys() == {row["label"] for row in told}
    assert all(row["frequency"] in shown[row["label"]] for row in told)
    assert analyst.drawing() == 1


def test_a_session_is_asked_on_the_page_and_answers_the_same_again(
    analyst: Window, site: Site
) -> None:
    tab, name = analyst, "theme"
    before = spent(site, name)
    tab.open(f"/collections/{site.collections[name]}/releases/{site.releases[name]}")
    for label in ("dark", "auto"):
        tab.page.check(f"input[value={label}]")
    told = []
    for _ in range(2):
        tab.page.click("#ask button")
        tab.page.wait_for_selector("[data-answer]")
        tab.settle()
        told.append(float(tab.page.get_attribute("[data-answer] data", "value") or "nan"))
    assert told[0] == told[1]
    assert 0 <= told[0] <= 1
    assert "dark or auto" in tab.page.inner_text("[data-answer]")
    assert tab.page.is_checked("input[value=auto]")
    assert not tab.page.is_checked("input[value=light]")
    assert spent(site, name) == before
    assert tab.unreadable() == tab.errors == tab.violations() == []


COMPARE = ("/collections/{of}/compare", 2)


@pytest.mark.parametrize(
    ("page", "charts"),
    rows(
        [COMPARE, ("/ledger?collection={of}", 1), ("/collections/{of}/releases/{release}", 1)],
        by_default=[COMPARE],
    ),
)
def test_a_chart_has_a_table_csv_json_svg_and_png(
    analyst: Window, site: Site, page: str, charts: int
) -> None:
    of, release = site.collections["settings"], site.releases["settings"]
    analyst.open(page.format(of=of, release=release))
    figures = analyst.page.locator("figure.chart")
    assert figures.count() == analyst.drawing() == figures.locator("table").count() == charts
    kept = figures.locator(".files a, .files button").all_inner_texts()
    assert kept == ["CSV", "JSON", "SVG", "PNG"] * charts
    for kind in ("CSV", "JSON"):
        with analyst.page.expect_download() as told:
            analyst.page.locator(f"figure.chart .files >> text={kind}").first.click()
        name = told.value.suggested_filename
        assert name.startswith("settings-")
        assert name.endswith("." + kind.lower())


def test_a_viewer_sees_no_form_and_is_refused(window: Callable[..., Window], site: Site) -> None:
    viewer = window()
    path = f"/collections/{site.collections['settings']}/releases"
    before = spent(site, "settings")
    viewer.open(path + "?cost=true&epsilon=0.1")
    assert viewer.page.locator("#ask, #price, main form").count() == 0
    assert site.releases["settings"] in viewer.page.inner_text("main")
    token = viewer.page.locator("[name=csrf_token]").first.get_attribute("value") or ""
    form: dict[str, str | float | bool] = {
        "csrf_token": token,
        "mechanism": "histogram",
        "epsilon": "0.1",
        "epochs": "1",
    }
    answer = viewer.page.context.request.post(site.address + path, form=form)
    assert answer.status == 403
    assert spent(site, "settings") == before


def test_what_the_budget_does_not_allow_is_a_sentence_and_no_button(
    analyst: Window, site: Site
) -> None:
    priced(site, analyst, "settings", "0.45")
    told = analyst.page.inner_text("#price")
    assert "This release would be refused" in told
    assert "has ε 0.4 of" in told
    assert analyst.page.locator("#price button").count() == 0


@pytest.mark.exhaustive
def test_choosing_another_question_shows_its_fields_and_keeps_the_budget(
    analyst: Window, site: Site
) -> None:
    analyst.open(f"/collections/{site.collections['browsers']}/releases")
    analyst.page.fill("#argument-epsilon", "0.2")
    analyst.page.check("[name=question][value=top-k]")
    analyst.until("document.querySelector('#argument-k')")
    analyst.settle()
    assert analyst.page.input_value("#argument-epsilon") == "0.2"
    analyst.page.fill("#argument-k", "3")
    analyst.page.click("text=See the price")
    analyst.page.wait_for_url("**cost=true*")
    assert "Release, and spend ε = 0.2" in analyst.page.inner_text("#price")
    assert analyst.page.input_value("#argument-k") == "3"
    analyst.page.check("[name=question][value=other]")
    analyst.until("document.querySelector('#mechanism')")
    analyst.settle()
    analyst.page.select_option("#mechanism", "mwem")
    analyst.until("document.querySelector('#argument-workload')")
    analyst.settle()
    assert analyst.unreadable() == analyst.errors == analyst.violations() == []


ASKED = {
    "minutes": ("average", {}, "quantities"),
    "devices": ("table", {"attributes": "os, screen"}, "estimates"),
    "drinks": ("texts", {"texts": "tea, milk"}, "estimates"),
}
"""Of a number, a record and texts: a question, its fields, and the table of the answer."""


@pytest.mark.parametrize(
    ("name", "width"),
    rows(
        list(product(ASKED, WIDTHS)),
        by_default=[("minutes", 390)],
    ),
)
def test_numbers_records_and_texts_are_asked_priced_and_answered_on_pages(
    window: Callable[..., Window], site: Site, name: str, width: int
) -> None:
    tab, (question, fields, table) = window(role="analyst", width=width), ASKED[name]
    tab.open(f"/collections/{site.collections[name]}/releases")
    tab.page.check(f"[name=question][value={question}]")
    tab.settle()
    for field, text in fields.items():
        tab.page.fill(f"#argument-{field}", text)
    tab.page.fill("#argument-epsilon", "0.05" if width == min(WIDTHS) else "0.06")
    tab.page.click("text=See the price")
    tab.page.wait_for_url("**cost=true*")
    tab.settle()
    assert tab.overflow() <= 0
    tab.page.click("text=/^Release, and spend/")
    tab.page.wait_for_url(lambda url: len(urlsplit(url).path.split("/")) == 5)
    tab.settle()
    path = urlsplit(tab.page.url).path
    rows = site.get(f"/v1{path}").json()["result"][table]
    shown = tab.numbers(table)
    assert len(shown) == len(rows)
    wanted = "value" if table == "quantities" else "frequency"
    assert {row[wanted] for row in rows} <= {each for row in shown.values() for each in row}
    assert tab.overflow() <= 0
    assert tab.unreadable() == tab.errors == tab.violations() == []


def test_a_comparison_on_the_page_is_the_api_s(window: Callable[..., Window], site: Site) -> None:
    tab = window()
    tab.open(f"/collections/{site.collections['settings']}/compare")
    shown = tab.numbers("differences")
    ends = [tab.page.input_value(f"#{name}") for name in ("before_from", "before_to", "from", "to")]
    names = ("before_from", "before_to", "from", "to")
    query = "&".join(f"{name}={day}" for name, day in zip(names, ends, strict=True))
    answer = site.get(f"/v1/collections/{site.collections['settings']}/comparison?{query}")
    assert shown == {
        row["label"]: [row["before"], row["after"], row["difference"]]
        for row in answer.json()["differences"]
    }
    unchanged = answer.json()["changed"] == 0
    assert ("No evidence of change" in tab.page.inner_text("#verdict")) == unchanged
    tab.page.click("text=Newest day against the one before")
    tab.page.wait_for_url("**before_from=*")
    tab.settle()
    assert tab.numbers("differences") != shown


def test_the_log_is_verified_at_the_press_of_a_button(
    window: Callable[..., Window], site: Site
) -> None:
    tab = window()
    tab.open("/log")
    assert site.get("/v1/log").json()["head"] in tab.page.inner_text("#head")
    tab.page.click("text=Verify now")
    tab.until("document.querySelector('#checks')")
    tab.settle()
    assert "complete and unchanged" in tab.page.inner_text("#checks")
    assert tab.errors == tab.violations() == []
