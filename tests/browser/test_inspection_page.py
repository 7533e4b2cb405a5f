"""The page of `telemetry show` in a real browser: both themes, both widths, and its switch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from deniable_client import Client
from deniable_client.inspection_server import InspectionServer
from deniable_client.testing import FakeClock
from support.builders.client_world import START, Aggregator, Device, Operator, manifest
from support.builders.manifest_text import manifest_of
from support.processes.chromium import THEMES, WIDTHS, axe_found
from support.tiers import grid

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.processes

THEME = """\
name = "theme"
purpose = "Which theme do people see?"
owner = "privacy@example.org"
mechanism = "subset/1"
epsilon = "1"
valid_from = 2026-12-01
expires = 2027-12-01
[domain]
type = "choice"
labels = ["light", "dark", "follow the system", "sepia", "high contrast"]
"""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """Somebody agreed; one report has left, two wait."""
    theme = manifest_of(THEME, ingest=["https://telemetry.example.org"])
    aggregator = Aggregator(Operator(), FakeClock(START))
    device = Device(tmp_path / "state.db", aggregator, (manifest(), manifest("sounds"), theme))
    client = device.granted()
    client.record("sounds", {"dark_mode": True, "beta": True})
    client.flush(early=True)
    client.record("settings", {"dark_mode": True, "beta": False})
    client.record("theme", "dark")
    yield client
    device.close()


@pytest.fixture(scope="module")
def used_page(chrome: Browser) -> Iterator[Page]:
    context = chrome.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture
def page(used_page: Page) -> Page:
    """The page keeps nothing in a browser, and each test has a server of its own."""
    used_page.goto("about:blank")
    return used_page


@pytest.fixture
def url(client: Client) -> Iterator[str]:
    with InspectionServer(client, title="What this app reports").start() as server:
        yield server.url
        server.shutdown()


@pytest.mark.parametrize("width", grid(WIDTHS, by_default=[min(WIDTHS)]))
@pytest.mark.parametrize("theme", grid(THEMES, by_default=THEMES[:1]))
def test_the_page_is_readable_fits_and_says_nothing_to_the_console(
    page: Page, url: str, width: int, theme: Literal["light", "dark"]
) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)
    page.goto(url)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert axe_found(page) == []
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert [each for each in said if "favicon" not in each] == []


def test_a_person_reads_and_says_no(page: Page, url: str, client: Client) -> None:
    page.goto(url)
    assert "This report points to" in page.inner_text("main")
    page.click("text=Turn off and delete what waits")
    assert page.inner_text("[role=status]") == "Telemetry is off: you said no."
    assert "No report waits." in page.inner_text("main")
    assert client.health().waiting == 0
    page.click("text=Turn on")
    assert page.inner_text("[role=status]") == "Telemetry is on: you agreed."


def test_another_site_cannot_press_the_switch(page: Page, url: str, client: Client) -> None:
    form = f'<form method="post" action="{url}"><button name="answer" value="denied">x</button>'
    page.goto("about:blank")
    page.set_content(form)
    page.click("button")
    page.wait_for_load_state()
    assert client.status().consent == "granted"
