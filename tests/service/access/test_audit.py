"""The audit log as people see it: every act is in it, nothing secret is, and a change shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from deniable_aggregator.access import users
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.cli import main
from deniable_aggregator.operations import settings_changes
from deniable_aggregator.operations.service import Service
from deniable_aggregator.queries.access import audit_rows
from support.builders.api_world import DSSE, TODAY, World, authored, opened
from support.doubles.browser import PASSWORD, Browser
from support.processes.deniable_command import Deniable


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(users, "LOG2_N", 4)
    with opened(tmp_path) as service:
        yield service


def entries(service: World) -> list[dict[str, Any]]:
    """Those after `deniable init`'s."""
    found = service.get("/v1/audit", "admin").get_json()["entries"]
    assert isinstance(found, list)
    return found[1:]


@pytest.mark.slow
def test_every_privileged_act_has_its_entry_with_who_and_what(service: World) -> None:
    collection = service.register(authored())
    newer = authored(min_batch=4, previous=collection.manifest)
    done: dict[str, Any] = {}

    def act(name: str, method: str, path: str, **given: Any) -> Any:
        answer = service.send(method, path, **given)
        assert answer.status_code < 300, answer.text
        done[name] = path
        return answer.get_json() if answer.data else None

    made = act("token-made", "POST", "/v1/tokens", json={"role": "viewer", "label": "x"})
    act("token-revoked", "DELETE", f"/v1/tokens/{made['id']}")
    person = {"name": "ana", "role": "viewer", "password": PASSWORD}
    act("user-added", "POST", "/v1/users", json=person)
    act("sign-in-link-made", "POST", "/v1/sign-in-links", json={})
    browser = Browser.at(service.app)
    browser.sign_in("ana")
    browser.post("/sign-out")
    browser.sign_in("ana")
    [session] = service.get("/v1/sessions", "admin").get_json()["sessions"]
    act("session-ended", "DELETE", f"/v1/sessions/{session['id']}")
    act("user-removed", "DELETE", "/v1/users/ana")
    path = "/v1/collections/settings"
    signed = service.signed(newer)
    act("manifest-applied", "PUT", path, data=signed, content_type=DSSE)
    act("epoch-closed", "POST", f"{path}/epochs/{TODAY}/close?early=true")
    act("key-rotated", "POST", "/v1/keys/rotate?now=true")
    act("collection-closed", "POST", f"{path}/close")
    found = entries(service)
    assert [entry["act"] for entry in found] == [
        *("token-made", "token-revoked", "user-added", "sign-in-link-made"),
        *("sign-in", "sign-out", "sign-in", "session-ended", "user-removed"),
        *("manifest-applied", "epoch-closed", "key-rotated", "collection-closed"),
    ]
    actors = {entry["actor"].partition(" ")[0] for entry in found}
    assert actors == {"admin", "ana"}
    assert found[0]["details"] == {"token": made["id"], "role": "viewer", "label": "x"}
    assert found[2]["details"] == {"user": "ana", "role": "viewer"}
    assert found[9]["details"] == {"collection": collection.id, "version": "2"}


def test_the_second_time_nothing_is_done_and_nothing_recorded(service: World) -> None:
    service.register(authored())
    path = "/v1/collections/settings"
    for _ in range(2):
        service.send("POST", f"{path}/epochs/{TODAY}/close?early=true")
        service.send("PUT", path, data=service.signed(authored()), content_type=DSSE)
        service.send("POST", f"{path}/close")
    assert [entry["act"] for entry in entries(service)] == ["epoch-closed", "collection-closed"]


def test_what_is_refused_and_what_only_reads_is_no_act(service: World) -> None:
    service.register(authored())
    for method, path in (
        ("GET", "/v1/tokens"),
        ("GET", "/v1/ledger"),
        ("DELETE", "/v1/tokens/000000000000"),
        ("POST", "/v1/tokens"),
        ("POST", f"/v1/collections/settings/epochs/{TODAY}/close"),
    ):
        service.send(method, path)
    assert entries(service) == []


def test_no_entry_holds_a_token_a_password_a_cookie_or_an_address(service: World) -> None:
    secrets = [PASSWORD]
    made = service.send("POST", "/v1/tokens", json={"role": "viewer", "label": "x"}).get_json()
    link = service.send("POST", "/v1/sign-in-links", json={}).get_json()["path"]
    service.send("POST", "/v1/users", json={"name": "ana", "role": "viewer", "password": PASSWORD})
    browser = Browser.at(service.app)
    browser.sign_in("ana")
    secrets += [made["token"], link.partition("=")[2], str(browser.cookie())]
    written = json.dumps(entries(service))
    assert not [secret for secret in [*secrets, "127.0.0.1"] if secret in written]


