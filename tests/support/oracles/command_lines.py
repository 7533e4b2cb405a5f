"""Whether a command line is one that the `deniable` command takes."""

from __future__ import annotations

import re
from pathlib import Path

import click

from deniable_aggregator.cli import main
from deniable_aggregator.cli.command_groups import DefaultGroup


def named_command(words: list[str]) -> bool:
    """Whether these words begin with those of a command or group, up to what a person fills in."""
    command: click.Command = main
    context = click.Context(main)
    for word in words:
        if not isinstance(command, click.Group) or not re.fullmatch(r"[a-z]+(-[a-z]+)*", word):
            return True
        found = command.get_command(context, word)
        if found is None:
            return isinstance(command, DefaultGroup)
        command = found
    return True


def take(page: str, words: list[str], folder: Path) -> None:
    """Parse a command line where the files that it names are. Raises ClickException if refused."""
    words = [word.removeprefix("/var/backups/deniable/") for word in words]
    for word in words:
        if word.endswith((".toml", ".csv", ".key", ".token", ".zip", ".deniable")):
            (folder / word).touch()
    command: click.Command = main
    context = click.Context(main, info_name="deniable")
    while isinstance(command, click.Group) and words:
        if isinstance(command, DefaultGroup) and words[0] not in command.commands:
            words = [command.default, *words]
        found = command.get_command(context, words[0])
        assert found is not None, f"{page}: deniable has no command {words[0]}"
        command, words = found, words[1:]
    command.make_context(command.name, list(words), parent=context)
