"""Sign-in with a provider that runs on loopback: the way there and back, and every lie on it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.service import Service
from deniable_aggregator.web.app import create_app
from deniable_gateway.errors import SettingsError
from support.builders.provider_sign_in import CLOCK, back, browser_of, opened, sent
from support.doubles.browser import Browser
from support.doubles.identity_provider import CLIENT, SECRET, IdentityProvider, serving

pytestmark = pytest.mark.slow

DONE = "http://127.0.0.1:8000/sign-in/provider/done"


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
    browser: Browser, provider: IdentityProvider, running_service: Service
) -> None:
    object.__setattr__(running_service.settings, "oidc_claims", "role=realm_access.roles")
    provider.claims = {"groups": None, "realm_access": {"roles": ["admins"]}}
    back(browser, sent(browser))
    assert browser.client.get("/who").text == "ana admin"


def test_claims_and_scope_are_those_of_the_setting(
    browser: Browser, provider: IdentityProvider, running_service: Service
) -> None:
    claims = "name=email, scope=openid email roles"
    object.__setattr__(running_service.settings, "oidc_claims", claims)
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


@pytest.mark.slow
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


def test_an_answer_belongs_to_the_browser_that_asked(
    browser: Browser, running_service: Service
) -> None:
    address = sent(browser)
    other = Browser.at(create_app(running_service))
    assert back(other, address).status_code == 403
    sent(other)
    assert back(other, address).status_code == 403
    assert other.cookie() is None


def test_a_code_of_another_sign_in_fails_for_its_verifier(
    browser: Browser, running_service: Service
) -> None:
    mine = sent(browser)
    theirs = sent(Browser.at(create_app(running_service)))
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


def test_signing_in_with_a_provider_is_an_act(browser: Browser, running_service: Service) -> None:
    back(browser, sent(browser))
    row = running_service.store.audit()[-1].entry.decode()
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
        Settings(**given)  # type: ignore[arg-type]  # a wrong type is the point


def test_the_client_secret_is_shown_nowhere(running_service: Service) -> None:
    assert SECRET not in repr(running_service.settings)