def test_pages_of_the_log_follow_each_other(service: World) -> None:
    for number in range(5):
        body = {"role": "viewer", "label": str(number)}
        service.send("POST", "/v1/tokens", json=body)
    whole = service.get("/v1/audit", "admin").get_json()
    rest = service.get("/v1/audit?from=4", "admin").get_json()
    assert whole["size"] == 6
    assert rest["entries"] == whole["entries"][4:]
    assert whole["entries"][-1]["head"] == whole["head"]


@pytest.mark.slow
def test_a_change_of_settings_is_recorded_once_without_secrets(tmp_path: Path) -> None:
    with opened(tmp_path) as service:
        settings = service.running.settings
    for days, secret in ((90, ""), (90, ""), (30, ""), (30, "hidden"), (30, "hidden")):
        changed = Settings(data=settings.data, rotate_keys_days=days, oidc_client_secret=secret)
        reopened = Service.open(changed)
        settings_changes.record(reopened.store, changed, reopened.clock())
        rows = [row.entry.decode() for row in audit_rows(reopened.store)]
        reopened.close()
    assert sum('"settings-changed"' in row for row in rows) == 3
    assert not any("hidden" in row for row in rows)


@pytest.fixture
def deniable(tmp_path: Path) -> Deniable:
    command = Deniable(tmp_path)
    command.prepare()
    return command


@pytest.mark.slow
def test_the_command_shows_acts_and_says_that_the_chain_holds(deniable: Deniable) -> None:
    deniable.done("access", "tokens", "new", "--role", "viewer", "--label", "Grafana")
    shown = deniable.done("access", "audit")
    assert "token-made" in shown
    assert "deniable init" in shown
    found = deniable.json("access", "audit", "--verify")
    assert found["size"] == 2
    noted = f"{found['size']}:{found['head']}"
    assert noted in deniable.done("access", "audit", "--verify")
    deniable.done("access", "tokens", "new", "--role", "viewer", "--label", "more")
    assert deniable.json("access", "audit", "--verify", "--since", noted)["size"] == 3


@pytest.mark.slow
@pytest.mark.parametrize("noted", ["1:" + "0" * 64, "9:" + "0" * 64, "x", "-1:", ""])
def test_the_command_refuses_a_log_that_is_not_the_noted_one(
    deniable: Deniable, noted: str
) -> None:
    said = deniable.refused("access", "audit", "--verify", "--since", noted)
    assert "does not continue the one of" in said


def test_a_label_that_looks_like_a_line_of_the_log_is_shown_on_its_own(
    deniable: Deniable,
) -> None:
    said = deniable.refused(
        "access", "tokens", "new", "--role", "viewer", "--label", "x\n2027 forged"
    )
    assert "label" in said


@pytest.mark.slow
def test_people_are_added_listed_and_removed_by_the_command(
    deniable: Deniable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(users, "LOG2_N", 4)
    run = CliRunner(env=deniable.environ)
    arguments = ["access", "users", "add", "ana", "--role", "analyst", "--password-stdin"]
    done = run.invoke(main, arguments, input=f"{PASSWORD}\n")
    assert (done.exit_code, done.output) == (
        0,
        "Added ana, who may sign in at /sign-in as analyst\n",
    )
    (deniable.folder / "password").write_text(f"{PASSWORD}\n")
    from_file = [*arguments[:3], "eva", *arguments[4:-1], "--password-file"]
    assert run.invoke(main, [*from_file, str(deniable.folder / "password")]).exit_code == 0
    assert run.invoke(main, [*from_file, "-", "--password-stdin"]).exit_code == 2
    assert deniable.done("access", "users", "remove", "eva", "--yes") == "Removed eva\n"
    unasked = run.invoke(main, arguments[:-1], input="")
    assert unasked.exit_code == 2
    assert "give --password-file or --password-stdin" in unasked.output
    asked = run.invoke(main, arguments[:-1], input="short\nshort\n")
    assert asked.exit_code == 1
    again = run.invoke(main, arguments, input=f"{PASSWORD}\n")
    assert "there is already a user 'ana'" in again.output
    [row] = deniable.json("access", "users", "list")["users"]
    assert (row["name"], row["role"]) == ("ana", "analyst")
    assert deniable.done("access", "users", "remove", "ana", "--yes") == "Removed ana\n"
    assert deniable.json("access", "users", "list")["users"] == []


@pytest.mark.slow
def test_a_link_of_the_command_leads_to_the_sign_in_page(deniable: Deniable) -> None:
    made = deniable.json("access", "users", "link", "Ana", "--role", "viewer")
    assert made["address"] == "http://127.0.0.1:8000" + made["path"]
    assert made["path"].startswith("/sign-in?link=")
    assert deniable.json("access", "sessions", "list") == {"sessions": []}
    deniable.refused("access", "sessions", "end", "000000000000")
