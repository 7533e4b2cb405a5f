"""The web client in a real browser, against a real aggregator, on the example site."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.processes.asking_site import (
    ANSWER,
    KNOWN_KEY,
    Web,
    answers,
    check_devices,
    key_of,
    opened,
)
from support.processes.chromium import axe_found
from support.processes.chromium import opened as window
from support.processes.dashboard_site import Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

VISITORS, CLOSED_TABS, MANY = 10, 10, 1_000

QUIET_PAGE = """async () => {
  const {Client} = await import("./client/deniable-client.js");
  const {url, trust} = await (await fetch("settings.json")).json();
  const manifests = [await (await fetch("question.json")).text()];
  const ceiling = {epsilonPerReport: "2", epsilonPermanent: "4", epsilonLifetime: "8"};
  globalThis.client = new Client({url, trust, ceiling, manifests});
}"""
"""A page that makes a client and shows nothing."""


@pytest.fixture(scope="module")
def asking_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with opened(tmp_path_factory.mktemp("web")) as web:
        yield web


@pytest.mark.exhaustive
def test_visitors_are_counted_as_devices_with_the_same_keys(
    chrome: Browser, tmp_path: Path
) -> None:
    check_visitors(chrome, tmp_path, VISITORS)


@pytest.mark.long
def test_a_thousand_visitors_are_counted_as_a_thousand_devices(
    chrome: Browser, tmp_path: Path
) -> None:
    check_visitors(chrome, tmp_path, MANY)


def check_visitors(chrome: Browser, folder: Path, number: int) -> None:
    """The estimates are the same numbers as those of Python clients."""
    for each in ("visitors", "devices"):
        (folder / each).mkdir()
    with opened(folder / "visitors") as web:
        with closing(chrome.new_context()) as context:
            page = context.new_page()
            for visitor, answer in enumerate(answers(number)):
                assert visit(page, web, key_of(visitor), answer) == {
                    "outcome": "queued",
                    "accepted": 1,
                    "problems": [],
                    "spent": 1_000_000,
                }
        check_chart(chrome, web, number)
        check_devices(folder / "devices", web, number)


def check_chart(chrome: Browser, web: Web, number: int) -> None:
    """The dashboard draws it, and every interval contains the share of all visitors."""
    with web.service.connect() as client:
        link = client.make_sign_in_link("Ada", "analyst").document.path
    site = Site(web.service.server.address, "", {}, "", {}, {})
    with window(chrome, site, known=False) as tab:
        tab.open(link)
        tab.page.click("main button[type=submit]")
        tab.open("/collections/settings")
        assert tab.drawing() >= 1
        shown = tab.numbers("estimates")
    for label in ("dark_mode", "beta"):
        true = sum(answer[label] for answer in answers(number)) / number
        _, lower, upper = shown[label][:3]
        assert lower <= true <= upper


def visit(page: Page, web: Web, key: bytes, answer: dict[str, bool]) -> Any:
    """What a visitor without anything stored, and with this key, gets."""
    page.goto(web.address + "/settings.json")  # of the same site, and without the client
    stored = {"origin": web.address, "storageTypes": "all"}
    page.context.new_cdp_session(page).send("Storage.clearDataForOrigin", stored)
    web.show(page)
    page.evaluate(f"() => {{{KNOWN_KEY.replace('KEY', key.hex())}}}")
    return page.evaluate(ANSWER, answer)


@pytest.mark.exhaustive
def test_a_tab_that_closes_at_any_moment_never_draws_twice(
    chrome: Browser, asking_site: Web
) -> None:
    check_closed_tabs(chrome, asking_site, CLOSED_TABS)


@pytest.mark.long
def test_none_of_a_thousand_tabs_that_close_draws_twice(chrome: Browser, asking_site: Web) -> None:
    check_closed_tabs(chrome, asking_site, MANY)


def check_closed_tabs(chrome: Browser, asking_site: Web, tabs: int) -> None:
    """The next visit finishes what the first began: one report, one charge."""
    before, dice = asking_site.service.counted(), random.Random(7)
    for answer in answers(tabs):
        with closing(chrome.new_context()) as context:
            first = asking_site.open(context)
            first.evaluate(f"(value) => void ({ANSWER})(value)", answer)
            first.wait_for_timeout(dice.random() * 60)
            first.close()
            done = asking_site.open(context).evaluate(ANSWER, {"dark_mode": False, "beta": False})
            assert (done["problems"], done["spent"]) == ([], 1_000_000)
            assert done["outcome"] in ("queued", "already-answered")
    assert asking_site.service.counted() == before + tabs


def test_two_tabs_and_a_denial(chrome: Browser, asking_site: Web) -> None:
    """Tabs of one browser share one answer; after a denial nothing leaves."""
    before = asking_site.service.counted()
    with closing(chrome.new_context()) as context:
        tabs = [asking_site.open(context) for _ in range(3)]
        record = "(value) => client.consent('granted').then(() => client.record('settings', value))"
        said = [tab.evaluate(record, {"dark_mode": True, "beta": False}) for tab in tabs]
        assert said == ["queued", "already-answered", "already-answered"]
        assert tabs[2].evaluate("client.consent('denied')") == "denied"
        flushed = [tab.evaluate("client.flush({early: true})") for tab in tabs]
        assert [(each["sent"], each["waiting"]) for each in flushed] == [(0, 0)] * 3
    assert asking_site.service.counted() == before


def test_a_visitor_who_is_offline_sends_later(chrome: Browser, asking_site: Web) -> None:
    with closing(chrome.new_context()) as context:
        page = asking_site.open(context)
        page.wait_for_load_state("networkidle")
        context.set_offline(True)
        done = page.evaluate(ANSWER, {"dark_mode": True, "beta": True})
        assert (done["outcome"], done["accepted"]) == ("queued", 0)
        context.set_offline(False)
        assert page.evaluate("client.flush({early: true})")["accepted"] == 1


@pytest.mark.exhaustive
def test_what_records_is_loaded_for_those_who_are_asked(chrome: Browser, asking_site: Web) -> None:
    """The first files are enough for a page that asks nothing, and for a visitor who said no."""
    with closing(chrome.new_context()) as context:
        page = context.new_page()
        page.goto(asking_site.address + "/settings.json")
        page.evaluate(QUIET_PAGE)
        assert page.evaluate("client.consent()") == "unknown"
        assert page.evaluate("client.record('settings', {dark_mode: true, beta: true})") == (
            "no-consent"
        )
        assert "device" not in scripts(page)
        page.evaluate("client.explain().then(() => undefined)")  # the person is about to be asked
        page.wait_for_load_state("networkidle")
        assert "device" in scripts(page)
        page.evaluate("client.consent('denied')")
        later = asking_site.open(context)
        later.wait_for_load_state("networkidle")
        assert "device" not in scripts(later)


@pytest.mark.exhaustive
def test_an_answer_waits_for_a_file_that_was_not_loaded(chrome: Browser, asking_site: Web) -> None:
    """The page says so, the consent stays, and the next answer is taken."""
    with closing(chrome.new_context()) as context:
        context.route("**/device-*.js", lambda route: route.abort())
        page = asking_site.open(context)
        done = page.evaluate(ANSWER, {"dark_mode": True, "beta": True})
        assert (done["outcome"], done["spent"]) == ("storage-busy", 0)
        assert any("was not loaded" in problem for problem in done["problems"])
        context.unroute("**/device-*.js")
        assert page.evaluate(ANSWER, {"dark_mode": True, "beta": True})["accepted"] == 1


def scripts(page: Page) -> set[str]:
    """What the page has loaded of the client: names of files without the digest."""
    loaded = page.evaluate("performance.getEntriesByType('resource').map(({name}) => name)")
    return {name.rpartition("/")[2].partition("-")[0] for name in loaded if name.endswith(".js")}


def test_a_person_answers_on_the_example_page(chrome: Browser, asking_site: Web) -> None:
    """With the keyboard alone, under a policy without inline script, style and eval."""
    before = asking_site.service.counted()
    with closing(chrome.new_context()) as context:
        page = asking_site.open(context)
        asked = page.locator("deniable-consent h2")
        asked.wait_for()
        assert axe_found(page) == []
        page.keyboard.press("Tab")  # to what agrees
        page.keyboard.press("Enter")
        page.locator("deniable-consent [role=status]", has_text="You agreed").wait_for()
        page.locator("#question").wait_for()
        assert axe_found(page) == []
        page.focus("input[name=dark_mode]")
        page.keyboard.press("Space")
        page.focus("button[type=submit]")
        page.keyboard.press("Enter")
        page.locator("#status", has_text="Thank you").wait_for()
        assert page.evaluate("client.flush({early: true})")["accepted"] == 1
    assert asking_site.service.counted() == before + 1


@pytest.mark.exhaustive
def test_who_says_no_is_left_alone_and_may_change_that(chrome: Browser, asking_site: Web) -> None:
    """In a language that the site gives, and in both themes."""
    for theme in ("light", "dark"):
        with closing(chrome.new_context(color_scheme=theme)) as context:
            page = asking_site.open(context)
            page.locator("deniable-consent button", has_text="No, thanks").click()
            page.locator("deniable-consent [role=status]", has_text="You said no").wait_for()
            assert axe_found(page) == []
            assert page.evaluate("client.consent()") == "denied"
            assert not page.is_visible("#question")
            page.locator("deniable-consent button", has_text="Change my answer").click()
            page.locator("deniable-consent h2").wait_for()
            page.evaluate(
                """async () => (await import("./client/consent.js")).defineConsent(client,
                  {tag: "german-consent", words: {agree: "Ja, gern"}})"""
            )
            page.evaluate(
                "document.querySelector('main').append(document.createElement('german-consent'))"
            )
            page.locator("german-consent button").click()
            page.locator("german-consent button", has_text="Ja, gern").wait_for()


def test_a_page_of_another_origin_gets_nothing(chrome: Browser, asking_site: Web) -> None:
    """Neither the client there nor the browser lets a report through."""
    before = asking_site.service.counted()
    with closing(chrome.new_context()) as context:
        page = context.new_page()
        page.goto(asking_site.address.replace("127.0.0.1", "localhost"))
        page.wait_for_timeout(300)
        done = page.evaluate(ANSWER, {"dark_mode": True, "beta": True})
        assert done["outcome"] == "unknown-collection"
        assert "does not name this page's origin" in done["problems"][0]
        url = f"{asking_site.service.server.address}{asking_site.service.path}"
        sent = page.evaluate(
            "(url) => fetch(url, {method: 'POST', body: 'x'}).then(() => 'read', (e) => e.name)",
            url,
        )
        assert sent == "TypeError"
    assert asking_site.service.counted() == before
