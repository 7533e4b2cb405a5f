"""The `deniable` command. Modules load when their command is called, so that help is fast."""

from __future__ import annotations

import click

from deniable_aggregator.cli.command_groups import Entry, MainGroup

__all__ = ["main"]

HERE = "deniable_aggregator.cli"


class Deniable(MainGroup):
    """Every verb, in the order a person meets them."""

    entries = {  # noqa: RUF012  (click reads it, nobody writes it)
        "demo": Entry(f"{HERE}.demo", "demo", "See a service with thirty days of answers."),
        "init": Entry(f"{HERE}.init", "init", "Prepare a data directory: database, keys, token."),
        "serve": Entry(f"{HERE}.serve", "serve", "Run the service."),
        "tally": Entry(
            f"{HERE}.tally", "tally", "Count a spool's reports on many processes or on Spark."
        ),
        "collections": Entry(
            f"{HERE}.collections", "collections", "Write, check, sign and register collections."
        ),
        "plan": Entry(f"{HERE}.plan", "plan", "Say what a question would show and cost"),
        "epochs": Entry(f"{HERE}.epochs", "epochs", "List and close a collection's epochs."),
        "estimates": Entry(
            f"{HERE}.estimates", "estimates", "Read debiased frequencies with their intervals."
        ),
        "report": Entry(
            f"{HERE}.report", "report", "Write estimates as one page to mail, print and keep."
        ),
        "release": Entry(
            f"{HERE}.release", "release", "Draw from closed epochs, or see what that would cost."
        ),
        "releases": Entry(
            f"{HERE}.releases", "releases", "List what was released, or show one release again."
        ),
        "ledger": Entry(
            f"{HERE}.ledger", "ledger", "See what releases have cost and what is left."
        ),
        "keys": Entry(
            f"{HERE}.keys", "keys", "List and replace the keys that reports are sealed to."
        ),
        "clock": Entry(f"{HERE}.clock", "clock", "Confirm a clock that was set on purpose."),
        "log": Entry(f"{HERE}.log", "log", "Verify the log of manifests, key lists and releases."),
        "vouchers": Entry(f"{HERE}.vouchers", "vouchers", "Let a backend vouch for people"),
        "tokens": Entry(f"{HERE}.tokens", "tokens", "Give and take away access."),
        "users": Entry(f"{HERE}.users", "users", "Let people in, with a password or once."),
        "sessions": Entry(f"{HERE}.sessions", "sessions", "See who is signed in; sign them out."),
        "audit": Entry(f"{HERE}.audit", "audit", "Show who did what that took a privilege."),
        "backup": Entry(
            f"{HERE}.backup", "backup", "Write everything into one file while the service runs."
        ),
        "restore": Entry(
            f"{HERE}.backup", "restore", "Fill an empty data directory and store from a backup."
        ),
        "copy-store": Entry(
            f"{HERE}.stores", "copy_store", "Copy the database into another store."
        ),
        "migrate": Entry(
            f"{HERE}.stores", "migrate", "Bring the database to this program's schema."
        ),
        "open": Entry(
            f"{HERE}.drain_spool", "open_spool", "Count what `deniable serve --spool` has taken."
        ),
        "relay": Entry(
            f"{HERE}.relay", "relay", "Pass reports on for an aggregator, shuffled in batches."
        ),
        "loadgen": Entry(
            f"{HERE}.loadgen", "loadgen", "Send made-up reports and see what the service takes."
        ),
        "doctor": Entry(f"{HERE}.doctor", "doctor", "Check this installation."),
    }


@click.group(cls=Deniable, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="deniable-aggregator", prog_name="deniable")
def main() -> None:
    """Learn how many of your users do something without learning who.

    Each answer is scrambled on the device; this command runs the service that adds the answers up
    and corrects the totals. Begin with `deniable demo`, then `deniable init` and `deniable serve`.

    A command speaks HTTP to --url (or DENIABLE_URL, with the token in DENIABLE_TOKEN), else to the
    service that runs in the data directory (--data, DENIABLE_DATA), else opens that directory.

    Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 75 not ready yet.
    """
