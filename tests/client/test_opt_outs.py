"""Ambient opt-outs: any of them pauses, none of them wipes, doubt is a denial."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from deniable_client import Outcome, Reply
from deniable_client._state import outbox
from deniable_client.opt_outs import OptOuts, policy_files
from deniable_client.testing import Request
from support.builders.client_world import SETTINGS, Device, MakeDevice, manifest


def denial(environ: dict[str, str]) -> str | None:
    return OptOuts(environ=environ).denial()


@pytest.mark.parametrize("switch", ["DO_NOT_TRACK", "DENIABLE_DISABLE"])
@pytest.mark.parametrize("value", ["1", "true", "yes", "2"])
def test_a_switch_that_is_set_denies(switch: str, value: str) -> None:
    assert denial({switch: value}) == f"{switch} is set"


@pytest.mark.parametrize("value", ["", "0", "false", "False", " 0 "])
def test_a_switch_that_is_off_does_not_deny(value: str) -> None:
    assert denial({"DO_NOT_TRACK": value, "DENIABLE_DISABLE": value}) is None


@pytest.mark.parametrize(
    "text", ['{"disabled": true}', "{}", "", "no", "[]", '{"disabled": 0}', "[" * 100_000]
)
def test_a_policy_file_denies_unless_it_says_otherwise(tmp_path: Path, text: str) -> None:
    file = tmp_path / "policy.json"
    file.write_text(text)
    assert denial({"DENIABLE_POLICY": str(file)}) == f"the policy file {file} denies"


def test_a_policy_file_may_allow(tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    file.write_text('{"disabled": false, "note": "reviewed"}')
    assert denial({"DENIABLE_POLICY": str(file)}) is None


def test_a_policy_file_that_cannot_be_read_denies(tmp_path: Path) -> None:
    assert denial({"DENIABLE_POLICY": str(tmp_path)}) is not None


def test_a_policy_file_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert denial({"DENIABLE_POLICY": str(tmp_path / "none.json")}) is None


def test_an_allowing_policy_does_not_outweigh_a_denying_one(tmp_path: Path) -> None:
    personal = tmp_path / "deniable" / "policy.json"
    personal.parent.mkdir()
    personal.write_text('{"disabled": true}')
    allowing = tmp_path / "policy.json"
    allowing.write_text('{"disabled": false}')
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "DENIABLE_POLICY": str(allowing)}
    assert denial(environ) is not None


def test_every_platform_looks_in_the_machine_s_and_the_person_s_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    homes = {"HOME": "/home/ada", "APPDATA": r"C:\Users\ada", "DENIABLE_POLICY": "/other.json"}
    for platform in ("linux", "darwin", "win32"):
        monkeypatch.setattr(sys, "platform", platform)
        assert len(policy_files(homes)) == 3


def test_a_denial_pauses_and_its_end_resumes(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    assert client.record("settings", SETTINGS) is Outcome.DISABLED
    assert client.flush(early=True).waiting == 1
    assert device.transport.requests == []
    monkeypatch.delenv("DO_NOT_TRACK")
    assert client.flush(early=True).accepted == 1


def test_a_policy_written_while_the_app_runs_counts_at_once(
    device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "policy.json"
    monkeypatch.setenv("DENIABLE_POLICY", str(file))
    client = device.granted()
    file.write_text(json.dumps({"disabled": True}))
    assert client.record("settings", SETTINGS) is Outcome.DISABLED


def test_a_denial_between_two_reports_leaves_the_second_as_it_was(
    make_device: MakeDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = make_device(manifest("a"), manifest("b"))
    client = device.granted()
    client.record("a", SETTINGS)
    client.record("b", SETTINGS)
    answer = device.transport.answer

    def object_after_the_first(request: Request) -> Reply:
        reply = answer(request)
        if request.method == "POST":
            monkeypatch.setenv("DO_NOT_TRACK", "1")
        return reply

    device.transport.answer = object_after_the_first
    assert client.flush(early=True).waiting == 1
    with client._state.reading() as db:
        (row,) = outbox.waiting_rows(db)
    assert row.attempts == 0


def test_a_denial_in_the_middle_of_a_flush_stops_it(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    answer = device.transport.answer

    def object_now(request: Request) -> Reply:
        monkeypatch.setenv("DO_NOT_TRACK", "1")
        return answer(request)

    device.transport.answer = object_now
    assert client.flush(early=True).sent == 0
    assert len(device.transport.requests) == 1


def test_a_flush_names_the_policy_file_that_cannot_be_read(device: Device, tmp_path: Path) -> None:
    client = device.granted()
    path = tmp_path / "config" / "deniable" / "policy.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{")
    assert client.record("settings", SETTINGS) is Outcome.DISABLED
    (problem,) = client.flush().problems
    assert str(path) in str(problem)
    path.write_text('{"disabled": true}')
    assert client.flush().problems == ()
