"""Help: every command says what it does and shows an example, and listing them is fast."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from deniable_aggregator.cli import main
from deniable_aggregator.cli.command_groups import LazyGroup

HEAVY = (
    *("cryptography", "flask", "granian", "httpx", "msgspec", "numpy", "rich", "sqlite3"),
    "sqlite_utils",
)
READING = ("audit", "collections", "epochs", "estimates", "ledger", "releases", "tokens")


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


@pytest.mark.parametrize("path", list(commands(main)), ids=" ".join)
def test_every_command_explains_itself_with_an_example(path: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(main, [*path, "--help"])
    assert shown.exit_code == 0
    assert f"  deniable {' '.join(path)}" in shown.output.partition("Example:")[2]


@pytest.mark.parametrize("group", [main], ids=["deniable"])
def test_the_list_of_commands_says_what_each_command_says_first(group: LazyGroup) -> None:
    context = click.Context(group)
    for name, entry in group.entries.items():
        command = group.get_command(context, name)
        assert command is not None
        assert (command.help or "").startswith(entry.summary)


def test_the_commands_are_those_of_the_design() -> None:
    assert set(commands(main)) == {
        *(
            ("demo",),
            ("init",),
            ("serve",),
            ("estimates",),
            ("doctor",),
        ),
        *(
            ("collections", verb)
            for verb in (
                "new",
                "lint",
                "apply",
                "export",
                "list",
                "close",
                "archive",
                "delete",
                "codegen",
            )
        ),
        *(("epochs", verb) for verb in ("list", "close")),
        *(("keys", verb) for verb in ("list", "rotate", "delegate")),
        *(("release",), ("releases",), ("ledger", "show"), ("ledger", "reconcile")),
        *(("backup",), ("restore",), ("copy-store",), ("migrate",)),
        ("plan",),
        ("tally",),
        *(("open",), ("relay", "serve"), ("relay", "status")),
        ("loadgen",),
        ("log", "verify"),
        ("clock", "confirm"),
        *(("users", verb) for verb in ("add", "list", "remove", "link")),
        *(("sessions", verb) for verb in ("list", "end")),
        ("audit",),
        *(("vouchers", verb) for verb in ("key", "issue", "replace")),
        *(("tokens", verb) for verb in ("new", "list", "revoke")),
    }


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], *([command, "--help"] for command in READING)], ids=str
)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom deniable_aggregator.cli import main\n"
        f"main({arguments!r}, standalone_mode=False)\n"
        f"print('LOADED', sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.rstrip().endswith("LOADED []")


def test_an_unknown_command_is_wrong_usage() -> None:
    answer = CliRunner().invoke(main, ["estimate"])
    assert answer.exit_code == 2
    assert answer.stdout == ""
