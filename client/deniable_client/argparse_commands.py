"""`telemetry status / on / off / show` for an app whose command line is argparse.

subparsers = parser.add_subparsers()
add_telemetry(subparsers, lambda: client)
given = parser.parse_args()
given.run(given)
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from deniable_client import telemetry_commands

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from deniable_client.client import Client

__all__ = ["add_telemetry"]


def add_telemetry(
    subparsers: argparse._SubParsersAction[Any],
    get_client: Callable[[], Client],
    *,
    name: str = "telemetry",
) -> argparse.ArgumentParser:
    """Add the command to `subparsers` and return its parser.

    Each subcommand sets the default `run`, a function of the parsed arguments. It calls
    `get_client` when it runs, and exits with status 1 if it failed.
    """
    summary = "See and stop what this app reports."
    parser: argparse.ArgumentParser = subparsers.add_parser(name, help=summary, description=summary)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command, help_text in telemetry_commands.SUMMARIES.items():
        added = commands.add_parser(command, help=help_text, description=help_text)
        added.set_defaults(run=partial(_run, command, get_client))
    return parser


def _run(command: str, get_client: Callable[[], Client], _given: argparse.Namespace) -> None:
    if not telemetry_commands.run(command, get_client(), partial(print, flush=True)):
        sys.exit(1)
