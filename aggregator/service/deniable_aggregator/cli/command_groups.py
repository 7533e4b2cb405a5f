"""Command groups that import a command when it is called, and turn errors into exit codes."""

from __future__ import annotations

import importlib
import io
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import click

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


class LazyGroup(click.Group):
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

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.entries.items()])


class DefaultGroup(click.Group):
    """A group whose command `default` is meant where none is named."""

    default = ""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """With the name of the default command in front, unless one is there or help is asked."""
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            args = [self.default, *args]
        return super().parse_args(ctx, args)


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


def _os_error_text(error: OSError) -> str:
    reason = error.strerror or str(error)
    if error.filename is None:
        return reason
    return f"{json.dumps(str(error.filename), ensure_ascii=False)}: {reason}"
