"""Kinds of central releases, from their commands and parameters."""

from __future__ import annotations

import click

from deniable_aggregator.cli import main
from deniable_aggregator.releases.kinds import RELEASE_KINDS, parameters
from site_reference.commands import anchor, summary
from site_reference.markdown import code, table


def every_kind() -> str:
    """A row for each: what it draws, what it needs, what it takes."""
    return table(
        ["kind", "makes", "needs", "takes"],
        [[_linked(kind), summary(_command(kind)), *_arguments(kind)] for kind in RELEASE_KINDS],
    )


def _linked(kind: str) -> str:
    name = f"deniable releases make {kind}"
    return f"[`{kind}`](commands.md#{anchor(name)})"


def _command(kind: str) -> click.Command:
    command: click.Command = main
    for word in ("releases", "make", kind):
        assert isinstance(command, click.Group)
        inner = command.get_command(click.Context(command), word)
        assert inner is not None
        command = inner
    return command


def _arguments(kind: str) -> tuple[str, str]:
    """Those without a default, and the others."""
    every = parameters(kind)
    return tuple(
        ", ".join(code(f"--{each.name}") for each in every if (each.default is None) is needed)
        for needed in (True, False)
    )  # type: ignore[return-value]  # two of them
