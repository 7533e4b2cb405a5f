"""A provider that does not answer, or answers too much: what waits, what is remembered."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from flask import Flask
from werkzeug.test import TestResponse

from deniable_aggregator.base.errors import ProviderUnavailableError
from deniable_aggregator.operations.service import Service
from deniable_aggregator.web.app import create_app
from deniable_aggregator.web.auth import throttle
from deniable_aggregator.web.auth.guard import PROVIDER
from deniable_aggregator.web.auth.provider import Provider
from support.builders.provider_sign_in import CLOCK, back, browser_of, opened, sent
from support.doubles.browser import Browser
from support.doubles.identity_provider import IdentityProvider, serving


@pytest.fixture(scope="module")
def lasting_provider() -> Iterator[IdentityProvider]:
    with serving(CLOCK.now) as provider:
        yield provider


@pytest.fixture
def provider(lasting_provider: IdentityProvider) -> IdentityProvider:
    lasting_provider.forget(CLOCK.now)
    return lasting_provider


@pytest.fixture
def running_service(provider: IdentityProvider, tmp_path: Path) -> Iterator[Service]:
    with opened(provider, tmp_path) as running_service:
        yield running_service


@pytest.fixture
def browser(running_service: Service) -> Browser:
    return browser_of(running_service)


class Silent:
    """A provider that accepts connections and answers none until it is let go."""

    def __init__(self) -> None:
        self.calls = 0
        self.called, self.released = threading.Event(), threading.Event()

    def __call__(self, address: str, **arguments: object) -> httpx.Response:
        self.calls += 1
        self.called.set()
        assert self.released.wait(120)
        raise httpx.ReadTimeout("no answer")


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Silent]:
    found = Silent()
    monkeypatch.setattr(httpx, "get", found)
    yield found
    found.released.set()


@pytest.fixture
def app(running_service: Service) -> Flask:
    """One process, which remembers a failure for all browsers."""
    return create_app(running_service)


def begin(app: Flask) -> TestResponse:
    """A browser that was never here is sent to the provider."""
    return Browser.at(app).client.get("/sign-in/provider")


@pytest.mark.slow
def test_a_silent_provider_blocks_one_request_and_others_get_503(
    app: Flask, silent: Silent
) -> None:
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(begin, app)
        assert silent.called.wait(120)
        others = [begin(app) for _ in range(5)]
        assert not held.done()
        silent.released.set()
        assert held.result().status_code == 503
    assert [each.status_code for each in others] == [503] * 5
    assert {each.headers["Retry-After"] for each in others} == {"5"}
    assert silent.calls == 1


@pytest.mark.slow
def test_a_failure_is_remembered_for_a_minute(
    app: Flask, silent: Silent, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent.released.set()
    assert begin(app).headers["Retry-After"] == "60"
    CLOCK.now += 59
    later = begin(app)
    assert (later.status_code, later.headers["Retry-After"]) == (503, "1")
    assert silent.calls == 1
    CLOCK.now += 1
    monkeypatch.undo()
    assert begin(app).status_code == 303


@pytest.mark.slow
def test_a_clock_that_went_back_does_not_keep_a_failure(app: Flask, silent: Silent) -> None:
    silent.released.set()
    begin(app)
    CLOCK.now -= 1
    assert begin(app).status_code == 503
    assert silent.calls == 2


@pytest.mark.slow
def test_a_token_endpoint_that_is_gone_is_remembered(
    browser: Browser, provider: IdentityProvider
) -> None:
    provider.document = {"token_endpoint": "http://127.0.0.1:1/token"}
    address = sent(browser)
    first = back(browser, address)
    assert (first.status_code, first.headers["Retry-After"]) == (503, "60")
    assert browser.cookie() is None
    there: Provider = browser.client.application.extensions[PROVIDER]
    secret, query = answered(there)
    with pytest.raises(ProviderUnavailableError, match="less than a minute ago"):
        there.redeem(secret, query)
    CLOCK.now += 60


def answered(provider: Provider) -> tuple[str, dict[str, str]]:
    """The cookie and the query of a browser that comes back with some code."""
    secret = "s" * 43
    query = parse_qs(urlsplit(provider.address(secret, "/who")).query)
    return secret, {"state": query["state"][0], "code": "any"}


@pytest.mark.slow
def test_a_code_that_is_refused_turns_nobody_else_away(browser: Browser) -> None:
    address = sent(browser)
    assert back(browser, address, code="wrong").status_code == 403
    assert back(browser, sent(browser)).status_code == 303


@pytest.mark.slow
def test_the_way_to_the_provider_is_limited_by_network(
    browser: Browser,
) -> None:
    CLOCK.now += 120
    found = [
        browser.client.get("/sign-in/provider", environ_base={"REMOTE_ADDR": address})
        for address in ["192.0.2.1"] * (throttle.OF_PROVIDER + 1) + ["198.51.100.1"]
    ]
    assert [each.status_code for each in found] == [303] * throttle.OF_PROVIDER + [429, 303]
    assert found[-2].headers["Retry-After"] == "60"
    done = browser.client.get("/sign-in/provider/done", environ_base={"REMOTE_ADDR": "192.0.2.9"})
    assert done.status_code == 429
