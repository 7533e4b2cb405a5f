"""`telemetry status / on / off / show` for an app whose command line is click.

main.add_command(telemetry(lambda: client))
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from deniable_client import telemetry_commands

if TYPE_CHECKING:
    from collections.abc import Callable

    import click

    from deniable_client.client import Client

__all__ = ["telemetry"]


def telemetry(get_client: Callable[[], Client], *, name: str = "telemetry") -> click.Group:
    """Return a click group that an app adds to its own.

    Each command calls `get_client` when it runs, and exits with status 1 if it failed.
    """
    import click  # pip install "deniable-client[click]", or the app's own

    group = click.Group(name, help="See and stop what this app reports.")
    for command, summary in telemetry_commands.SUMMARIES.items():
        work = partial(_run, command, get_client, click.echo)
        group.add_command(click.Command(command, callback=work, help=summary))
    return group


def _run(command: str, get_client: Callable[[], Client], say: Callable[[str], object]) -> None:
    if not telemetry_commands.run(command, get_client(), say):
        sys.exit(1)
