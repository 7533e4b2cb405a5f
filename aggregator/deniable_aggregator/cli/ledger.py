"""`deniable ledger`: what releases have cost, and what is left."""

from __future__ import annotations

from pathlib import Path

import click

from deniable_aggregator.cli.options import Target, example, json_option, service_options
from deniable_aggregator.cli.output import emit, plain_table, rows_of
from deniable_aggregator.cli.release_words import cost_words
from deniable_aggregator.cli.releases import release_list


@click.command(epilog=example("deniable ledger", "deniable ledger theme --json"))
@click.argument("collection", required=False)
@service_options
@json_option
def ledger(collection: str | None, url: str | None, data: Path | None, as_json: bool) -> None:
    """See what releases have cost and what is left.

    Of every collection, or of one: per epoch, per installation, and by which releases.
    """
    with Target(url, data).connect() as connection:
        document = connection.get_json("/v1/ledger", collection=collection)
    if as_json:
        emit(document)
        return
    accounts = rows_of(document["collections"])
    if not accounts:
        click.echo("No collection is registered")
    for account in accounts:
        _show(account)


def _show(account: dict[str, object]) -> None:
    """What is left first, then who spent the rest."""
    click.echo(f"{account['collection']}: {cost_words(account['per_epoch'])} an epoch")
    lines = [_line(_epochs(row), row) for row in rows_of(account["epochs"])]
    lines += [_line("every other epoch", untouched(account["per_epoch"]))]
    whose = account["installation"]
    lines += [_line(_installation(account["reports"]), whose if isinstance(whose, dict) else {})]
    plain_table(["account", "spent", "left"], lines)
    if rows_of(account["releases"]):
        release_list(account)


def _line(name: str, row: dict[str, object]) -> list[str]:
    return [name, cost_words(row["spent"]), cost_words(row["left"])]


def _epochs(row: dict[str, object]) -> str:
    first, last = row["first"], row["last"]
    return f"epoch {first}" if first == last else f"each of epochs {first} to {last}"


def _installation(reports: object) -> str:
    most = "one report an epoch" if reports is None else f"at most {reports} in all"
    return f"one installation ({most})"


def untouched(limit: object) -> dict[str, object]:
    """The account of an epoch that no release has read."""
    return {"limit": limit, "spent": {"epsilon": "0", "rho": "0", "delta": "0"}, "left": limit}
