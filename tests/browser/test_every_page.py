"""What every page has to bear, in both themes and at both widths; the list is the pages' own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from deniable_aggregator.web.dashboard.pages import pages
from support.processes.chromium import THEMES, WIDTHS, Tabs, Window
from support.processes.dashboard_site import Site
from support.tiers import grid, thorough

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def admin_tab(tabs: Tabs, site: Site) -> Iterator[Window]:
    """One tab for every page: to empty it after each takes a quarter of the time."""
    with tabs.opened(site, role="admin") as tab:
        yield tab


@pytest.mark.deeper
@pytest.mark.parametrize("width", grid(WIDTHS, by_default=[min(WIDTHS)]))
@pytest.mark.parametrize("name", pages())
def test_a_page_is_readable_fits_and_breaks_no_rule(
    admin_tab: Window, site: Site, name: str, width: int
) -> None:
    tab, theme = admin_tab, theme_of(name, width)
    tab.resize(width)
    tab.errors.clear()
    usual, *others = site.views()[name]
    for path in (usual, *(others if thorough() else ())):
        tab.open(path)
        if tab.page.evaluate("document.documentElement.dataset.theme") != theme:
            tab.theme(theme)
        assert tab.unreadable() == [], path
        assert tab.overflow() <= 0, path
        assert tab.violations() == [], path
        assert tab.errors == [], path


NOTE_WHAT_IS_REACHED = """() => {
  window.reached = new Set();
  document.addEventListener("focusin", ({target}) =>
    window.reached.add(target.outerHTML.slice(0, 200)));
}"""


def theme_of(name: str, width: int) -> str:
    """Light at one width and dark at the other: contrast depends on the theme, order on width."""
    return THEMES[(list(pages()).index(name) + WIDTHS.index(width)) % 2]


@pytest.mark.parametrize("name", grid(pages(), by_default=list(pages())[:1]))
def test_a_page_is_walked_through_by_keyboard_and_prints_what_paper_needs(
    window: Callable[..., Window], site: Site, name: str
) -> None:
    tab = window(role=pages()[name].role)
    tab.open(site.views()[name][0])
    tab.page.keyboard.press("Tab")
    assert tab.page.evaluate("document.activeElement.className") == "skip"
    tab.page.keyboard.press("Enter")
    assert tab.page.evaluate("location.hash") == "#main"
    wanted = tab.page.locator("a:visible, button:visible, input:visible, select:visible").count()
    tab.page.evaluate(NOTE_WHAT_IS_REACHED)
    for _ in range(wanted + 5):
        tab.page.keyboard.press("Tab")
    assert tab.page.evaluate("window.reached.size") > 5
    tab.page.emulate_media(media="print")
    assert tab.page.locator("header.bar nav").is_hidden()
    assert tab.page.locator("main h1, main h2").first.is_visible()


def test_a_theme_stays_from_page_to_page_and_auto_follows_the_system(
    window: Callable[..., Window], site: Site
) -> None:
    tab = window()
    tab.open("/")
    tab.theme("dark")
    tab.open(site.views()["collection"][0])
    assert tab.page.evaluate("document.documentElement.dataset.theme") == "dark"
    tab.page.click("[data-theme-choice=auto]")
    for system in THEMES:
        tab.page.emulate_media(color_scheme=system)  # type: ignore[arg-type]  # a str; playwright lists the themes
        tab.until(f"document.documentElement.dataset.theme === '{system}'")


def test_the_harness_sees_what_breaks_the_rules(window: Callable[..., Window]) -> None:
    tab = window(width=390)
    tab.open("/")
    tab.page.evaluate(
        """() => {
          const wide = document.createElement("img");
          wide.style.cssText = "display: block; max-width: none; width: 999px; height: 9px";
          document.body.append(wide);
          document.body.insertAdjacentHTML("beforeend", "<p style='color: red'>");
          console.error("odd");
        }"""
    )
    tab.until("window.cspViolations.length")
    assert any("style-src" in line for line in tab.violations())
    assert any(line.startswith("image-alt") for line in tab.unreadable())
    assert tab.overflow() > 0
    assert "odd" in tab.errors
