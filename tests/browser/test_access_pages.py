"""Administration in a browser: a token from its making to its end, keys, audit, health."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import httpx
import pytest

from support.processes.chromium import THEMES, WIDTHS, Window
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
    assert tab.page.locator("#label").is_hidden()
    tab.page.click("summary:has-text('New token')")
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
    assert acts[:2] == ["token revoked", "token made"]
    assert "the chain is unbroken" in tab.page.inner_text("main")
    assert tab.violations() == tab.errors == []


@pytest.mark.exhaustive
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


@pytest.mark.exhaustive
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
    tab.page.fill("#users", "40000")
    tab.page.wait_for_url("**users=40000*")
    tab.settle()
    after = float(tab.page.locator("#plan data").first.get_attribute("value") or "nan")
    assert after == pytest.approx(before / 2, rel=0.01)  # limits have room for the skew
    tab.page.click("text=a number")
    tab.page.wait_for_url("**type=number*")
    assert tab.page.locator("#labels").is_hidden()
    assert tab.page.locator("#low").is_visible()
    tab.open(tab.page.url.removeprefix(tab.site.address))
    assert tab.page.input_value("#users") == "40000"
    assert tab.page.locator("[name=type][value=number]").is_checked()
    assert tab.violations() == tab.errors == []


def test_the_text_of_the_file_is_copied(tab: Window, site: Site) -> None:
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=site.address)
    tab.open("/set-up?name=lunch&labels=soup%0Asalad")
    tab.page.click("[data-copy=toml]")
    tab.until("document.querySelector('#announce').textContent === 'Copied'")
    assert tab.page.evaluate("navigator.clipboard.readText()") == tab.page.text_content("#toml")


@pytest.mark.exhaustive
def test_a_refused_form_is_open_at_its_field(tab: Window) -> None:
    tab.open("/access")
    tab.page.click("summary:has-text('New token')")
    tab.page.fill("#label", "notebook")
    tab.page.evaluate("document.querySelector('#expires_days').removeAttribute('max')")
    tab.page.fill("#expires_days", "9999")
    tab.page.click("text=Make a token")
    tab.settle()
    assert "1 to 3650 days" in tab.page.inner_text("#wrong-expires_days")
    assert tab.page.input_value("#label") == "notebook"
    assert tab.unreadable() == []


def test_a_draft_is_sent_to_the_operator_and_waits_to_be_signed(tab: Window, site: Site) -> None:
    tab.open("/set-up?name=lunch&labels=soup%0Asalad")
    assert "waiting to be signed" in tab.page.inner_text("#files")
    link = tab.page.text_content("#draft-link") or ""
    href = tab.page.locator("a[href^='mailto:']").get_attribute("href") or ""
    assert quote(link, safe="/") in href
    tab.open(link[link.index("/set-up") :])
    assert tab.page.input_value("#labels") == "soup\nsalad"
    tab.open("/set-up?name=theme&labels=light%0Adark")
    assert "waiting to be signed" not in tab.page.inner_text("#files")


@pytest.mark.exhaustive
def test_a_phone_has_the_plan_in_short_at_its_foot(window: Callable[..., Window]) -> None:
    tab = window(role="admin", width=390)
    tab.open("/set-up?name=lunch&labels=soup%0Asalad")
    assert "for 10\u202f000 people" in tab.page.inner_text(".in-short")
    box = tab.page.locator(".in-short").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] == 900
    tab.page.fill("#labels", "soup")
    tab.until("document.querySelector('.in-short').textContent.includes('to correct')")
    tab.page.click(".in-short")
    assert tab.page.locator("#plan .refusal").is_visible()
    assert window(role="admin").page.locator(".in-short:visible").count() == 0


@pytest.mark.exhaustive
def test_the_sign_in_page_breaks_no_rule_and_folds_the_password(
    window: Callable[..., Window],
) -> None:
    for width in WIDTHS:
        tab = window(width=width, known=False)
        tab.open("/sign-in")
        assert tab.page.locator("#password").is_hidden()
        tab.page.click("summary:has-text('With a name and a password')")
        assert tab.page.locator("#password").is_visible()
        for theme in THEMES:
            tab.theme(theme)
            assert tab.unreadable() == [], (width, theme)
        assert tab.overflow() <= 0
        assert tab.violations() == tab.errors == []
