"""Help: every command says what it does and shows an example, and listing them is fast."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from deniable_aggregator.cli import main
from deniable_aggregator.cli.command_groups import LazyGroup, command_paths
from deniable_aggregator.releases.kinds import RELEASE_KINDS

HEAVY = (
    *("cryptography", "flask", "granian", "httpx", "msgspec", "numpy", "rich", "sqlite3"),
    "sqlite_utils",
)
READING = (
    *("access audit", "collections list", "collections epochs list", "estimates", "ledger show"),
    *("releases list", "access tokens"),
)


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


@pytest.mark.slow
def test_every_command_explains_itself_with_an_example() -> None:
    silent = []
    for path in commands(main):
        shown = CliRunner().invoke(main, [*path, "--help"])
        example = shown.output.partition("Example:")[2]
        if shown.exit_code != 0 or f"  deniable {' '.join(path)}" not in example:
            silent.append(path)
    assert silent == []


PLACES = [(), *command_paths(main, click.Context(main))]


@pytest.mark.slow
def test_help_fits_80_columns_and_is_as_wide_as_columns_says() -> None:
    for path in PLACES:
        pages = {
            columns: CliRunner(env={"COLUMNS": str(columns)})
            .invoke(main, [*path, "--help"], prog_name="deniable")
            .stdout.splitlines()
            for columns in (80, 90)
        }
        for columns, lines in pages.items():
            assert [line for line in lines if len(line) > columns] == [], path
        assert pages[80] != pages[90] or max(map(len, pages[90])) <= 80, path


@pytest.mark.parametrize("group", [main], ids=["deniable"])
def test_the_list_of_commands_says_what_each_command_says_first(group: LazyGroup) -> None:
    context = click.Context(group)
    for name, entry in group.entries.items():
        command = group.get_command(context, name)
        assert command is not None
        assert (command.help or "").startswith(entry.summary)


def test_the_commands_are_those_of_the_design() -> None:
    assert set(commands(main)) == {
        *(("demo",), ("init",), ("serve",), ("plan",)),
        *(("estimates",), ("compare",)),
        *(("collections", verb) for verb in ("new", "lint", "apply", "list", "export", "codegen")),
        *(("collections", verb) for verb in ("close", "archive", "delete")),
        *(("collections", "epochs", verb) for verb in ("list", "close")),
        *(("releases", verb) for verb in ("list", "show", "ask")),
        *(("releases", verb, kind) for verb in ("quote", "make") for kind in RELEASE_KINDS),
        *(("ledger", verb) for verb in ("show", "reconcile")),
        *(("keys", verb) for verb in ("list", "rotate", "delegate")),
        *(("keys", "vouchers", verb) for verb in ("show", "issue", "replace")),
        *(("access", "tokens", verb) for verb in ("new", "list", "revoke")),
        *(("access", "links", verb) for verb in ("new", "list", "end")),
        *(("collections", "alerts", verb) for verb in ("new", "list", "end")),
        *(("collections", "notes", verb) for verb in ("add", "list", "remove")),
        *(("access", "users", verb) for verb in ("add", "list", "remove", "link")),
        *(("access", "sessions", verb) for verb in ("list", "end")),
        ("access", "audit"),
        *(("store", verb) for verb in ("backup", "restore", "migrate")),
        *(("spool", verb) for verb in ("drain", "tally", "status")),
        *(("relay", verb) for verb in ("serve", "status")),
        *(("doctor", verb) for verb in ("check", "verify-log", "confirm-clock")),
    }


@pytest.mark.slow
def test_help_loads_nothing_heavy() -> None:
    """One process asks for all of it; what the first one to load something loads is named."""
    asked = [["--help"], ["--version"], *([*command.split(), "--help"] for command in READING)]
    code = (
        "import sys\nfrom deniable_aggregator.cli import main\n"
        f"for arguments in {asked!r}:\n"
        "    main(arguments, standalone_mode=False)\n"
        f"    print('\\nLOADED', arguments, sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = [line for line in answer.stdout.splitlines() if line.startswith("LOADED ")]
    assert loaded == [f"LOADED {arguments} []" for arguments in asked]


def test_an_unknown_command_is_wrong_usage() -> None:
    answer = CliRunner().invoke(main, ["estimate"])
    assert answer.exit_code == 2
    assert answer.stdout == ""


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("estimate", "estimates"),
        ("release", "releases"),
        ("collection", "collections"),
        ("collections lst", "collections list"),
        ("collections epoch", "collections epochs"),
        ("access token", "access tokens"),
        ("access tokens creat", None),
        ("keys rotat", "keys rotate"),
        ("releases make histogrm", "releases make histogram"),
        ("releases histogram", "releases quote histogram"),
        ("relay sttus", "relay status"),
        ("doctor verify-lgo", "doctor verify-log"),
        ("tokens", "access tokens"),
        ("token", "access tokens"),
        ("user", "access users"),
        ("simulate", None),
        ("loadgen", None),
        ("tokens new --role viewer", "access tokens"),
        ("users", "access users"),
        ("audit --verify", "access audit"),
        ("epochs list settings", "collections epochs"),
        ("vouchers", "keys vouchers"),
        ("tally --spool x", "spool tally"),
        ("log verify", "doctor verify-log"),
        ("clock confirm", "doctor confirm-clock"),
        ("xyzzy", None),
    ],
)
def test_an_unknown_command_names_the_one_that_is_meant(words: str, meant: str | None) -> None:
    answer = CliRunner().invoke(main, words.split(), prog_name="deniable")
    assert answer.exit_code == 2
    [*_, said] = answer.stderr.strip().splitlines()
    assert said.startswith("Error: No such command ")
    assert said.partition("Did you mean ")[2] == (f"'deniable {meant}'?" if meant else "")


def test_a_default_command_is_meant_by_its_options_and_arguments_alone() -> None:
    words = ["relay", "--colour"]
    assert "relay serve --help" in CliRunner().invoke(main, words).output
    assert "verify-log" in CliRunner().invoke(main, ["doctor", "--help"]).output
    assert CliRunner().invoke(main, ["doctor", "--colour"]).exit_code == 2


@pytest.mark.parametrize("kind", RELEASE_KINDS)
def test_the_example_of_a_kind_of_release_is_one_command_line(kind: str) -> None:
    """A value with a space is quoted, so the command takes every word."""
    shown = CliRunner().invoke(main, ["releases", "make", kind, "--help"]).output
    line = shown.partition("Example:")[2].replace("\\\n", " ")
    words = shlex.split(line)
    assert words[:4] == ["deniable", "releases", "make", kind]
    given = dict(zip(words[5::2], words[6::2], strict=True))
    assert all(name.startswith("--") for name in given)
    assert not any(value.startswith("--") for value in given.values())


def test_no_option_shows_an_empty_default() -> None:
    shown = CliRunner().invoke(main, ["releases", "make", "top-k", "--help"]).output
    assert "[default: ]" not in " ".join(shown.split())
