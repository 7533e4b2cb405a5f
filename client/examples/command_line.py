"""A command-line tool with honest telemetry: `telemetry status / on / off / show`, asked once.

    python command_line.py hello Ada --loud
    python command_line.py telemetry show

`app.deniable` lies in this folder: `deniable collections export --app > app.deniable`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from deniable_client import Ceiling, Client
from deniable_client.argparse_commands import add_telemetry

CEILING = Ceiling(epsilon_per_report=2, epsilon_permanent=4, epsilon_lifetime=8)
FILE = Path(__file__).with_name("app.deniable")


def hello(given: argparse.Namespace) -> None:
    """What the tool is for."""
    text = f"Hello, {given.name}!"
    print(text.upper() if given.loud else text)


def ask(client: Client) -> None:
    """Once, of a person at a terminal; never on a build server or where it was switched off."""
    if client.status().may_ask and sys.stdin.isatty():
        answer = input("May this tool report which options people use? [y/N] ")
        client.consent("granted" if answer.strip().lower() == "y" else "denied")


def main(arguments: list[str] | None = None, file: Path = FILE) -> None:
    """Run one command."""
    parser = argparse.ArgumentParser(prog="greet")
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("hello")
    command.add_argument("name")
    command.add_argument("--loud", action="store_true")
    command.set_defaults(run=hello)
    with Client.from_file(file, app="greet", ceiling=CEILING) as client:
        add_telemetry(commands, lambda: client)
        given = parser.parse_args(arguments)
        if given.run is hello:
            ask(client)
            client.record("options", {"loud": given.loud, "short": len(given.name) < 5})
        given.run(given)


if __name__ == "__main__":
    main()
