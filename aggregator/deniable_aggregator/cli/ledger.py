"""`deniable ledger`: what releases have cost, and what is left."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from deniable_aggregator.cli.lazy import DefaultGroup
from deniable_aggregator.cli.options import (
    Target,
    csv_option,
    example,
    json_option,
    one_form,
    service_options,
)
from deniable_aggregator.cli.output import emit, plain_table, rows_of
from deniable_aggregator.cli.releases import release_list
from deniable_aggregator.documents.releases import (
    AccountDocument,
    CostDocument,
    ReconciledCharge,
    RemainingDocument,
    SpentEpochsDocument,
)
from deniable_aggregator.releases.words import cost_words, epochs_words


class LedgerGroup(DefaultGroup):
    """`deniable ledger theme` is `deniable ledger show theme`."""

    default = "show"


@click.group(cls=LedgerGroup)
def ledger() -> None:
    """See what releases have cost and what is left.

    `deniable ledger theme` is short for `deniable ledger show theme`.
    """


@ledger.command(
    epilog=example("deniable ledger", "deniable ledger theme", "deniable ledger show theme --json")
)
@click.argument("collection", required=False)
@service_options
@json_option
@csv_option
def show(
    collection: str | None, url: str | None, data: Path | None, as_json: bool, as_csv: bool
) -> None:
    """See what releases have cost and what is left.

    Of every collection, or of one: per epoch, per installation, and by which releases.
    """
    one_form(json=as_json, csv=as_csv)
    with Target(url, data).connect() as connection:
        if as_csv:
            rows = connection.get("/v1/ledger", accept="text/csv", collection=collection)
            click.echo(rows, nl=False)
            return
        document = connection.get_json("/v1/ledger", collection=collection)
    if as_json:
        emit(document)
        return
    accounts = msgspec.convert(document["collections"], list[AccountDocument])
    if not accounts:
        click.echo("No collection is registered")
    for account in accounts:
        _show(account)


@ledger.command(epilog=example("deniable ledger reconcile"))
@service_options
@json_option
def reconcile(url: str | None, data: Path | None, as_json: bool) -> None:
    """Go on with a database that is older than the data directory.

    Until then uploads get 503 and no release is made. First put back the newest copy there is: what
    it lacks is lost. What `heads.json` in the data directory still knows of releases is charged
    again; what it does not know costs the collection its whole budget.
    """
    with Target(url, data).connect(migrate=True) as connection:
        document = connection.post("/v1/ledger/reconcile")
    if as_json:
        emit(document)
        return
    lost = _names(document["lost"])
    if lost or rows_of(document["charged"]):
        _show_charged(document)
    else:
        click.echo("Nothing is missing: uploads and releases go on with this database")
    for collection in lost:
        click.echo(
            f"{collection}: it was registered here, and this database does not have it. Its "
            "uploads get 503 until you restore a backup that has it or register it again"
        )


def _show_charged(document: dict[str, object]) -> None:
    charged = msgspec.convert(document["charged"], list[ReconciledCharge])
    if not charged:
        click.echo("No charge is missing: uploads and releases go on with this database")
        return
    plain_table(
        ["collection", "release", "epochs", "cost"],
        [
            [
                row.collection,
                row.release,
                epochs_words(row.epochs),
                cost_words(row.guarantee),
            ]
            for row in charged
        ],
    )
    for collection in _names(document["exhausted"]):
        click.echo(f"{collection}: what was charged is not known, its whole budget is spent")
    click.echo(f"{len(charged)} charges were added: uploads and releases go on")


def _names(found: object) -> list[object]:
    return found if isinstance(found, list) else []


def _show(account: AccountDocument) -> None:
    """What is left first, then who spent the rest."""
    click.echo(f"{account.collection}: {cost_words(account.per_epoch)} an epoch")
    lines = [_line(_epochs(row), row) for row in account.epochs]
    lines += [_line("every other epoch", untouched(account.per_epoch))]
    lines += [_line(_installation(account.reports), account.installation)]
    plain_table(["account", "spent", "left"], lines)
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


def untouched(limit: CostDocument) -> RemainingDocument:
    """The account of an epoch that no release has read."""
    spent = CostDocument(epsilon="0", rho="0", delta="0")
    return RemainingDocument(limit=limit, spent=spent, left=limit)
