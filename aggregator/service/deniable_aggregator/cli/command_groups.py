"""Command groups: imported when they are called, with "did you mean" and exit codes.

A first-level word is one `Entry` in `cli/__init__.py`. What it names is a command, or a group made
with `@click.group(cls=CommandGroup)` to which its module adds commands and further groups.
"""

from __future__ import annotations

import importlib
import io
import json
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FAILED = 1
NOT_READY = 75
"""EX_TEMPFAIL: nothing is wrong, the same command can succeed later."""

LATER = frozenset({"epoch-open", "too-few-reports", "too-many-requests", "unavailable"})


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command lives, and its line in the list of commands."""

    module: str
    attribute: str
    summary: str


class CommandFailed(click.ClickException):
    """Shown as one sentence on standard error; exit code 1."""

    exit_code = FAILED


class NotReady(CommandFailed):
    """Exit code 75."""

    exit_code = NOT_READY


class CommandGroup(click.Group):
    """A group that says which command may have been meant; so do the groups in it."""

    group_class = type

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The commands in the order they were added."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does; UsageError that names the nearest command for a word that is none."""
        word = args[0]
        is_option = word.startswith("-")
        if ctx.resilient_parsing or is_option or self.get_command(ctx, word) is not None:
            return super().resolve_command(ctx, args)
        raise click.UsageError(f"No such command {word!r:.80}.{_suggestion(ctx, word)}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The first sentence of each command, whole."""
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
        """From the table."""
        for name, entry in self.entries.items():
            yield name, entry.summary


class DefaultGroup(CommandGroup):
    """A group whose command `default` is meant where none is named."""

    default = ""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """With the name of the default command in front where only that can be meant."""
        if not ctx.resilient_parsing and self._means_default(args):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def _means_default(self, args: list[str]) -> bool:
        """Whether these are its options, or its arguments if it takes any."""
        if not args:
            return True
        if args[0].startswith("-"):
            return args[0] not in ("-h", "--help")
        parameters = self.commands[self.default].params
        takes_arguments = any(isinstance(each, click.Argument) for each in parameters)
        return takes_arguments and args[0] not in self.commands


class MainGroup(LazyGroup):
    """The outermost group: the one place where an error becomes a sentence and an exit code."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; what went wrong for a known reason is said in one sentence."""
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
    """What to tell the user; None for an error nobody foresaw, which deserves its traceback."""
    from deniable_aggregator.base.errors import AggregatorError
    from deniable_gateway.problem import Problem
    from deniable_shared.errors import DeniableError

    if isinstance(error, Problem):
        return failure(f"{error.type.title}: {error.detail}", error.slug)
    if isinstance(error, (AggregatorError, DeniableError)):
        return failure(str(error), getattr(error, "slug", ""))
    if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
        return CommandFailed(_os_error_text(error))
    return None


def failure(message: str, slug: str) -> CommandFailed:
    """Exit code 75 where the same command may succeed later, 1 otherwise."""
    return NotReady(message) if slug in LATER else CommandFailed(message)


def command_paths(
    group: click.Group, ctx: click.Context, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """Every group and command below a group, as its words, a group before what is in it."""
    for name in group.list_commands(ctx):
        yield (*path, name)
        command = group.get_command(ctx, name)
        if isinstance(command, click.Group):
            yield from command_paths(command, ctx, (*path, name))


def _suggestion(ctx: click.Context, word: str) -> str:
    """The command that has this word in its name, else the nearest one of this group."""
    group = ctx.command
    if not isinstance(group, click.Group):
        return ""
    below = [path for path in command_paths(group, ctx) if word in path[-1].split("-")]
    close = get_close_matches(word, group.list_commands(ctx), n=1)
    meant = below[0] if below else close
    return f" Did you mean '{' '.join([ctx.command_path, *meant])}'?" if meant else ""


def _os_error_text(error: OSError) -> str:
    reason = error.strerror or str(error)
    if error.filename is None:
        return reason
    return f"{json.dumps(str(error.filename), ensure_ascii=False)}: {reason}"
