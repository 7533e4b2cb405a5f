"""Read-only links: one collection, for a time, in no log, ended at once."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from deniable_aggregator.access.sessions import SESSION_SECONDS
from deniable_aggregator.collections.registry import Collection
from support.builders.api_world import DAY, TODAY, World, authored
from support.doubles.browser import Browser


@pytest.fixture
def link_target(service: World) -> Collection:
    collection = service.register(authored("settings"))
    service.register(authored("other"))
    answer = {"dark_mode": True, "beta": True}
    service.count(collection, [answer] * 20, epoch=TODAY)
    return collection


def made(service: World, collection: Collection, **body: object) -> dict[str, str]:
    path = f"/v1/collections/{collection.name}/links"
    answer = service.send("POST", path, "admin", json={"label": "Board", **body})
    assert answer.status_code == 201, answer.text
    document = answer.get_json()
    assert isinstance(document, dict)
    return document


def opened(service: World, path: str) -> Browser:
    """A browser that followed a link, as our script does."""
    browser = Browser.at(service.app)
    page, _, secret = path.partition("#")
    answer = browser.post(page, secret=secret)
    assert answer.status_code == 303, answer.text
    return browser


def status(browser: Browser, path: str) -> int:
    return browser.client.get(path).status_code


@pytest.mark.slow
def test_a_link_reads_its_collection_and_no_other_and_changes_nothing(
    service: World, link_target: Collection
) -> None:
    browser = opened(service, made(service, link_target)["path"])
    assert status(browser, f"/collections/{link_target.id}") == 200
    assert status(browser, "/collections/other") == 404
    assert "other" not in browser.client.get("/").text.split("<main")[1]
    assert status(browser, f"/collections/{link_target.id}/share") == 403
    assert status(browser, "/access") == 403
    answer = browser.client.post(f"/collections/{link_target.id}/releases", data={})
    assert answer.status_code == 403


def test_the_secret_is_behind_the_hash_and_its_sha_256_is_all_that_is_kept(
    service: World, link_target: Collection, caplog: pytest.LogCaptureFixture
) -> None:
    document = made(service, link_target)
    page, _, secret = document["path"].partition("#")
    assert page == "/shared"
    assert secret
    with caplog.at_level("DEBUG"):
        opened(service, document["path"])
    assert secret not in caplog.text
    with closing(sqlite3.connect(service.running.settings.database)) as db:
        assert not [line for line in db.iterdump() if secret in line]
    assert secret not in service.get("/v1/audit", "admin").text
    listed = service.get(f"/v1/collections/{link_target.id}/links", "admin")
    assert secret not in listed.text
    assert [each["label"] for each in listed.get_json()["links"]] == ["Board"]
    assert service.get("/shared", None).headers["Referrer-Policy"] == "no-referrer"


def test_an_ended_link_ends_who_reads_with_it(service: World, link_target: Collection) -> None:
    document = made(service, link_target)
    browser = opened(service, document["path"])
    path = f"/v1/collections/{link_target.id}/links/{document['id']}"
    assert service.send("DELETE", path, "admin").status_code == 204
    assert status(browser, f"/collections/{link_target.id}") == 303
    again = Browser.at(service.app).post("/shared", secret=document["path"].partition("#")[2])
    assert again.status_code == 410
    assert "ended" in again.text


@pytest.mark.slow
def test_a_link_and_its_sessions_expire(service: World, link_target: Collection) -> None:
    document = made(service, link_target, expires_days=1)
    service.clock.now += DAY - 60
    browser = opened(service, document["path"])
    service.clock.now += 59
    assert status(browser, f"/collections/{link_target.id}") == 200
    service.clock.now += 1
    assert status(browser, f"/collections/{link_target.id}") == 303
    assert SESSION_SECONDS > 60


def test_making_opening_and_ending_are_in_the_audit_log(
    service: World, link_target: Collection
) -> None:
    document = made(service, link_target)
    opened(service, document["path"])
    service.send("DELETE", f"/v1/collections/{link_target.id}/links/{document['id']}", "admin")
    entries = service.get("/v1/audit", "admin").get_json()["entries"][-3:]
    assert [each["act"] for each in entries] == ["read-link-made", "sign-in", "read-link-ended"]
    assert entries[1]["details"]["via"] == f"shared {document['id']}"
    sessions = service.get("/v1/sessions", "admin").get_json()["sessions"]
    assert document["id"] not in str(sessions)


@pytest.mark.parametrize("role", ["viewer", "analyst", "admin", "relay", "metrics"])
def test_no_token_but_a_link_opens_a_page(
    service: World, link_target: Collection, role: str
) -> None:
    answer = Browser.at(service.app).post("/shared", secret=service.tokens[role])
    assert answer.status_code == 410


def test_who_may_read_it_anyway_goes_on_as_before(service: World, link_target: Collection) -> None:
    browser = Browser.signed_in(service.app, service.running, "analyst")
    before = browser.cookie()
    secret = made(service, link_target)["path"].partition("#")[2]
    answer = browser.post("/shared", secret=secret)
    assert answer.headers["Location"].endswith(f"/collections/{link_target.id}")
    assert browser.cookie() == before


@pytest.mark.slow
def test_an_analyst_sees_links_and_an_administrator_makes_and_ends_them(
    service: World, link_target: Collection
) -> None:
    page = f"/collections/{link_target.id}/share"
    admin, analyst = (
        Browser.signed_in(service.app, service.running, role) for role in ("admin", "analyst")
    )
    fields = {"act": "read-link-made", "label": "Board", "expires_days": "3"}
    shown = admin.post(page, **fields)
    assert "/shared#dn_" in shown.text
    assert "/shared#" not in admin.client.get(page).text
    token = analyst.form_token()
    refused = analyst.client.post(page, data={"csrf_token": token, **fields})
    assert refused.status_code == 403
    assert "Board" in analyst.client.get(page).text
    [link] = service.running.tokens.read_links(link_target.id)
    assert admin.post(page, act="read-link-ended", id=link.id).status_code == 303
    assert "ended" in admin.client.get(page).text
    wrong = admin.post(page, **{**fields, "expires_days": "400"})
    assert "1 to 365" in wrong.text


def test_of_links_one_cannot_end_those_of_another_collection(
    service: World, link_target: Collection
) -> None:
    document = made(service, link_target)
    answer = service.send("DELETE", f"/v1/collections/other/links/{document['id']}", "admin")
    assert answer.status_code == 404
    assert service.running.tokens.read_links(link_target.id)[0].revoked is None
