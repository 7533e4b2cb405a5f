"""`status()` names every reason for silence, truthfully; none of them wipes what waits."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from deniable_client import Ceiling, Client, Outcome, opt_outs
from deniable_client.opt_outs import CI_MARKERS, OFF, ON, OptOuts
from deniable_client.testing import RecordingTransport
from support.builders.client_world import (
    CEILING,
    DAY,
    SETTINGS,
    START,
    URL,
    Operator,
    manifest,
    successor,
)


@dataclass
class InstalledApp:
    """One device, and the environment that its app passes on."""

    operator: Operator
    folder: Path
    environ: dict[str, str] = field(default_factory=dict)
    now: float = START

    def open(self, **changes: Any) -> Client:
        given: dict[str, Any] = {
            "url": URL,
            "trust": self.operator.trust,
            "manifests": [self.operator.sign(manifest())],
            "state": self.folder / "state.db",
            "ceiling": CEILING,
            "app": "my-app",
            "environ": self.environ,
            "transport": RecordingTransport(),
            "clock": lambda: self.now,
            "background": False,
        }
        return Client(**(given | changes))

    def policy(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


@pytest.fixture
def installed(operator: Operator, tmp_path: Path) -> InstalledApp:
    """A person agreed, and one report waits."""
    installed = InstalledApp(operator, tmp_path)
    with installed.open() as client:
        client.consent("granted")
        assert client.record("settings", SETTINGS) is Outcome.QUEUED
    return installed


def set_to(**environ: str) -> Callable[[InstalledApp], Client]:
    def prepared(installed: InstalledApp) -> Client:
        installed.environ |= environ
        return installed.open()

    return prepared


def after_saying(answer: str) -> Callable[[InstalledApp], Client]:
    def prepared(installed: InstalledApp) -> Client:
        client = installed.open(state=installed.folder / "other.db")
        if answer:
            client.consent(answer)
        return client

    return prepared


def with_policy(name: str, text: str, **environ: str) -> Callable[[InstalledApp], Client]:
    def prepared(installed: InstalledApp) -> Client:
        installed.policy(name, text)
        installed.environ |= {each: str(installed.folder / path) for each, path in environ.items()}
        return installed.open()

    return prepared


def forked(installed: InstalledApp) -> Client:
    """The operator signs one version twice."""
    client = installed.open()
    other = successor(manifest(), purpose='"Another?"')
    again = successor(manifest(), purpose='"Yet another?"')
    client.close()
    installed.open(manifests=[installed.operator.sign(other)]).close()
    return installed.open(manifests=[installed.operator.sign(again)])


def closed(installed: InstalledApp) -> Client:
    client = installed.open()
    client.close()
    return client


def damaged(installed: InstalledApp) -> Client:
    (installed.folder / "state.db").write_bytes(b"not a database" * 1_000)
    return installed.open()


def years_later(installed: InstalledApp) -> Client:
    installed.now += 3 * 365 * DAY
    return installed.open()


CASES: dict[str, tuple[Callable[[InstalledApp], Client], str, str]] = {
    "nobody asked": (after_saying(""), "not-asked", "you were not asked yet"),
    "the person said no": (after_saying("denied"), "declined", "you said no"),
    "DO_NOT_TRACK": (set_to(DO_NOT_TRACK="1"), "do-not-track", "DO_NOT_TRACK is set"),
    "DENIABLE_DISABLE": (
        set_to(DENIABLE_DISABLE="yes"),
        "deniable-disable",
        "DENIABLE_DISABLE is set",
    ),
    "the app's switch": (set_to(MY_APP_TELEMETRY="off"), "app-switch", "MY_APP_TELEMETRY says off"),
    "the app's switch misspelt": (
        set_to(MY_APP_TELEMETRY="offf"),
        "app-switch",
        "MY_APP_TELEMETRY is neither on nor off",
    ),
    "a build server": (
        set_to(GITHUB_ACTIONS="true"),
        "ci",
        "this is a build server: GITHUB_ACTIONS is set",
    ),
    "the machine's policy": (
        with_policy("machine.json", '{"disabled": true}'),
        "policy",
        "machine.json denies",
    ),
    "the person's policy": (
        with_policy("config/deniable/policy.json", "{}", XDG_CONFIG_HOME="config"),
        "policy",
        "config/deniable/policy.json denies",
    ),
    "a policy that is no JSON": (
        with_policy("policy.json", "{", DENIABLE_POLICY="policy.json"),
        "policy-unreadable",
        "policy.json denies",
    ),
    "an app that is built wrongly": (
        lambda installed: installed.open(trust="ed25519:short"),
        "misconfigured",
        "the app is configured wrongly (trust must be",
    ),
    "a state file that is damaged": (damaged, "storage", "the state file is damaged"),
    "an operator who contradicts himself": (
        forked,
        "log-forked",
        "the operator contradicted itself",
    ),
    "a client that was closed": (closed, "closed", "the app has closed it"),
    "no question now": (years_later, "no-questions", "this app asks nothing now"),
    "an app that allows less than its questions cost": (
        lambda installed: installed.open(ceiling=Ceiling("0.1", "0.1", "0.1")),
        "over-ceiling",
        "its questions cost more privacy than this app allows",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_reason_for_silence_is_named_and_wipes_nothing(
    installed: InstalledApp, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = str(installed.folder / "machine.json")
    monkeypatch.setattr(opt_outs, "_machine_file", lambda environ: machine)
    prepared, reason, text = CASES[case]
    with prepared(installed) as client:
        status = client.status()
        assert [each.reason for each in status.silences] == [reason]
        assert text in status.text
        assert not status.on
        assert status.to_json()["reasons"] == [reason]
        assert client.record("settings", SETTINGS) is not Outcome.QUEUED
        assert status.may_ask == (reason == "not-asked")
    monkeypatch.undo()
    if case != "a state file that is damaged":
        with InstalledApp(installed.operator, installed.folder).open() as client:
            assert client.health().waiting == 1


def test_with_nothing_against_it_telemetry_is_on(installed: InstalledApp) -> None:
    with installed.open() as client:
        assert (client.status().on, client.status().text) == (True, "Telemetry is on: you agreed.")
        assert not client.status().may_ask


def test_all_reasons_are_named_at_once(installed: InstalledApp) -> None:
    installed.environ |= {"DO_NOT_TRACK": "1", "CI": "1", "MY_APP_TELEMETRY": "0"}
    with installed.open() as client:
        client.consent("denied")
        reasons = [each.reason for each in client.status().silences]
    assert reasons == ["declined", "do-not-track", "app-switch", "ci"]


def test_a_denial_that_could_not_be_written_down_holds(installed: InstalledApp) -> None:
    with installed.open() as client:
        client._gate.vetoed = True
        assert client.status().consent == "denied"


@pytest.mark.parametrize("value", ON)
def test_a_switch_that_says_on_is_not_consent(installed: InstalledApp, value: str) -> None:
    installed.environ["MY_APP_TELEMETRY"] = value
    with installed.open(state=":memory:") as client:
        assert [each.reason for each in client.status().silences] == ["not-asked"]
        assert client.record("settings", SETTINGS) is Outcome.NO_CONSENT


@pytest.mark.parametrize("value", [*OFF, "OFF", " no ", "maybe"])
def test_every_other_value_of_the_switch_pauses(value: str) -> None:
    assert OptOuts("my-app", {"MY_APP_TELEMETRY": value}).denial() is not None


@pytest.mark.parametrize("marker", CI_MARKERS)
def test_every_marker_of_a_build_server_pauses(marker: str) -> None:
    assert OptOuts(environ={marker: "true"}).denials()[0].reason == "ci"
    assert OptOuts(environ={marker: "false"}).denials() == ()


def test_a_build_server_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ambient = OptOuts()
    monkeypatch.setenv("CI", "true")
    assert ambient.denial() is None
    assert OptOuts().denial() == "this is a build server: CI is set"


def test_an_environment_of_its_own_shuts_the_machine_s_out(
    installed: InstalledApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CI", "DO_NOT_TRACK"):
        monkeypatch.setenv(name, "1")
    with installed.open(environ={}) as client:
        assert client.status().on
    with installed.open(environ=None) as client:
        assert len(client.status().silences) == 2


def test_the_tests_are_run_as_if_on_nobodys_build_server() -> None:
    assert [marker for marker in CI_MARKERS if marker in os.environ] == []


def test_the_status_prints_as_its_sentence(installed: InstalledApp) -> None:
    with installed.open() as client:
        assert str(client.status()) == "Telemetry is on: you agreed."


def test_the_status_is_plain_json(installed: InstalledApp) -> None:
    with installed.open() as client:
        assert json.loads(json.dumps(client.status().to_json()))["on"] is True


def test_a_file_that_cannot_be_written_is_a_reason_until_it_can(
    installed: InstalledApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mode of 0400 does the same, but not for root."""
    with after_saying("granted")(installed) as client:
        assert client.status().on
        with client._state.reading() as db:
            db.execute("PRAGMA query_only = ON")
        assert client.record("settings", SETTINGS) is Outcome.STORAGE_BUSY
        [silence] = client.status().silences
        said = f"the state file {installed.folder / 'other.db'} cannot be written: "
        assert silence.reason == "storage"
        assert silence.text == said + "attempt to write a readonly database"
        assert not client.health().ok
        problem = client.flush().problems[0]
        assert f"{installed.folder / 'other.db'} is not usable now" in str(problem)
        with client._state.reading() as db:
            db.execute("PRAGMA query_only = OFF")
        assert client.record("settings", SETTINGS) is Outcome.QUEUED
        assert client.status().on


