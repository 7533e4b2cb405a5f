"""A real browser, and what every page must pass.

Playwright drives Debian's Chromium (`apt-get install chromium`). Where there is none, the tests
that ask for `chrome` are skipped.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.processes.dashboard_site import Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

__all__ = [
    "CHROMIUM",
    "MISSING",
    "THEMES",
    "WIDTHS",
    "Tabs",
    "Window",
    "axe_found",
    "chromium",
    "opened",
]

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")
"""The first one is the same engine without windows: it takes a quarter less processor time."""
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
MISSING = (
    "no browser here: `apt-get install chromium-headless-shell` brings the one that these tests "
    "drive; they take `chromium`, too"
)

THEMES = ("light", "dark")
WIDTHS = (390, 1280)
HEIGHT = 900
EMPTY = '<link rel="icon" href="data:,">'
"""A page that loads nothing, not even a `favicon.ico` that is not found: a tab waits there."""
AXE = Path(__file__).parents[2] / "browser" / "assets" / "axe.js"

_PAUSE, _TRIES = 25, 4_800
_PATIENCE_SECONDS = _PAUSE * _TRIES / 1000

_REPORT_VIOLATIONS = """
window.cspViolations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.cspViolations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""


@dataclass
class Window:
    """One tab that records everything that goes wrong in it."""

    page: Page
    site: Site
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._console)
        self.page.on("pageerror", self._page_error)

    def leave(self) -> None:
        """Empty the tab for another test."""
        for other in self.page.context.pages:
            if other is not self.page:
                other.close()
        empty = f"{self.site.address}/empty"
        self.page.route(empty, lambda route: route.fulfill(content_type="text/html", body=EMPTY))
        self.page.goto(empty)
        self.page.unroute(empty)
        self.page.remove_listener("console", self._console)
        self.page.remove_listener("pageerror", self._page_error)
        self.page.evaluate("localStorage.clear(), sessionStorage.clear()")
        self.page.emulate_media(media="null", color_scheme="null")
        self.page.context.clear_cookies()
        self.page.context.clear_permissions()

    def resize(self, width: int) -> None:
        """To so many pixels; as high as any window here."""
        self.page.set_viewport_size({"width": width, "height": HEIGHT})

    def open(self, path: str) -> None:
        """Load a page and wait until its charts are drawn."""
        self.page.goto(self.site.address + path)
        self.settle()

    def settle(self) -> None:
        """Until nothing is fetched and every chart is drawn."""
        self.until("document.documentElement.dataset.ready === 'true'")
        self.until("!document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling')")
        self.until("!document.querySelector('[data-chart]:not([data-drawn])')")

    def until(self, script: str) -> None:
        """Until an expression is true; Playwright's own waiting evals, which the policy forbids."""
        from playwright.sync_api import Error

        for _ in range(_TRIES):
            with suppress(Error):  # the page went away meanwhile: look at the next one
                if self.page.evaluate(script):
                    return
            self.page.wait_for_timeout(_PAUSE)
        raise AssertionError(f"not within {_PATIENCE_SECONDS:.0f} s: {script}")

    def _console(self, line: ConsoleMessage) -> None:
        if line.type == "error":
            self.errors.append(line.text)

    def _page_error(self, error: object) -> None:
        self.errors.append(str(error))

    def theme(self, name: str) -> None:
        """As a person chooses it."""
        self.page.click(f"[data-theme-choice={name}]")
        assert self.page.evaluate("document.documentElement.dataset.theme") == name

    def violations(self) -> list[str]:
        """Of the content security policy."""
        actual: list[str] = self.page.evaluate("window.cspViolations")
        return actual

    def unreadable(self) -> list[str]:
        """What axe finds: a line for each rule and element."""
        return axe_found(self.page)

    def overflow(self) -> int:
        """Pixels that the page is wider than its window."""
        wide: int = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        return wide

    def drawing(self) -> int:
        """How many charts have been drawn with something in them."""
        shapes: int = self.page.evaluate(
            "[...document.querySelectorAll('[data-chart] svg')].filter("
            "(svg) => svg.querySelectorAll('path').length > 1).length"
        )
        return shapes

    def numbers(self, table: str) -> dict[str, list[float]]:
        """Row header → the exact numbers behind the cells of a table."""
        actual: dict[str, list[float]] = self.page.evaluate(
            """(name) => Object.fromEntries([...document.querySelectorAll(
              `[data-table="${name}"] tbody tr`)].map((row) => [
                (row.querySelector("th a, th data") || row.querySelector("th")).textContent.trim(),
                [...row.querySelectorAll("td data")].map((cell) => Number(cell.value))]))""",
            table,
        )
        return actual


def axe_found(page: Page) -> list[str]:
    """What axe finds on a page: a line for each rule and element."""
    page.evaluate(_axe())
    actual: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{rule['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for rule in actual["violations"]
        for node in rule["nodes"]
    ]


@contextmanager
def chromium() -> Iterator[Browser]:
    """One browser for many windows."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], timeout=_PATIENCE_SECONDS * 1000
        )
        yield browser
        browser.close()


@contextmanager
def opened(
    browser: Browser,
    site: Site,
    *,
    width: int = 1280,
    known: bool = True,
    role: str | None = "viewer",
    scripts: bool = True,
) -> Iterator[Window]:
    """A new window of a signed-in person with a role, or of a stranger."""
    page = _new_page(browser, scripts=scripts)
    yield _prepared(page, site, width=width, role=(role or "viewer") if known else None)
    page.context.close()


class Tabs:
    """Windows of a browser, each used by one test after the other.

    A new one costs a second of processor time: a process starts, and compiles all scripts again.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._empty: list[Page] = []

    @contextmanager
    def opened(
        self, site: Site, *, width: int = 1280, known: bool = True, role: str | None = "viewer"
    ) -> Iterator[Window]:
        """As `opened`: without cookies, storage, permissions and listeners of an earlier test."""
        page = self._empty.pop() if self._empty else _new_page(self._browser)
        window = _prepared(page, site, width=width, role=(role or "viewer") if known else None)
        yield window
        window.leave()
        self._empty.append(page)


def _new_page(browser: Browser, *, scripts: bool = True) -> Page:
    context = browser.new_context(java_script_enabled=scripts)
    context.set_default_timeout(_PATIENCE_SECONDS * 1000)
    page = context.new_page()
    page.add_init_script(_REPORT_VIOLATIONS)
    return page


def _prepared(page: Page, site: Site, *, width: int, role: str | None) -> Window:
    page.set_viewport_size({"width": width, "height": HEIGHT})
    if role is not None:
        _sign_in(page.context, site, role)
    return Window(page, site)


def _sign_in(context: BrowserContext, site: Site, role: str) -> None:
    """The one place that knows how a browser is let in."""
    session = site.sessions[role]
    context.add_cookies([{"name": "deniable-session", "value": session, "url": site.address}])


@cache
def _axe() -> str:
    return AXE.read_text(encoding="utf-8")
