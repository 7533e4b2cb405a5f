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
    from playwright.sync_api import Browser, BrowserContext, Page

__all__ = ["CHROMIUM", "MISSING", "THEMES", "WIDTHS", "Window", "axe_found", "chromium", "opened"]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
MISSING = "no browser here: `apt-get install chromium` brings the one that these tests drive"

THEMES = ("light", "dark")
WIDTHS = (390, 1280)
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
    """One tab that notes whatever goes wrong in it."""

    page: Page
    site: Site
    errors: list[str] = field(default_factory=list)

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

    def theme(self, name: str) -> None:
        """As somebody chooses it."""
        self.page.click(f"[data-theme-choice={name}]")
        assert self.page.evaluate("document.documentElement.dataset.theme") == name

    def violations(self) -> list[str]:
        """Of the content security policy."""
        found: list[str] = self.page.evaluate("window.cspViolations")
        return found

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
        found: dict[str, list[float]] = self.page.evaluate(
            """(name) => Object.fromEntries([...document.querySelectorAll(
              `[data-table="${name}"] tbody tr`)].map((row) => [
                (row.querySelector("th a, th data") || row.querySelector("th")).textContent.trim(),
                [...row.querySelectorAll("td data")].map((cell) => Number(cell.value))]))""",
            table,
        )
        return found


def axe_found(page: Page) -> list[str]:
    """What axe finds on a page: a line for each rule and element."""
    page.evaluate(_axe())
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{rule['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for rule in found["violations"]
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
) -> Iterator[Window]:
    """A window of somebody of a role who is signed in, or of a stranger."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    context.set_default_timeout(_PATIENCE_SECONDS * 1000)
    if known:
        _sign_in(context, site, role or "viewer")
    page = context.new_page()
    page.add_init_script(_REPORT_VIOLATIONS)
    window = Window(page, site)
    page.on(
        "console", lambda told: window.errors.append(told.text) if told.type == "error" else None
    )
    page.on("pageerror", lambda error: window.errors.append(str(error)))
    yield window
    context.close()


def _sign_in(context: BrowserContext, site: Site, role: str) -> None:
    """The one place that knows how a browser is let in."""
    session = site.sessions[role]
    context.add_cookies([{"name": "deniable-session", "value": session, "url": site.address}])


@cache
def _axe() -> str:
    return AXE.read_text(encoding="utf-8")