def test_a_full_disk_is_a_reason_until_there_is_space(installed: InstalledApp) -> None:
    with after_saying("granted")(installed) as client:
        assert client.status().on
        with client._state.reading() as db:
            db.execute("PRAGMA max_page_count = 1")  # SQLite takes the present size instead
            db.execute(
                "CREATE TEMP TRIGGER grow AFTER INSERT ON outbox BEGIN"
                " UPDATE installation SET log_head = hex(zeroblob(100000)); END"
            )
        assert client.record("settings", SETTINGS) is Outcome.STORAGE_BUSY
        assert "database or disk is full" in client.status().text
        with client._state.reading() as db:
            db.execute("DROP TRIGGER grow")
        assert client.record("settings", SETTINGS) is Outcome.QUEUED
        assert client.status().on


def test_a_file_that_another_process_holds_for_a_moment_is_no_reason(
    installed: InstalledApp,
) -> None:
    with after_saying("granted")(installed) as client:
        client._load_collections()
        with client._state.reading() as db:
            db.execute("PRAGMA busy_timeout = 0")
        other = sqlite3.connect(installed.folder / "other.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert client.record("settings", SETTINGS) is Outcome.STORAGE_BUSY
        other.execute("ROLLBACK")
        other.close()
        assert client.status().on
