"""Access, keys and audit without a browser: who may, what is kept, and what the audit log says."""

from __future__ import annotations

import re

import pytest

from deniable_aggregator.access import users
from deniable_aggregator.access.audit import AuditEntry, parse, verify
from support.builders.api_world import World, authored
from support.doubles.browser import Browser

PAGES = ("/access", "/keys", "/audit")
ACTS = {
    "/access": {"act": "token-made", "role": "viewer", "label": "x"},
    "/keys": {"act": "key-rotated"},
}


@pytest.fixture
def admin(service: World) -> Browser:
    return Browser.signed_in(service.app, service.running, "admin")


def entries(service: World) -> list[AuditEntry]:
    return [parse(row) for row in service.running.store.audit()]


def limited(service: World) -> Browser:
    """An admin of one collection."""
    scope = [service.register(authored()).id]
    browser = Browser.at(service.app)
    browser.use(service.running.sessions.make_link("Eve", "admin", scope, audit=None))
    return browser


def test_an_admin_of_some_collections_administers_nothing(service: World) -> None:
    browser, before = limited(service), entries(service)
    for path in PAGES:
        assert browser.client.get(path).status_code == 403
    for path, fields in ACTS.items():
        assert browser.post(path, **fields).status_code == 403
    assert entries(service) == before


@pytest.mark.parametrize("role", ["viewer", "analyst"])
def test_nobody_but_an_admin_does_anything(service: World, role: str) -> None:
    browser = Browser.signed_in(service.app, service.running, role)
    before = entries(service)
    for path, fields in ACTS.items():
        assert browser.post(path, **fields).status_code == 403
    assert entries(service) == before


def test_a_form_without_its_token_does_nothing(service: World, admin: Browser) -> None:
    before = entries(service)
    for path, fields in ACTS.items():
        assert admin.client.post(path, data=fields).status_code == 403
    assert entries(service) == before


def test_a_token_of_the_page_is_one_of_the_api_with_scope_and_expiry(
    service: World, admin: Browser
) -> None:
    here, there = service.register(authored()), service.register(authored("other"))
    form = {"act": "token-made", "role": "viewer", "label": "n", "expires_days": "7"}
    page = admin.post("/access", **form, collections=here.id).text
    service.tokens["made"] = re.findall(r"dn_[\w-]{43}", page)[0]
    assert service.get(f"/v1/collections/{here.id}/epochs", "made").status_code == 200
    assert service.get(f"/v1/collections/{there.id}/epochs", "made").status_code == 403
    service.clock.now += 8 * 86_400
    assert service.get(f"/v1/collections/{here.id}/epochs", "made").status_code == 401


@pytest.mark.slow
def test_pages_leave_the_entries_that_the_api_leaves(
    service: World, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(users, "LOG2_N", 4)  # a user is added in no time

    def acts(after: int) -> list[tuple[str, frozenset[str]]]:
        return [(each.act, frozenset(each.details)) for each in entries(service)[after:]]

    start = len(entries(service))
    for path, body in (
        ("/v1/tokens", {"role": "viewer", "label": "a"}),
        ("/v1/users", {"name": "a", "role": "viewer", "password": "p" * 12}),
        ("/v1/sign-in-links", {"name": "a", "role": "viewer"}),
        ("/v1/keys/rotate", {}),
    ):
        assert service.send("POST", path, json=body).status_code in (200, 201)
    token = service.running.tokens.list()[-1].id
    session = service.running.sessions.list()[-1].id
    service.send("DELETE", f"/v1/tokens/{token}")
    service.send("DELETE", "/v1/users/a")
    by_api = acts(start)
    start = len(entries(service))
    admin.post("/access", act="token-made", role="viewer", label="b")
    admin.post("/access", act="user-added", name="b", role="viewer", password="p" * 12)
    admin.post("/access", act="sign-in-link-made", name="b", role="viewer")
    admin.post("/keys", act="key-rotated", suite="2", now="true")
    token = service.running.tokens.list()[-1].id
    admin.post("/access", act="token-revoked", id=token)
    admin.post("/access", act="user-removed", id="b")
    assert acts(start) == by_api
    assert all(each.actor.startswith("admin (session ") for each in entries(service)[start:])
    admin.post("/access", act="session-ended", id=session)
    assert admin.client.get("/access").status_code == 303  # it was this very session
    verify(service.running.store.audit())


def test_no_secret_reaches_the_audit_log_or_the_page_s_address(
    service: World, admin: Browser
) -> None:
    made = admin.post("/access", act="token-made", role="viewer", label="n")
    secret = re.findall(r"dn_[\w-]{43}", made.text)[0]
    assert made.headers["Cache-Control"] == "no-store"
    assert secret not in admin.client.get("/access").text
    assert all(secret.encode() not in row.entry for row in service.running.store.audit())


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"act": "settings-changed"}, "Act must be one of"),
        ({"act": "token-made", "role": "viewer"}, "Must be 1 to 64"),
        ({"act": "token-made", "role": "viewer", "label": "a", "expires_days": "0"}, "1 to 3650"),
        ({"act": "token-made", "role": "viewer", "label": "a", "collections": "nix"}, "nix"),
        ({"act": "token-revoked", "id": "0" * 12}, "No token has the id"),
        ({"act": "user-added", "name": "a", "role": "viewer", "password": "short"}, "12 to 256"),
        ({"act": "user-added", "name": "a", "role": "relay", "password": "p" * 12}, "viewer, ana"),
        ({"act": "session-ended", "id": "nobody"}, "No session has the id"),
    ],
    ids=lambda each: str(each)[:40],
)
def test_what_cannot_be_done_is_refused_as_a_page_and_leaves_no_entry(
    service: World, admin: Browser, fields: dict[str, str], said: str
) -> None:
    before = entries(service)
    answer = admin.post("/access", **fields)
    assert answer.status_code in (400, 404)
    assert said in answer.text
    assert '<p class="refusal" role="alert">' in answer.text
    assert entries(service) == before


