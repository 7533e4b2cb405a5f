"""The file of `deniable estimates --html` in a real browser: both themes, both widths, on paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from support.builders.api_world import INGEST, TODAY, opened
from support.builders.estimates_file import page_of
from support.processes.chromium import THEMES, WIDTHS, axe_found
from support.processes.published_service import MINUTES, THEME
from support.tiers import grid

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.processes

VALUES: dict[str, Sequence[object]] = {
    "theme": ["light"] * 90 + ["dark"] * 40,
    "minutes": [0, 5, 10, 60] * 40,
    "devices": [{"os": "mac", "screen": "small"}] * 60 + [{"os": "linux", "screen": "large"}] * 60,
}
DEVICES = """\
name = "devices"
purpose = "Which devices are there?"
owner = "privacy@example.org"
epsilon = "2"
valid_from = 2026-01-01
expires = 2099-01-01
[domain]
type = "record"
[[domain.attributes]]
name = "os"
labels = ["linux", "mac"]
[[domain.attributes]]
name = "screen"
labels = ["small", "large"]
"""
ASKED = {"devices": ("--marginal", "os,screen")}


@pytest.fixture(scope="module", params=grid(VALUES, by_default=["devices"]))
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    toml = {"theme": THEME, "minutes": MINUTES, "devices": DEVICES}[request.param]
    with opened(folder) as world:
        found = world.register(manifest_from_toml(toml, ingest=INGEST))
        for epoch in range(TODAY - 5, TODAY):
            world.count(found, VALUES[request.param], epoch=epoch)
        path = folder / "report.html"
        path.write_text(page_of(world, found.id, *ASKED.get(request.param, ())), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def used_page(chrome: Browser) -> Iterator[Page]:
    context = chrome.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture
def page(used_page: Page) -> Page:
    used_page.goto("about:blank")
    used_page.emulate_media(media="null", color_scheme="null")
    return used_page


@pytest.mark.parametrize("width", grid(WIDTHS, by_default=[min(WIDTHS)]))
@pytest.mark.parametrize("theme", grid(THEMES, by_default=["dark"]))
def test_a_report_is_readable_fits_and_says_nothing_to_the_console(
    page: Page, report: Path, width: int, theme: Literal["light", "dark"]
) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: said.append(request.url))
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)
    page.goto(report.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert axe_found(page) == []
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert [one for one in said if not one.startswith("data:")] == [report.as_uri()]


def test_a_dark_screen_is_printed_light(page: Page, report: Path) -> None:
    page.emulate_media(color_scheme="dark", media="print")
    page.goto(report.as_uri())
    style = "getComputedStyle(document.body)"
    assert page.evaluate(f"{style}.backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(f"{style}.color") == "rgb(32, 34, 46)"
    assert page.locator("footer").is_visible()


def test_a_dot_stands_where_its_figure_says(page: Page, report: Path) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(report.as_uri())
    table = page.locator("table:has(circle)").first
    ticks: list[list[float]] = table.locator("thead svg text").evaluate_all(
        """(all) => all.map((tick) => {
             const box = tick.getBoundingClientRect(), text = tick.textContent.replace("−", "-");
             return [parseFloat(text) / (text.endsWith("%") ? 100 : 1), box.x + box.width / 2];
           })"""
    )
    dots: list[list[float]] = table.locator("tbody tr").evaluate_all(
        """(all) => all.map((row) => {
             const box = row.querySelector("circle").getBoundingClientRect();
             return [Number(row.querySelector("td data").value), box.x + box.width / 2];
           })"""
    )
    (low, left), (high, right) = ticks[0], ticks[-1]
    for value, place in dots:
        wanted = left + (right - left) * (value - low) / (high - low)
        assert place == pytest.approx(wanted, abs=1.0)
    assert len(dots) >= 4
