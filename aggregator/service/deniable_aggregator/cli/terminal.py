"""Confirmations and progress bars.

A command that cannot be undone asks at a terminal and needs `--yes` everywhere else. The progress
of a demo, load or tally is a bar on standard error, at a terminal only.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click

from deniable_aggregator.cli.command_groups import CommandFailed
from deniable_aggregator.cli.output import console

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress, TaskID

    from deniable_aggregator.operations.demo.study import ProgressWatcher

P = ParamSpec("P")
R = TypeVar("R")


def yes_option(command: Callable[P, R]) -> Callable[P, R]:
    """--yes."""
    return click.option(
        "--yes", is_flag=True, help="Do not ask. Needed if standard input is not a terminal."
    )(command)


def require_yes(act: str, *, yes: bool) -> None:
    """Ask a person to confirm `act`, unless `yes`. `act` is a sentence without its full stop.

    Raises CommandFailed if standard input is not a terminal, click.Abort for any answer but yes.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandFailed(
            f"{act}. This cannot be undone, and there is no terminal to confirm it at: "
            "add --yes to do it"
        )
    click.confirm(f"{act}. This cannot be undone. Continue?", abort=True, err=True)


class ProgressBar:
    """Shows the current stage and how much of it is done, in people, requests or blocks."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: TaskID = progress.add_task("", total=None, count="")

    def stage(self, what: str) -> None:
        """Begin a stage of unknown length."""
        self._progress.remove_task(self._task)
        self._task = self._progress.add_task(what, total=None, count="")

    def people(self, done: int, total: int) -> None:
        """Show that `done` of `total` people have answered, or blocks are counted."""
        count = f"{done:,} of {total:,}"
        self._progress.update(self._task, completed=done, total=total, count=count)


@contextmanager
def progress_bar() -> Iterator[ProgressWatcher | None]:
    """A bar that disappears when the block ends; None if standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
    )
    with Progress(*columns, console=console(sys.stderr), transient=True) as progress:
        yield ProgressBar(progress)
