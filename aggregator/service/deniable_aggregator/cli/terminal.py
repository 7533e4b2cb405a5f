"""What a person at a terminal confirms and sees.

What cannot be undone is asked about on a terminal and needs `--yes` everywhere else. How far a
demo, load or tally is: a bar on standard error at a terminal, else silence.
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


class ProgressBar:
    """Shows the stage, and how much of it is done: people, requests or blocks."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: TaskID = progress.add_task("", total=None, count="")

    def stage(self, what: str) -> None:
        """A new stage of unknown length."""
        self._progress.remove_task(self._task)
        self._task = self._progress.add_task(what, total=None, count="")

    def people(self, done: int, total: int) -> None:
        """So many of them: people who have answered, blocks that are counted."""
        count = f"{done:,} of {total:,}"
        self._progress.update(self._task, completed=done, total=total, count=count)


@contextmanager
def progress_bar() -> Iterator[ProgressWatcher | None]:
    """A bar while the block runs, gone afterwards; None where nobody watches."""
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
