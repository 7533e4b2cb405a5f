"""A service with single sign-on, and a browser's way through it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
from werkzeug.test import TestResponse

from deniable_aggregator.operations.service import Service
from deniable_aggregator.web.app import create_app
from deniable_aggregator.web.auth.guard import current_identity, require
from support.builders.data_directory import Moment, prepared
from support.doubles.browser import Browser
from support.doubles.identity_provider import CLIENT, SECRET, IdentityProvider

__all__ = ["CLOCK", "back", "browser_of", "opened", "sent"]

CLOCK = Moment()


@contextmanager
def opened(provider: IdentityProvider, folder: Path) -> Iterator[Service]:
    """A service whose people may sign in with the provider, which is honest at first."""
    provider.forget(CLOCK.now)
    settings = replace(
        prepared(folder),
        oidc_issuer=provider.issuer,
        oidc_client_id=CLIENT,
        oidc_client_secret=SECRET,
        oidc_roles="staff=viewer, analysts=analyst, admins=admin",
    )
    service = Service.open(settings, clock=CLOCK)
    try:
        yield service
    finally:
        service.close()


def browser_of(service: Service) -> Browser:
    """Before an application with a page, /who, that says who is signed in."""
    app = create_app(service)
    app.add_url_rule("/who", "who", require("viewer")(who))
    return Browser.at(app)


def who() -> str:
    identity = current_identity()
    return "" if identity is None else f"{identity.name} {identity.role}"


def sent(browser: Browser, wanted: str = "/who") -> str:
    """Where the provider sends a browser that was sent there."""
    begun = browser.client.get("/sign-in/provider", query_string={"next": wanted})
    assert begun.status_code == 303
    return httpx.get(str(begun.location), trust_env=False, timeout=60.0).headers["Location"]


def back(browser: Browser, address: str, **changed: str | None) -> TestResponse:
    """Follow the provider's answer, with other parameters where they are given."""
    query: dict[str, Any] = {
        name: values[0] for name, values in parse_qs(urlsplit(address).query).items()
    }
    given = {name: value for name, value in (query | changed).items() if value is not None}
    return browser.client.get(f"/sign-in/provider/done?{urlencode(given)}")
