"""The list of questions in a browser: found, sorted, archived; also without scripts and by keys."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.processes.chromium import Window
from support.processes.dashboard_site import Site

pytestmark = pytest.mark.processes

Open = Callable[..., Window]


def listed(tab: Window) -> list[str]:
    """The names of the questions, in order."""
    names = tab.page.locator("[data-table=questions] .about small:first-child").all_inner_texts()
    return [name.partition(" ·")[0] for name in names]


def test_the_first_answer_is_on_the_first_screen(window: Open) -> None:
    tab = window()
    for width, lowest in ((1280, 440), (390, 620)):
        tab.resize(width)
        tab.open("/")
        box = tab.page.locator(".answer-cell strong").first.bounding_box()
        assert box is not None
        assert box["y"] < lowest, width
        assert tab.page.locator("svg.spark").first.is_visible()


def test_questions_are_found_and_sorted_as_one_types(window: Open) -> None:
    tab = window()
    tab.open("/")
    everything = listed(tab)
    assert everything == sorted(everything)
    tab.page.select_option("#sort", "reports")
    tab.page.wait_for_url("**/?sort=reports")
    tab.settle()
    assert listed(tab)[0] == "browsers"
    tab.page.fill("#q", "which dev")
    tab.page.wait_for_url("**q=which%20dev**")
    tab.settle()
    assert listed(tab) == ["devices"]
    assert tab.violations() == tab.errors == []


def test_the_list_works_without_scripts(window: Open, site: Site) -> None:
    tab = window(scripts=False)
    tab.page.goto(f"{site.address}/")
    tab.page.fill("#q", "which")
    tab.page.select_option("#sort", "reports")
    tab.page.click("form.catalogue button[type=submit]")
    assert tab.page.url.endswith("/?q=which&state=current&sort=reports")
    assert listed(tab)[0] == "browsers"
    assert tab.page.locator("svg.spark").first.is_visible()
    assert tab.page.locator("[data-opens]").is_hidden()


@pytest.mark.exhaustive
def test_a_question_is_archived_and_put_back(window: Open) -> None:
    tab = window(role="admin")
    tab.open("/?q=quiet")
    tab.page.click("button:has-text('Archive')")
    tab.page.wait_for_load_state()
    tab.settle()
    assert listed(tab) == []
    tab.open("/?q=quiet&state=archived")
    assert tab.unreadable() == []
    tab.page.click("button:has-text('Put back')")
    tab.page.wait_for_load_state()
    tab.open("/?q=quiet")
    assert listed(tab) == ["quiet"]
    assert tab.violations() == tab.errors == []


@pytest.mark.exhaustive
def test_keys_are_listed_and_do_what_the_list_says(window: Open) -> None:
    tab = window()
    tab.open("/")
    tab.page.keyboard.press("?")
    assert "this list" in tab.page.inner_text("dialog[open]")
    assert tab.unreadable() == []
    tab.page.keyboard.press("Escape")
    assert tab.page.locator("dialog[open]").count() == 0
    tab.page.keyboard.press("/")
    assert tab.page.evaluate("document.activeElement.id") == "q"
    tab.page.keyboard.type("a/b?")
    assert tab.page.input_value("#q") == "a/b?"
    assert tab.page.locator("dialog[open]").count() == 0
    tab.page.click("[data-opens]")
    tab.page.click("dialog button")
    assert tab.page.locator("dialog[open]").count() == 0
    assert tab.violations() == tab.errors == []


@pytest.mark.exhaustive
def test_an_operator_finds_the_other_pages_in_one_menu(window: Open) -> None:
    tab = window(role="admin", width=390)
    tab.open("/")
    tab.page.click("header nav >> text=Operator")
    tab.page.wait_for_url("**/health")
    tab.page.click("nav[aria-label=Operator] >> text=Keys")
    tab.page.wait_for_url("**/keys")
    assert tab.page.locator("header nav [aria-current]").inner_text() == "Operator"
