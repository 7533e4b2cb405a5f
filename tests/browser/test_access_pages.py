"""Administration in a browser: a token from its making to its end, keys, audit, health."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from support.processes.chromium import Window
from support.processes.dashboard_site import Site

pytestmark = pytest.mark.processes


@pytest.fixture
def tab(window: Callable[..., Window]) -> Window:
    return window(role="admin")


def status(site: Site, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    address = f"{site.address}/v1/collections/settings/estimates"
    return httpx.get(address, headers=headers, timeout=120, trust_env=False).status_code


def test_a_token_is_made_shown_once_used_and_revoked(tab: Window, site: Site) -> None:
    tab.open("/access")
    tab.page.fill("#label", "notebook")
    tab.page.click("text=Make a token")
    tab.settle()
    token = (tab.page.text_content("#secret") or "").strip()
    assert tab.unreadable() == []
    assert status(site, token) == 200
    tab.open("/access")
    assert token not in tab.page.content()
    row = tab.page.locator("[data-table=tokens] tr", has_text="notebook")
    row.locator("summary").click()
    assert tab.unreadable() == []
    row.locator("button").click()
    tab.page.wait_for_load_state()
    assert status(site, token) == 401
    assert "revoked" in tab.page.locator("[data-table=tokens] tr", has_text="notebook").inner_text()
    tab.open("/audit?verify=yes")
    acts = tab.page.locator("[data-table=audit] td:nth-child(3)").all_inner_texts()
    assert acts[:2] == ["token-revoked", "token-made"]
    assert "the chain is unbroken" in tab.page.inner_text("main")
    assert tab.violations() == tab.errors == []


def test_the_next_key_is_pending_and_asking_again_makes_no_other(tab: Window) -> None:
    for _ in range(2):
        tab.open("/keys")
        tab.page.click("summary:has-text('Make the next key')")
        assert "cannot be taken back" in tab.page.inner_text("details.ending[open]")
        tab.page.click("details.ending[open] button")
        tab.page.wait_for_load_state()
        tab.settle()
    states = tab.page.locator("[data-table=keys] td:nth-child(3)").all_inner_texts()
    assert sorted(states) == ["active", "pending"]
    assert tab.violations() == tab.errors == []


def test_health_follows_what_happens_until_it_is_paused(tab: Window) -> None:
    tab.open("/health")
    seen = tab.page.inner_text("time")
    tab.until(f"document.querySelector('time').textContent !== '{seen}'")
    assert tab.page.inner_text("#announce") == ""
    tab.page.click("#pause")
    tab.page.wait_for_url("**live=off")
    tab.settle()
    assert tab.page.locator("[hx-trigger]").count() == 0
    assert tab.page.inner_text("#pause") == "Resume"
    assert tab.violations() == tab.errors == []


def test_the_plan_follows_the_form_and_the_address_holds_the_draft(tab: Window) -> None:
    tab.open("/set-up")
    assert "The plan appears here" in tab.page.inner_text("#plan")
    tab.page.fill("#labels", "soup\nsalad")
    tab.until("document.querySelector('#plan data') !== null")
    before = float(tab.page.locator("#plan data").first.get_attribute("value") or "nan")
    tab.page.fill("#users", "1000000")
    tab.page.wait_for_url("**users=1000000*")
    tab.settle()
    after = float(tab.page.locator("#plan data").first.get_attribute("value") or "nan")
    assert after == pytest.approx(before / 10, rel=0.01)  # limits have room for the skew
    tab.page.click("text=a number")
    tab.page.wait_for_url("**type=number*")
    assert tab.page.locator("#labels").is_hidden()
    assert tab.page.locator("#low").is_visible()
    tab.open(tab.page.url.removeprefix(tab.site.address))
    assert tab.page.input_value("#users") == "1000000"
    assert tab.page.locator("[name=type][value=number]").is_checked()
    assert tab.violations() == tab.errors == []


def test_the_text_of_the_file_is_copied(tab: Window, site: Site) -> None:
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=site.address)
    tab.open("/set-up?name=lunch&labels=soup%0Asalad")
    tab.page.click("[data-copy=toml]")
    tab.until("document.querySelector('#announce').textContent === 'Copied'")
    assert tab.page.evaluate("navigator.clipboard.readText()") == tab.page.text_content("#toml")
