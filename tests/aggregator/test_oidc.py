"""Sign-in with a provider that runs on loopback: the way there and back, and every lie on it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from werkzeug.test import TestResponse

from deniable_aggregator.access import throttle
from deniable_aggregator.access.guard import current_identity, require
from deniable_aggregator.app import create_app
from deniable_aggregator.errors import ProviderUnavailableError, SettingsError
from deniable_aggregator.service import Service
from deniable_aggregator.settings import Settings
from support.browser import Browser
from support.data_directory import Moment, prepared
from support.identity_provider import CLIENT, SECRET, IdentityProvider, serving

DONE = "http://127.0.0.1:8000/sign-in/provider/done"
CLOCK = Moment()


@pytest.fixture(scope="module")
def running() -> Iterator[IdentityProvider]:
    with serving(CLOCK.now) as provider:
        yield provider


@pytest.fixture
def provider(running: IdentityProvider) -> IdentityProvider:
    running.forget(CLOCK.now)
    return running


@pytest.fixture
def service(provider: IdentityProvider, tmp_path: Path) -> Iterator[Service]:
    settings = replace(
        prepared(tmp_path),
        oidc_issuer=provider.issuer,
        oidc_client_id=CLIENT,
        oidc_client_secret=SECRET,
        oidc_roles="staff=viewer, analysts=analyst, admins=admin",
    )
    opened = Service.open(settings, clock=CLOCK)
    yield opened
    opened.close()


@pytest.fixture
def browser(service: Service) -> Browser:
    app = create_app(service)
    app.add_url_rule("/who", "who", require("viewer")(who))
    return Browser.at(app)


def who() -> str:
    found = current_identity()
    return "" if found is None else f"{found.name} {found.role}"


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


def test_the_way_there_and_back_signs_in(browser: Browser, provider: IdentityProvider) -> None:
    answer = back(browser, sent(browser))
    assert (answer.status_code, answer.location) == (303, "/who")
    assert browser.client.get("/who").text == "ana viewer"
    [asked] = provider.asked
    assert asked["redirect_uri"] == DONE
    assert len({asked["state"], asked["nonce"], asked["code_challenge"]}) == 3
    assert browser.cookie("provider") is None


def test_the_sign_in_page_leads_there(browser: Browser) -> None:
    assert 'href="/sign-in/provider?next=/who"' in browser.client.get("/sign-in?next=/who").text


@pytest.mark.parametrize(
    ("groups", "role"),
    [
        (["staff", "admins", "analysts"], "admin"),
        (["others", "analysts"], "analyst"),
        ("staff", "viewer"),
    ],
)
def test_of_several_groups_the_one_that_may_do_most_counts(
    browser: Browser, provider: IdentityProvider, groups: object, role: str
) -> None:
    provider.claims = {"groups": groups}
    back(browser, sent(browser))
    assert browser.client.get("/who").text == f"ana {role}"


@pytest.mark.parametrize("groups", [None, [], ["others"], "STAFF", {"staff": True}, [["staff"]]])
def test_who_is_in_no_group_that_counts_stays_out(
    browser: Browser, provider: IdentityProvider, groups: object
) -> None:
    provider.claims = {"groups": groups}
    answer = back(browser, sent(browser))
    assert (answer.status_code, browser.cookie()) == (403, None)
    assert "none of your groups has a role here" in answer.text


def test_the_role_may_lie_inside_a_claim(
    browser: Browser, provider: IdentityProvider, service: Service
) -> None:
    object.__setattr__(service.settings, "oidc_claims", "role=realm_access.roles")
    provider.claims = {"groups": None, "realm_access": {"roles": ["admins"]}}
    back(browser, sent(browser))
    assert browser.client.get("/who").text == "ana admin"


def test_claims_and_scope_are_those_of_the_setting(
    browser: Browser, provider: IdentityProvider, service: Service
) -> None:
    claims = "name=email, scope=openid email roles"
    object.__setattr__(service.settings, "oidc_claims", claims)
    provider.claims = {"email": "ana@example.org", "groups": ["staff"]}
    back(browser, sent(browser))
    assert provider.asked[-1]["scope"] == "openid email roles"
    assert browser.client.get("/who").text == "ana@example.org viewer"


def test_who_has_no_name_to_show_goes_by_the_subject(
    browser: Browser, provider: IdentityProvider
) -> None:
    provider.claims = {"preferred_username": "two\nlines"}
    back(browser, sent(browser))
    assert browser.client.get("/who").text == "248289761001 viewer"


LIES: dict[str, dict[str, Any]] = {
    "another issuer": {"iss": "https://evil.example"},
    "no issuer": {"iss": None},
    "for another client": {"aud": "somebody"},
    "for nobody": {"aud": None},
    "for several, of another party": {"aud": [CLIENT, "other"], "azp": "other"},
    "for several, of no party": {"aud": [CLIENT, "other"]},
    "of another party": {"azp": "other"},
    "of another sign-in": {"nonce": "A" * 43},
    "without nonce": {"nonce": None},
    "nonce of another type": {"nonce": 7},
    "over": {"exp": int(CLOCK.now) - 61},
    "without end": {"exp": None},
    "end as text": {"exp": "2099-01-01"},
    "made long ago": {"iat": int(CLOCK.now) - 601},
    "made later": {"iat": int(CLOCK.now) + 61},
    "never made": {"iat": None},
    "of nobody": {"sub": None},
    "of an empty subject": {"sub": ""},
}


@pytest.mark.parametrize("lie", LIES)
def test_a_signed_token_that_says_anything_wrong_is_not_believed(
    browser: Browser, provider: IdentityProvider, lie: str
) -> None:
    provider.claims = LIES[lie]
    answer = back(browser, sent(browser))
    assert (answer.status_code, browser.cookie()) == (403, None)


FORGED: dict[str, dict[str, Any]] = {
    "unsigned": {"header": {"alg": "none"}},
    "signed with the public key": {"header": {"alg": "HS256", "kid": "one"}},
    "by a key nobody lists": {"signed_by": "two", "header": {"alg": "RS256", "kid": "two"}},
    "by a key under another's name": {"signed_by": "two"},
    "by a key nobody names": {"signed_by": "two", "header": {"alg": "RS256"}},
    "changed after it was signed": {"tamper": True},
    "no token": {"answer": {"access_token": "x", "token_type": "Bearer"}},
    "no text": {"answer": {"access_token": "x", "token_type": "Bearer", "id_token": 7}},
    "nonsense": {"answer": {"access_token": "x", "token_type": "Bearer", "id_token": "a.b.c"}},
    "an error": {"answer": {"error": "server_error"}},
}


@pytest.mark.parametrize("forgery", FORGED)
def test_a_token_the_issuer_did_not_sign_is_not_believed(
    browser: Browser, provider: IdentityProvider, forgery: str, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in FORGED[forgery].items():
        setattr(provider, name, value)
    with caplog.at_level(logging.WARNING):
        answer = back(browser, sent(browser))
    assert (answer.status_code, browser.cookie()) == (403, None)
    assert "sign-in with the provider failed" in caplog.text


def test_a_new_key_is_looked_for_once_a_minute(
    browser: Browser, provider: IdentityProvider
) -> None:
    assert back(browser, sent(browser)).status_code == 303
    provider.signed_by, provider.listed = "two", ["two"]
    provider.header = {"alg": "RS256", "kid": "two"}
    assert back(browser, sent(browser)).status_code == 403
    CLOCK.now += 60
    provider.now = CLOCK.now
    assert back(browser, sent(browser)).status_code == 303


def test_a_code_is_redeemed_once(browser: Browser) -> None:
    address = sent(browser)
    secret = str(browser.cookie("provider"))
    assert back(browser, address).status_code == 303
    browser.client.set_cookie("deniable-provider", secret)
    assert back(browser, address).status_code == 403


def test_an_answer_belongs_to_the_browser_that_asked(browser: Browser, service: Service) -> None:
    address = sent(browser)
    other = Browser.at(create_app(service))
    assert back(other, address).status_code == 403
    sent(other)
    assert back(other, address).status_code == 403
    assert other.cookie() is None


def test_a_code_of_another_sign_in_fails_for_its_verifier(
    browser: Browser, service: Service
) -> None:
    mine = sent(browser)
    theirs = sent(Browser.at(create_app(service)))
    stolen = parse_qs(urlsplit(theirs).query)["code"][0]
    assert back(browser, mine, code=stolen).status_code == 403


@pytest.mark.parametrize(
    "changed",
    [
        {"state": None},
        {"state": "x"},
        {"state": "ü.ü"},
        {"code": None},
        {"code": None, "error": "access_denied"},
        {"iss": "https://evil.example"},
        {"code": "wrong"},
    ],
)
def test_an_answer_that_lacks_anything_is_refused(
    browser: Browser, changed: dict[str, str | None]
) -> None:
    answer = back(browser, sent(browser), **changed)
    assert (answer.status_code, browser.cookie()) == (403, None)


def test_the_page_that_is_wanted_cannot_be_changed_on_the_way(browser: Browser) -> None:
    address = sent(browser, "//evil.example")
    assert back(browser, address).location == "/"


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://evil.example"},
        {"authorization_endpoint": "http://evil.example/authorize"},
        {"authorization_endpoint": None},
        {"jwks_uri": "http://evil.example/keys"},
        {"jwks_uri": "http://127.0.0.1:1/keys"},
    ],
)
def test_a_provider_whose_document_is_wrong_is_not_gone_to(
    browser: Browser, provider: IdentityProvider, document: dict[str, str | None]
) -> None:
    provider.document = document
    answer = browser.client.get("/sign-in/provider")
    assert answer.status_code == 503
    assert "Location" not in answer.headers


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


def begin(service: Service) -> TestResponse:
    return Browser.at(create_app(service)).client.get("/sign-in/provider")


def test_a_provider_that_never_answers_holds_one_request_and_others_get_503(
    service: Service, silent: Silent
) -> None:
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(begin, service)
        assert silent.called.wait(120)
        others = [begin(service) for _ in range(5)]
        assert not held.done()
        silent.released.set()
        assert held.result().status_code == 503
    assert [each.status_code for each in others] == [503] * 5
    assert {each.headers["Retry-After"] for each in others} == {"5"}
    assert silent.calls == 1


def test_a_failure_is_remembered_for_a_minute(
    service: Service, silent: Silent, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent.released.set()
    assert begin(service).headers["Retry-After"] == "60"
    CLOCK.now += 59
    later = begin(service)
    assert (later.status_code, later.headers["Retry-After"]) == (503, "1")
    assert silent.calls == 1
    CLOCK.now += 1
    monkeypatch.undo()
    assert begin(service).status_code == 303


def test_a_clock_that_went_back_does_not_keep_a_failure(service: Service, silent: Silent) -> None:
    silent.released.set()
    begin(service)
    CLOCK.now -= 1
    assert begin(service).status_code == 503
    assert silent.calls == 2


def test_a_token_endpoint_that_is_gone_is_remembered(
    browser: Browser, provider: IdentityProvider, service: Service
) -> None:
    provider.document = {"token_endpoint": "http://127.0.0.1:1/token"}
    address = sent(browser)
    first = back(browser, address)
    assert (first.status_code, first.headers["Retry-After"]) == (503, "60")
    assert browser.cookie() is None
    with pytest.raises(ProviderUnavailableError, match="less than a minute ago"):
        service.provider.redeem(*answered(service))
    CLOCK.now += 60


def answered(service: Service) -> tuple[str, dict[str, str]]:
    """The cookie and the query of a browser that comes back with some code."""
    secret = "s" * 43
    query = parse_qs(urlsplit(service.provider.address(secret, "/who")).query)
    return secret, {"state": query["state"][0], "code": "any"}


def test_a_code_that_is_refused_turns_nobody_else_away(browser: Browser) -> None:
    address = sent(browser)
    assert back(browser, address, code="wrong").status_code == 403
    assert back(browser, sent(browser)).status_code == 303


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


def test_signing_in_with_a_provider_is_an_act(browser: Browser, service: Service) -> None:
    back(browser, sent(browser))
    row = service.store.audit()[-1].entry.decode()
    assert '"act":"sign-in"' in row
    assert '"via":"oidc"' in row


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"oidc_issuer": "https://id.example"}, "must be set together"),
        ({"oidc_issuer": "http://id.example"}, "must be https"),
        ({"oidc_roles": "staff=root"}, "must be pairs"),
        ({"oidc_roles": "staff"}, "must be pairs"),
        ({"oidc_roles": "=admin"}, "must be pairs"),
        ({"oidc_claims": "groups"}, "must be pairs"),
        ({"oidc_claims": "roles=groups"}, "of role, name, scope, got 'roles=groups'"),
        ({"oidc_claims": "role="}, "must be pairs"),
    ],
)
def test_settings_that_would_let_the_wrong_people_in_are_refused(
    changed: dict[str, str], said: str
) -> None:
    whole = {"oidc_client_id": "x", "oidc_roles": "a=admin", "oidc_issuer": "https://id.example"}
    given = changed if "together" in said else whole | changed
    with pytest.raises(SettingsError, match=said):
        Settings(**given)  # type: ignore[arg-type]


def test_the_client_secret_is_shown_nowhere(service: Service) -> None:
    assert SECRET not in repr(service.settings)