def test_a_refused_form_marks_its_field_and_keeps_what_was_written(admin: Browser) -> None:
    fields = {"act": "token-made", "role": "viewer", "label": "notebook", "expires_days": "0"}
    text = admin.post("/access", **fields).text
    assert re.search(r'<small class="wrong" id="wrong-expires_days">Must be 1 to 3650 days', text)
    assert 'name="label" maxlength="64" required autocomplete="off" value="notebook"' in text
    fields = {"act": "user-added", "name": "Ada", "role": "viewer", "password": "short"}
    text = admin.post("/access", **fields).text
    assert re.search(r'<small class="wrong" id="wrong-password">Must be 12 to 256', text)
    assert "short&#39;" not in text
    assert 'value="Ada"' in text


@pytest.mark.slow
def test_the_newest_entries_come_first_and_every_one_is_on_some_page(
    service: World, admin: Browser
) -> None:
    for number in range(60):
        service.send("POST", "/v1/tokens", json={"role": "viewer", "label": f"token {number}"})
    size = len(entries(service))
    seen: list[int] = []
    for page in range(1, 3):
        text = admin.client.get(f"/audit?page={page}").text
        seen += [int(each) for each in re.findall(r'<th scope="row">(\d+)</th>', text)]
    assert seen == list(range(size, 0, -1))


@pytest.mark.slow
def test_verify_holds_the_log_against_a_head_noted_before(service: World, admin: Browser) -> None:
    size, head = service.running.store.audit_head()
    service.send("POST", "/v1/tokens", json={"role": "viewer", "label": "later"})
    page = admin.client.get(f"/audit?verify=yes&since={size}:{head}").text
    assert "continues what you noted" in page
    other = head.replace(head[0], "0" if head[0] != "0" else "1")
    assert (
        "does not continue the one of"
        in admin.client.get(f"/audit?verify=yes&since={size}:{other}").text
    )
    assert (
        "does not continue the one of"
        in admin.client.get(f"/audit?verify=yes&since=9{size}:{head}").text
    )


def test_verify_notices_an_entry_that_was_changed(
    service: World, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    kept = service.running.store.audit
    assert "the chain is unbroken" in admin.client.get("/audit?verify=yes").text

    def changed(first: int = 0) -> list[object]:
        rows = list(kept(first))
        entry = rows[0].entry.replace(b"admin", b"Admin", 1)
        return [replace(rows[0], entry=entry), *rows[1:]]

    monkeypatch.setattr(service.running.store, "audit", changed)
    assert (
        "entry 1 of the audit log differs from the one"
        in admin.client.get("/audit?verify=yes").text
    )


@pytest.mark.slow
def test_verify_notices_that_the_end_was_cut_off(
    service: World, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.running.tick()  # heads.json takes the end down
    kept = service.running.store.audit
    monkeypatch.setattr(service.running.store, "audit", lambda first=0: list(kept(first))[:-1])
    page = admin.client.get("/audit?verify=yes").text
    assert "does not contain the end that heads.json has noted" in page
