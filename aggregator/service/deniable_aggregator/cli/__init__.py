"""The `deniable` command. A module loads when its command is called, so that help is fast.

A first-level word is an `Entry` below: the module, the name of its command or group, and the first
sentence of its help. A group is made with `@click.group(cls=CommandGroup)` in a module of its own.
"""

from __future__ import annotations

import click

from deniable_aggregator.cli.command_groups import Entry, MainGroup
from deniable_aggregator.cli.shell_start import OWN, SHELLS, install_completion

__all__ = ["main"]

HERE = "deniable_aggregator.cli"
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""Help is as wide as COLUMNS or the terminal, at most 100: longer lines are hard to read."""


class Deniable(MainGroup):
    """Every first-level word, in the order that a new user needs them."""

    entries = {  # noqa: RUF012  (click only reads it)
        "demo": Entry(f"{HERE}.demo", "demo", "See a service with thirty days of answers."),
        "init": Entry(f"{HERE}.init", "init", "Prepare a data directory: database, keys, token."),
        "serve": Entry(f"{HERE}.serve", "serve", "Run the service."),
        "plan": Entry(
            f"{HERE}.plan", "plan", "Estimate the error and cost of a question before you ask it."
        ),
        "collections": Entry(
            f"{HERE}.collections", "collections", "Write, check, sign and register collections."
        ),
        "estimates": Entry(
            f"{HERE}.estimates", "estimates", "Show the estimated answers with their intervals."
        ),
        "compare": Entry(
            f"{HERE}.compare", "compare", "Show what changed from one period to another."
        ),
        "releases": Entry(
            f"{HERE}.releases", "releases", "Make central releases, and read earlier ones."
        ),
        "ledger": Entry(
            f"{HERE}.ledger", "ledger", "See how much privacy budget is spent and left."
        ),
        "keys": Entry(f"{HERE}.keys", "keys", "Manage the keys of reports and of vouchers."),
        "access": Entry(
            f"{HERE}.access", "access", "Give access to people and programs, and see who did what."
        ),
        "store": Entry(
            f"{HERE}.store", "store", "Back up, restore, copy and migrate the database."
        ),
        "spool": Entry(
            f"{HERE}.spool", "spool", "Count the reports that ingest nodes without keys accepted."
        ),
        "relay": Entry(
            f"{HERE}.relay", "relay", "Pass reports on to an aggregator, shuffled in batches."
        ),
        "doctor": Entry(
            f"{HERE}.doctor", "doctor", "Check this installation, its log and its clock."
        ),
    }


@click.group(cls=Deniable, context_settings=CONTEXT)
@click.version_option(package_name="deniable-aggregator", prog_name="deniable")
@click.option(
    "--install-completion",
    type=click.Choice((OWN, *SHELLS)),
    is_flag=False,
    flag_value=OWN,
    expose_value=False,
    is_eager=True,
    callback=install_completion,
    metavar="[SHELL]",
    help="Make your shell complete commands: bash, zsh or fish; by default your own.",
)
def main() -> None:
    """Learn how many of your users do something without learning who.

    Each answer is scrambled on the device. This command runs the service that adds the answers up
    and corrects the totals. Begin with `deniable demo`, then `deniable init` and `deniable serve`.

    A command speaks HTTP to --url (or DENIABLE_URL, with the token in DENIABLE_TOKEN). Without a
    URL it uses the service that runs in the data directory (--data, DENIABLE_DATA). If none runs,
    it opens that directory itself.

    Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 75 not ready yet.
    """
