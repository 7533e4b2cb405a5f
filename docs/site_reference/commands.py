"""Commands of `deniable`, from their own help."""

from __future__ import annotations

import inspect
import re
from textwrap import dedent
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli import main
from site_reference.markdown import code, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    Named = tuple[str, click.Command, click.Context]

SAME_AS_MAKE = "deniable releases quote"
"""Its kinds take what those of `make` take."""


def every_command() -> str:
    """A table of all, then a section for each."""
    every = list(named())
    first = table(
        ["command", "does"],
        [[f"[`{name}`](#{anchor(name)})", summary(each)] for name, each, _ in every],
    )
    return "\n".join([first, *map(_section, every)])


def named() -> Iterator[Named]:
    """Each command that does something; `releases quote` once for all kinds."""
    yield from _below("deniable", main, click.Context(main, info_name="deniable"))


def _below(name: str, command: click.Command, context: click.Context) -> Iterator[Named]:
    if not isinstance(command, click.Group) or name == SAME_AS_MAKE:
        yield name, command, context
        return
    for word in command.list_commands(context):
        inner = command.get_command(context, word)
        assert inner is not None
        inner_context = click.Context(inner, parent=context, info_name=word)
        yield from _below(f"{name} {word}", inner, inner_context)


def anchor(name: str) -> str:
    """Of the section of a command."""
    return name.replace(" ", "-")


def summary(command: click.Command) -> str:
    """The first sentence of its help."""
    return command.get_short_help_str(limit=1_000)


def _section(each: Named) -> str:
    name, command, context = each
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    parts = [
        f"## `{name}`",
        inspect.cleandoc(command.help or "").replace("\b\n", ""),
        f"```text\n{usage}\n```",
        _options(command, context),
        _example(command.epilog or ""),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _options(command: click.Command, context: click.Context) -> str:
    records = (parameter.get_help_record(context) for parameter in command.params)
    shown = [record for record in records if record and record[0] != "--help"]
    rows = [[code(name), _plain(text)] for name, text in shown if text]
    return table(["option", "meaning"], rows) if rows else ""


def _plain(text: str) -> str:
    """Stars and angle brackets are themselves."""
    return re.sub(r"([*<])", r"\\\1", text)


def _example(epilog: str) -> str:
    """The lines below "Example:", which a shell takes."""
    _, found, lines = epilog.partition("Example:\n")
    return f"```sh\n{dedent(lines).strip()}\n```" if found else ""
