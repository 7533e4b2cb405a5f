"""`deniable ledger`: what releases have cost, and how much budget is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli import output
from deniable_aggregator.cli.command_groups import DefaultGroup
from deniable_aggregator.cli.options import (
    Target,
    csv_option,
    example,
    json_option,
    media_type,
    one_form,
    service_options,
)
from deniable_aggregator.cli.releases import release_list
from deniable_aggregator.documents.describe import cost_words, epochs_words

if TYPE_CHECKING:
    from deniable_aggregator.documents.releases import (
        AccountDocument,
        LedgerDocument,
        ReconciledDocument,
        RemainingDocument,
        SpentEpochsDocument,
    )


class LedgerGroup(DefaultGroup):
    """`deniable ledger theme` is `deniable ledger show theme`."""

    default = "show"


@click.group(cls=LedgerGroup)
def ledger() -> None:
    """See how much privacy budget is spent and left.

    `deniable ledger theme` is short for `deniable ledger show theme`.
    """


@ledger.command(
    epilog=example("deniable ledger", "deniable ledger theme", "deniable ledger show theme --json")
)
@click.argument("collection", required=False)
@service_options
@json_option
@csv_option
def show(collection: str | None, target: Target, as_json: bool, as_csv: bool) -> None:
    """See how much privacy budget is spent and left.

    Shows all collections, or one: per epoch, per installation, and by release.
    """
    one_form(json=as_json, csv=as_csv)
    with target.connect() as client:
        answer = client.ledger(collection, accept=media_type(as_csv=as_csv))
    output.show(answer, _print_ledger, as_json=as_json, as_csv=as_csv)


def _print_ledger(document: LedgerDocument) -> None:
    if not document.collections:
        click.echo(output.NO_COLLECTION)
    for account in document.collections:
        _print_account(account)


@ledger.command(epilog=example("deniable ledger reconcile"))
@service_options
@json_option
def reconcile(target: Target, as_json: bool) -> None:
    """Accept a database that is older than the data directory.

    Until you do, uploads get 503 and no release is made. First restore your newest backup:
    everything it lacks is lost. Releases that `heads.json` in the data directory still lists are
    charged again. If it no longer lists them all, the collection's whole budget counts as spent.
    """
    with target.connect(migrate=True) as client:
        answer = client.reconcile()
    output.show(answer, _print_reconciled, as_json=as_json)


def _print_reconciled(document: ReconciledDocument) -> None:
    if document.lost or document.charged:
        _print_charged(document)
    else:
        click.echo("Nothing is missing: uploads and releases continue with this database")
    for collection in document.lost:
        click.echo(
            f"{collection}: it was registered here, but this database does not have it. Its "
            "uploads get 503 until you restore a backup that has it or register it again"
        )


def _print_charged(document: ReconciledDocument) -> None:
    if not document.charged:
        click.echo("No charge is missing: uploads and releases continue with this database")
        return
    output.plain_table(
        ["collection", "release", "epochs", "cost"],
        [
            [
                row.collection,
                row.release,
                epochs_words(row.epochs),
                cost_words(row.guarantee),
            ]
            for row in document.charged
        ],
    )
    for collection in document.exhausted:
        click.echo(f"{collection}: its charges are unknown, so its whole budget counts as spent")
    click.echo(f"{len(document.charged)} charges were added: uploads and releases continue")


def _print_account(account: AccountDocument) -> None:
    """Print the budget that is left, then the releases that spent the rest."""
    click.echo(f"{account.collection}: {cost_words(account.per_epoch)} an epoch")
    lines = [_line(_epochs(row), row) for row in account.epochs]
    lines += [["every other epoch", "ε = 0", cost_words(account.per_epoch)]]
    lines += [_line(_installation(account.reports), account.installation)]
    output.plain_table(["account", "spent", "left"], lines)
    if account.releases:
        release_list(account.releases)


def _line(name: str, row: RemainingDocument | SpentEpochsDocument) -> list[str]:
    return [name, cost_words(row.spent), cost_words(row.left)]


def _epochs(row: SpentEpochsDocument) -> str:
    first, last = row.first, row.last
    return f"epoch {first}" if first == last else f"each of epochs {first} to {last}"


def _installation(reports: int | None) -> str:
    most = "one report an epoch" if reports is None else f"at most {reports} in all"
    return f"one installation ({most})"
