"""What cannot be undone is asked about on a terminal and needs `--yes` everywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import click

from deniable_aggregator.cli.command_groups import CommandFailed

P = ParamSpec("P")
R = TypeVar("R")


def yes_option(command: Callable[P, R]) -> Callable[P, R]:
    """--yes."""
    return click.option(
        "--yes", is_flag=True, help="Do not ask. Needed where standard input is no terminal."
    )(command)


def require_yes(act: str, *, yes: bool) -> None:
    """Returns once a person, or `--yes`, has agreed to `act`, a sentence without its full stop.

    Raises CommandFailed where standard input is no terminal, click.Abort for any answer but yes.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandFailed(
            f"{act}; this cannot be undone, and there is no terminal to confirm it on: "
            "add --yes to do it"
        )
    click.confirm(f"{act}. This cannot be undone. Go on?", abort=True, err=True)
