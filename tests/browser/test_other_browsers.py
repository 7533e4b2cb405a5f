"""The web client in Firefox and WebKit, against a real aggregator, on the example site."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

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
from support.processes.other_browsers import BROWSERS, Tab

pytestmark = pytest.mark.exhaustive

VISITORS = 12
"""By luck, other keys would give the same estimates about once in thirty runs."""

AGREES = "document.querySelector('deniable-consent').shadowRoot.querySelector('button')"
FIRST_BOX = "document.querySelector('#question:not([hidden]) input')"
SUBMITS = "document.querySelector('button[type=submit]')"
SAID = "document.querySelector('#status:not(:empty)')"
RECORD = "() => client.record('settings', {dark_mode: true, beta: true})"


@pytest.fixture(params=BROWSERS)
def other_tab(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tab]:
    profile = tmp_path / "profile"
    profile.mkdir()
    with BROWSERS[request.param](profile) as opened_tab:
        yield opened_tab


@pytest.fixture(scope="module")
def asking_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with opened(tmp_path_factory.mktemp("web")) as web:
        yield web


@pytest.mark.long
def test_visitors_are_counted_as_devices_with_the_same_keys(other_tab: Tab, tmp_path: Path) -> None:
    """One after the other; each finds the storage empty, as `forget` left it."""
    for each in ("visitors", "devices"):
        (tmp_path / each).mkdir()
    with opened(tmp_path / "visitors") as web:
        for visitor, answer in enumerate(answers(VISITORS)):
            other_tab.open(web.address)
            other_tab.run(f"() => {{{KNOWN_KEY.replace('KEY', key_of(visitor).hex())}}}")
            assert other_tab.run(ANSWER, answer) == {
                "outcome": "queued",
                "accepted": 1,
                "problems": [],
                "spent": 1_000_000,
            }
            other_tab.run("() => client.forget()")
        check_devices(tmp_path / "devices", web, VISITORS)


def test_a_person_answers_and_then_says_no(other_tab: Tab, asking_site: Web) -> None:
    """With the consent component; the answer outlives the page, and a denial wipes it."""
    before = asking_site.service.counted()
    other_tab.open(asking_site.address)
    for each in (AGREES, FIRST_BOX, SUBMITS):
        other_tab.when(each, "found.click()")
    assert other_tab.when(SAID, "found.textContent").startswith("Thank you")
    other_tab.open(asking_site.address)
    later = other_tab.run(ANSWER, {"dark_mode": False, "beta": False})
    assert later["outcome"] == "already-answered"
    assert other_tab.run("() => client.consent('denied')") == "denied"
    other_tab.open(asking_site.address)
    assert other_tab.run(RECORD) == "no-consent"
    assert other_tab.run("() => client.consent()") == "denied"
    assert asking_site.service.counted() == before + 1
