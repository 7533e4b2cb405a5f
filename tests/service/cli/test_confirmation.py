"""What cannot be undone is asked about on a terminal, and needs --yes everywhere else."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import pytest

from deniable_aggregator.cli.command_groups import CommandFailed
from deniable_aggregator.cli.terminal import require_yes
from support.processes.deniable_command import Deniable
from support.tiers import rows

IRREVERSIBLE: Sequence[Sequence[str]] = [
    ("collections", "epochs", "close", "settings", "--epoch", "20000"),
    ("collections", "close", "settings"),
    ("collections", "delete", "settings"),
    ("keys", "rotate", "--now"),
    ("access", "users", "remove", "ana"),
    ("keys", "vouchers", "replace", "settings"),
]


class Input(io.StringIO):
    def __init__(self, text: str, *, terminal: bool) -> None:
        super().__init__(text)
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.fixture(scope="module")
def deniable(tmp_path_factory: pytest.TempPathFactory) -> Deniable:
    command = Deniable(tmp_path_factory.mktemp("confirming"))
    command.prepare()
    path = command.write("settings.toml")
    command.done("collections", "apply", path, "--key", command.key)
    return command


def state(deniable: Deniable) -> list[object]:
    """Everything that one of the commands would change."""
    asked = (
        ("collections", "list"),
        ("keys", "list"),
        ("access", "users", "list"),
        ("access", "audit"),
    )
    return [deniable.json(*command) for command in asked]


@pytest.mark.slow
def test_without_a_terminal_and_without_yes_nothing_is_done(deniable: Deniable) -> None:
    """None of the commands undoes what another one did, so one look at the end sees all of it."""
    before = state(deniable)
    for command in IRREVERSIBLE:
        said = deniable.refused(*command)
        assert said.startswith("This "), command
        assert said.endswith("add --yes to do it"), command
    assert state(deniable) == before


def test_the_next_key_is_made_without_a_question(deniable: Deniable) -> None:
    assert "is used from" in deniable.done("keys", "rotate")


@pytest.mark.parametrize(("typed", "agreed"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_on_a_terminal_only_y_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, agreed: bool
) -> None:
    monkeypatch.setattr(sys, "stdin", Input(typed, terminal=True))
    if agreed:
        require_yes("This ends it", yes=False)
    else:
        with pytest.raises(click.Abort):
            require_yes("This ends it", yes=False)
    assert "This ends it. This cannot be undone. Continue? [y/N]" in capsys.readouterr().err


def test_a_pipe_that_says_y_is_no_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Input("y\n", terminal=False))
    with pytest.raises(CommandFailed, match="add --yes"):
        require_yes("This ends it", yes=False)


def test_yes_asks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Input("", terminal=True))
    require_yes("This ends it", yes=True)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("typed", "state"),
    rows([(b"n\n", "open"), (b"y\n", "closed")], by_default=[(b"y\n", "closed")]),
)
def test_a_person_at_a_real_terminal_is_asked(tmp_path: Path, typed: bytes, state: str) -> None:
    deniable = Deniable(tmp_path)
    deniable.prepare()
    path = deniable.write("settings.toml")
    deniable.done("collections", "apply", path, "--key", deniable.key)
    person, terminal = pty.openpty()
    os.write(person, typed)
    command = [sys.executable, "-m", "deniable_aggregator", "collections", "close", "settings"]
    ended = subprocess.run(
        command, stdin=terminal, capture_output=True, env=deniable.process_environ(), timeout=300
    )
    for each in (person, terminal):
        os.close(each)
    assert b"Continue?" in ended.stderr
    assert ended.returncode == (0 if state == "closed" else 1)
    [listed] = deniable.json("collections", "list")["collections"]
    assert (listed["state"] == "closed") == (state == "closed")
