"""Signing in and out of the pages: passwords, one-time links, cookies, forms, throttling."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from deniable_aggregator.access import users
from deniable_aggregator.access.sessions import LINK_SECONDS
from deniable_aggregator.web.app import create_app
from deniable_aggregator.web.auth import csrf, throttle
from deniable_aggregator.web.auth.guard import SIGN_INS, current_identity, require
from support.builders.api_world import World, opened
from support.doubles.browser import PASSWORD, Browser
from support.processes.deniable_command import Deniable


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """With a user ana and three pages, one a role."""
    monkeypatch.setattr(users, "LOG2_N", 4)
    nobody = vars(users)["_NOBODY"].replace("scrypt$15$", "scrypt$4$")
    monkeypatch.setattr(users, "_NOBODY", nobody)  # it is hashed for a name that is none
    with opened(tmp_path) as service:
        for role in ("viewer", "analyst", "admin"):
            service.app.add_url_rule(f"/for-{role}", role, require(role)(shown))
        service.app.add_url_rule("/change", "change", require("viewer")(shown), methods=["POST"])
        service.running.users.add("ana", "analyst", PASSWORD, audit=None)
        yield service


@pytest.fixture
def browser(service: World) -> Browser:
    return Browser.at(service.app)


def shown() -> str:
    who = current_identity()
    return "" if who is None else f"{who.name} {who.role}"


def status(browser: Browser, path: str) -> int:
    return browser.client.get(path).status_code


def test_the_right_password_leads_to_the_page_that_was_wanted(browser: Browser) -> None:
    refused = browser.client.get("/for-viewer?a=b")
    assert (refused.status_code, refused.location) == (303, "/sign-in?next=/for-viewer?a%3Db")
    answer = browser.sign_in("ana", next="/for-viewer?a=b")
    assert (answer.status_code, answer.location) == (303, "/for-viewer?a=b")
    assert browser.client.get("/for-viewer").text == "ana analyst"


@pytest.mark.slow
def test_the_page_says_where_a_link_comes_from(
    service: World, browser: Browser, tmp_path: Path
) -> None:
    page = browser.client.get("/sign-in").text
    [command] = re.findall("<code>deniable (access users link .*?)</code>", page)
    deniable = Deniable(tmp_path / "another")
    deniable.done("init")
    assert "/sign-in?link=" in deniable.done(*command.split())
    assert "<details>" not in page
    service.running.users.remove("ana", audit=None)
    page = browser.client.get("/sign-in").text
    assert "No one has a password here yet" in page
    assert page.index("<details>") < page.index('id="password"') < page.index("</details>")
    link = service.running.sessions.make_link("ana", "viewer", audit=None)
    assert "users link" not in browser.client.get(f"/sign-in?link={link}").text


def test_a_page_is_for_its_role_and_those_above(browser: Browser) -> None:
    browser.sign_in("ana")
    pages = ("/for-viewer", "/for-analyst", "/for-admin")
    assert [status(browser, page) for page in pages] == [200, 200, 403]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "password"),
    [("ana", "wrong horse battery"), ("bob", PASSWORD), ("", PASSWORD), ("ana", ""), ("a\0", "x")],
)
def test_a_wrong_name_and_a_wrong_password_look_the_same(
    browser: Browser, name: str, password: str
) -> None:
    answer = browser.sign_in(name, password)
    assert answer.status_code == 403
    assert "Wrong name or password" in answer.text
    assert browser.cookie() is None


def test_a_form_without_its_token_is_refused(browser: Browser) -> None:
    form = {"name": "ana", "password": PASSWORD}
    for given in ({}, {"csrf_token": ""}, {"csrf_token": csrf.token("A" * 43)}):
        browser.form_token()
        answer = browser.client.post("/sign-in", data=form | given)
        assert answer.status_code == 403
        assert answer.get_json()["type"].endswith("form-refused")
    assert browser.cookie() is None


def test_a_form_token_of_another_browser_is_refused(service: World, browser: Browser) -> None:
    other = Browser.at(service.app).form_token()
    browser.form_token()
    form = {"name": "ana", "password": PASSWORD, "csrf_token": other}
    assert browser.client.post("/sign-in", data=form).status_code == 403


@pytest.mark.slow
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_the_browser_says_another_site_sent_is_refused(browser: Browser, site: str) -> None:
    form = {"name": "ana", "password": PASSWORD, "csrf_token": browser.form_token()}
    answer = browser.client.post("/sign-in", data=form, headers={"Sec-Fetch-Site": site})
    assert answer.status_code == 403


def test_every_page_that_changes_something_wants_the_token_of_its_session(
    browser: Browser,
) -> None:
    before = browser.form_token()
    browser.sign_in("ana")
    secret = browser.cookie()
    assert secret is not None
    for given in ("", before, csrf.token(before)):
        assert browser.client.post("/change", data={"csrf_token": given}).status_code == 403
    header = {csrf.HEADER: csrf.token(secret)}
    assert browser.client.post("/change", headers=header).text == "ana analyst"


def test_nobody_is_told_to_sign_in_before_a_change(browser: Browser) -> None:
    assert browser.post("/change").status_code == 401


@pytest.mark.slow
def test_the_cookie_is_of_no_use_to_scripts_and_other_sites(service: World) -> None:
    answer = Browser.at(service.app).sign_in("ana")
    [cookie] = [c for c in answer.headers.getlist("Set-Cookie") if "session=" in c]
    parts = {part.strip() for part in cookie.split(";")[1:]}
    assert {"HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=43200"} <= parts
    assert "Secure" not in parts
    assert answer.headers["Cache-Control"] == "no-store"


def test_over_https_cookies_are_secure_and_bound_to_the_host(tmp_path: Path) -> None:
    with opened(tmp_path) as service:
        object.__setattr__(service.running.settings, "public_url", "https://telemetry.example.org")
        [cookie] = service.get("/sign-in", None).headers.getlist("Set-Cookie")
    assert cookie.startswith("__Host-deniable-form=")
    assert {"Secure", "HttpOnly", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert "Domain" not in cookie


def test_signing_in_again_gives_another_cookie_and_ends_the_first(
    service: World, browser: Browser
) -> None:
    browser.sign_in("ana")
    first = browser.cookie()
    assert browser.sign_in("ana").status_code == 303
    assert browser.cookie() not in (None, first)
    assert len(service.running.sessions.list()) == 1


def test_a_cookie_somebody_else_chose_is_never_taken_over(browser: Browser) -> None:
    chosen = "A" * 43
    browser.client.set_cookie("deniable-session", chosen)
    browser.sign_in("ana")
    assert browser.cookie() != chosen


def test_signing_out_ends_the_session_wherever_the_cookie_is(
    service: World, browser: Browser
) -> None:
    browser.sign_in("ana")
    kept = browser.cookie()
    assert browser.post("/sign-out").location == "/sign-in"
    assert browser.cookie() is None
    assert service.running.sessions.find(kept) is None


def test_a_session_ends_in_the_second_it_expires(service: World, browser: Browser) -> None:
    browser.sign_in("ana")
    service.clock.now += 12 * 3_600 - 1
    assert status(browser, "/for-viewer") == 200
    service.clock.now += 1
    assert status(browser, "/for-viewer") == 303


def test_a_session_that_is_ended_is_over_at_the_next_request(
    service: World, browser: Browser
) -> None:
    browser.sign_in("ana")
    [listed] = service.get("/v1/sessions", "admin").get_json()["sessions"]
    assert (listed["name"], listed["via"]) == ("ana", "password")
    assert service.send("DELETE", f"/v1/sessions/{listed['id']}").status_code == 204
    assert status(browser, "/for-viewer") == 303


@pytest.mark.slow
def test_a_user_who_is_removed_is_out_at_the_next_request(service: World, browser: Browser) -> None:
    browser.sign_in("ana")
    assert service.send("DELETE", "/v1/users/ana").status_code == 204
    assert status(browser, "/for-viewer") == 303
    assert browser.sign_in("ana").status_code == 403


def test_a_link_of_a_user_who_is_removed_opens_nothing(service: World, browser: Browser) -> None:
    link = service.running.sessions.make_link("ana", "admin", audit=None)
    assert service.send("DELETE", "/v1/users/ana").status_code == 204
    assert browser.client.get(f"/sign-in?link={link}").status_code == 410
    browser.use(link)
    assert status(browser, "/for-admin") == 303


@pytest.mark.parametrize("name", ["a/b", "a\\b", "100%", ".", ".."])
def test_a_name_that_no_address_can_spell_is_refused(service: World, name: str) -> None:
    body = {"name": name, "role": "viewer", "password": "correct horse battery"}
    answer = service.send("POST", "/v1/users", json=body)
    assert answer.status_code == 400
    assert "without a slash" in answer.get_json()["detail"]


@pytest.mark.parametrize("password", ["swordfish", "swordfish" * 30, ["swordfish"]])
def test_a_refused_password_is_not_repeated(service: World, password: object) -> None:
    body = {"name": "ana", "role": "viewer", "password": password}
    answer = service.send("POST", "/v1/users", json=body)
    assert (answer.status_code, answer.get_json()["argument"]) == (400, "password")
    assert "swordfish" not in answer.text


@pytest.mark.slow
@pytest.mark.parametrize("passwords", [["swordfish"], ["swordfish", "swordfish 2"]])
def test_a_form_repeats_no_refused_password(service: World, passwords: list[str]) -> None:
    admin = Browser.signed_in(service.app, service.running, "admin")
    fields = {"act": "user-added", "name": "ana", "role": "viewer", "password": passwords}
    data = {"csrf_token": admin.form_token(), **fields}
    answer = admin.client.post("/access", data=data)
    assert answer.status_code == 400
    assert "swordfish" not in answer.text


def test_a_cookie_opens_nothing_of_the_api(browser: Browser) -> None:
    browser.use(browser_link(browser))
    assert status(browser, "/for-admin") == 200
    assert status(browser, "/v1/tokens") == 401


def browser_link(browser: Browser) -> str:
    service = browser.client.application.extensions["deniable"]
    link = service.sessions.make_link("first", "admin", audit=None)
    assert isinstance(link, str)
    return link


def test_opening_a_link_uses_nothing_up_and_its_button_does(service: World) -> None:
    link = service.running.sessions.make_link("first", "admin", audit=None)
    address = f"/sign-in?link={link}"
    for _ in range(3):
        assert Browser.at(service.app).client.get(address).status_code == 200
    first, second = Browser.at(service.app), Browser.at(service.app)
    assert first.use(link).status_code == 303
    assert status(first, "/for-admin") == 200
    assert second.use(link).status_code == 410
    assert second.client.get(address).status_code == 410
    assert status(second, "/for-viewer") == 303


def test_a_link_that_is_over_lets_nobody_in(service: World, browser: Browser) -> None:
    link = browser_link(browser)
    service.clock.now += LINK_SECONDS
    assert browser.use(link).status_code == 410
    assert browser.cookie() is None


@pytest.mark.parametrize("link", ["", "A" * 43, "A" * 10_000, "ü" * 43])
def test_what_is_no_link_lets_nobody_in(browser: Browser, link: str) -> None:
    assert browser.use(link).status_code == 410


@pytest.mark.parametrize(
    "wanted",
    [
        *("https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example"),
        *("javascript:alert(1)", "/a\r\nSet-Cookie: x=y", "/\tx", "evil", "", "/ü", "/a\\b"),
    ],
)
def test_signing_in_never_leads_to_another_site(browser: Browser, wanted: str) -> None:
    answer = browser.sign_in("ana", next=wanted)
    assert (answer.status_code, answer.location) == (303, "/")
    assert "x=y" not in str(answer.headers)


@pytest.mark.slow
def test_whoever_guesses_at_one_name_is_slowed_down_and_a_link_gets_in(
    service: World, browser: Browser
) -> None:
    found = [browser.sign_in("ana", "wrong" * 3).status_code for _ in range(throttle.OF_NAME + 2)]
    assert found == [403] * throttle.OF_NAME + [429] * 2
    assert browser.sign_in("ana").status_code == 429
    assert browser.use(browser_link(browser)).status_code == 303
    service.clock.now += throttle.WINDOW_SECONDS
    assert Browser.at(service.app).sign_in("ana").status_code == 303


def test_a_network_is_slowed_down_whatever_names_it_tries(service: World) -> None:
    limiter = throttle.SignInLimiter(clock=service.clock, by_address=True)
    tried = [limiter.admits("192.0.2.7", f"name {n}") for n in range(throttle.OF_NETWORK + 1)]
    assert tried == [True] * throttle.OF_NETWORK + [False]
    assert limiter.admits("198.51.100.1", "name")


@pytest.mark.slow
def test_behind_a_proxy_all_together_are_slowed_down(service: World) -> None:
    limiter = throttle.SignInLimiter(clock=service.clock, by_address=False)
    tried = [limiter.admits("127.0.0.1", f"name {n}") for n in range(throttle.OF_ALL + 1)]
    assert tried == [True] * throttle.OF_ALL + [False]


def test_a_crowd_of_guesses_leaves_threads_for_others(service: World, browser: Browser) -> None:
    with ExitStack() as crowd:
        limiter = browser.client.application.extensions[SIGN_INS]
        turns = [crowd.enter_context(limiter.turn()) for _ in range(5)]
        assert turns == [True] * throttle.AT_ONCE + [False]
        assert browser.sign_in("ana").status_code == 429
    assert browser.sign_in("ana").status_code == 303


def test_two_applications_over_one_database_know_the_same_sessions(
    service: World, browser: Browser
) -> None:
    browser.sign_in("ana")
    other = Browser.at(create_app(service.running))
    other.client.set_cookie("deniable-session", str(browser.cookie()))
    other.client.application.add_url_rule("/who", "who", require("viewer")(shown))
    assert other.client.get("/who").text == "ana analyst"
    browser.post("/sign-out")
    assert other.client.get("/who").status_code == 303


def test_the_pages_of_signing_in_hold_no_script_of_their_own_and_no_style(browser: Browser) -> None:
    page = browser.client.get("/sign-in?next=/%22%3E%3Cscript%3Ealert(1)%3C/script%3E")
    assert page.status_code == 200
    for word in ("<script>", "style=", "onclick", "http://", "https://"):
        assert word not in page.text
