"""The `deniable` command. Modules load when their command is called, so that help is fast.

A first-level word is an `Entry` below: the module, the name of its command or group, and the first
sentence of its help. A group is made with `@click.group(cls=CommandGroup)` in a module of its own.
"""

from __future__ import annotations

import click

from deniable_aggregator.cli.command_groups import Entry, MainGroup

__all__ = ["main"]

HERE = "deniable_aggregator.cli"
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""Help is as wide as COLUMNS or the terminal says, at most 100: longer lines are hard to read."""


class Deniable(MainGroup):
    """Every first-level word, in the order a person meets them."""

    entries = {  # noqa: RUF012  (click reads it, nobody writes it)
        "demo": Entry(f"{HERE}.demo", "demo", "See a service with thirty days of answers."),
        "init": Entry(f"{HERE}.init", "init", "Prepare a data directory: database, keys, token."),
        "serve": Entry(f"{HERE}.serve", "serve", "Run the service."),
        "plan": Entry(f"{HERE}.plan", "plan", "Say what a question would show and cost"),
        "collections": Entry(
            f"{HERE}.collections", "collections", "Write, check, sign and register collections."
        ),
        "estimates": Entry(
            f"{HERE}.estimates", "estimates", "Read debiased frequencies with their intervals."
        ),
        "compare": Entry(
            f"{HERE}.compare", "compare", "Say what changed from one period to another."
        ),
        "releases": Entry(
            f"{HERE}.releases", "releases", "Make central releases, and read those that were made."
        ),
        "ledger": Entry(
            f"{HERE}.ledger", "ledger", "See what releases have cost and what is left."
        ),
        "keys": Entry(f"{HERE}.keys", "keys", "Manage the keys of reports and of vouchers."),
        "access": Entry(f"{HERE}.access", "access", "Say who may do what, and see who did."),
        "store": Entry(
            f"{HERE}.store", "store", "Back up, restore, copy and migrate the database."
        ),
        "spool": Entry(
            f"{HERE}.spool", "spool", "Count the reports that ingest nodes without keys have taken."
        ),
        "relay": Entry(
            f"{HERE}.relay", "relay", "Pass reports on for an aggregator, shuffled in batches."
        ),
        "doctor": Entry(
            f"{HERE}.doctor", "doctor", "Check this installation, its log and its clock."
        ),
    }


@click.group(cls=Deniable, context_settings=CONTEXT)
@click.version_option(package_name="deniable-aggregator", prog_name="deniable")
def main() -> None:
    """Learn how many of your users do something without learning who.

    Each answer is scrambled on the device; this command runs the service that adds the answers up
    and corrects the totals. Begin with `deniable demo`, then `deniable init` and `deniable serve`.

    A command speaks HTTP to --url (or DENIABLE_URL, with the token in DENIABLE_TOKEN), else to the
    service that runs in the data directory (--data, DENIABLE_DATA), else opens that directory.

    Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 75 not ready yet.
    """
