"""Command groups: imported when they are called, with "did you mean" and exit codes.

A first-level word is one `Entry` in `cli/__init__.py`. It names a command, or a group made with
`@click.group(cls=CommandGroup)`. The module of a group adds its commands and further groups.
"""

from __future__ import annotations

import importlib
import io
import json
import re
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deniable_aggregator.client.errors import ServiceError
    from deniable_gateway.problem import Problem

FAILED = 1
NOT_READY = 75
"""EX_TEMPFAIL: the same command can succeed later."""

LATER = frozenset({"epoch-open", "too-few-reports", "too-many-requests", "unavailable"})
UNKNOWN = frozenset({"not-found", "unknown-collection"})

ADDRESS = re.compile(r"GET /v1/(?:collections/(?P<collection>[^/\s]+)/)?(?P<things>\w+)")
LIST_COMMANDS = {
    "alerts": "collections alerts list",
    "collections": "collections list",
    "links": "access links list",
    "notes": "collections notes list",
    "releases": "releases list",
    "sessions": "access sessions list",
    "tokens": "access tokens list",
    "users": "access users list",
}
"""What an address lists → the command that lists it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The module and name of a command, and its line in the list of commands."""

    module: str
    attribute: str
    summary: str


class CommandFailed(click.ClickException):
    """Ends the command with one sentence on standard error and exit code 1."""

    exit_code = FAILED


class NotReady(CommandFailed):
    """Ends the command with exit code 75: the same command can succeed later."""

    exit_code = NOT_READY


class CommandGroup(click.Group):
    """A group that suggests the nearest command for a misspelt one; so do the groups in it."""

    group_class = type

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The commands in the order they were added."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command. Raises UsageError with the nearest command if there is none."""
        word = args[0]
        is_option = word.startswith("-")
        if ctx.resilient_parsing or is_option or self.get_command(ctx, word) is not None:
            return super().resolve_command(ctx, args)
        raise click.UsageError(f"No such command {word!r:.80}.{_suggestion(ctx, word)}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first sentence of each command, without cutting it."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries(ctx)))

    def summaries(self, ctx: click.Context) -> Iterator[tuple[str, str]]:
        """Each command and what it does, in one sentence."""
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            yield name, command.get_short_help_str(limit=1_000) if command is not None else ""


class LazyGroup(CommandGroup):
    """A group whose commands are modules; listing them imports none."""

    entries: Mapping[str, Entry] = {}

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The commands in the order a person meets them."""
        return list(self.entries)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now; None if there is none of that name."""
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        command = getattr(importlib.import_module(entry.module), entry.attribute)
        return command if isinstance(command, click.Command) else None

    def summaries(self, _ctx: click.Context) -> Iterator[tuple[str, str]]:
        """The summaries from the table, so that no module is imported."""
        for name, entry in self.entries.items():
            yield name, entry.summary


class DefaultGroup(CommandGroup):
    """A group that runs its command `default` if no command is named."""

    default = ""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the default command first if no other command is named."""
        if not ctx.resilient_parsing and self._means_default(args):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def _means_default(self, args: list[str]) -> bool:
        """Whether these are options of the default command, or arguments if it takes any."""
        if not args:
            return True
        if args[0].startswith("-"):
            return args[0] not in ("-h", "--help")
        parameters = self.commands[self.default].params
        takes_arguments = any(isinstance(each, click.Argument) for each in parameters)
        return takes_arguments and args[0] not in self.commands


class MainGroup(LazyGroup):
    """The outermost group. Only here an error becomes a sentence and an exit code."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command. A known error ends it with one sentence."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # an old terminal shows "?" for "ε"
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            sentence = command_error(error)
            if sentence is None:
                raise
            raise sentence from error


def command_error(error: Exception) -> CommandFailed | None:
    """The message for the user; None for an unexpected error, which shows its traceback."""
    from deniable_aggregator.base.errors import AggregatorError
    from deniable_aggregator.client.errors import ServiceError
    from deniable_gateway.problem import Problem
    from deniable_shared.errors import DeniableError

    if isinstance(error, Problem):
        return _refusal(f"{error.type.title}: {error.detail}", error)
    if isinstance(error, ServiceError):
        return _refusal(str(error), error)
    if isinstance(error, (AggregatorError, DeniableError)):
        return failure(str(error), getattr(error, "slug", ""))
    if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
        return CommandFailed(_os_error_text(error))
    return None


def _refusal(message: str, error: Problem | ServiceError) -> CommandFailed:
    """The refusal in the words of the command line; what is unknown is named without a title."""
    if error.slug in UNKNOWN and error.detail:
        message = error.detail
    return failure(ADDRESS.sub(_list_command, message), error.slug)


def failure(message: str, slug: str) -> CommandFailed:
    """The failure with exit code 75 if the same command may succeed later, else 1."""
    return NotReady(message) if slug in LATER else CommandFailed(message)


def _list_command(address: re.Match[str]) -> str:
    command = LIST_COMMANDS.get(address["things"])
    if command is None:
        return address[0]
    return f"`{' '.join(filter(None, ('deniable', command, address['collection'])))}`"


def command_paths(
    group: click.Group, ctx: click.Context, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """The words of every group and command below a group; a group comes before its commands."""
    for name in group.list_commands(ctx):
        yield (*path, name)
        command = group.get_command(ctx, name)
        if isinstance(command, click.Group):
            yield from command_paths(command, ctx, (*path, name))


def _suggestion(ctx: click.Context, word: str) -> str:
    """The command that has this word, or its plural, in its name; else the nearest one here."""
    group = ctx.command
    if not isinstance(group, click.Group):
        return ""
    close = get_close_matches(word, group.list_commands(ctx), n=1, cutoff=0.75)
    below = [
        path
        for path in command_paths(group, ctx)
        if not {word, f"{word}s"}.isdisjoint(path[-1].split("-"))
    ]
    meant = min(below, key=len) if below else close
    return f" Did you mean '{' '.join([ctx.command_path, *meant])}'?" if meant else ""


def _os_error_text(error: OSError) -> str:
    reason = error.strerror or str(error)
    if error.filename is None:
        return reason
    return f"{json.dumps(str(error.filename), ensure_ascii=False)}: {reason}"
