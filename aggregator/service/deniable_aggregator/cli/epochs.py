"""`deniable collections epochs`: lists and closes the time units that reports are counted in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.command_groups import CommandFailed, CommandGroup
from deniable_aggregator.cli.options import (
    Target,
    collection_argument,
    csv_option,
    example,
    json_option,
    media_type,
    one_form,
    service_options,
)
from deniable_aggregator.cli.output import moment, plain_table, show
from deniable_aggregator.cli.terminal import require_yes, yes_option

if TYPE_CHECKING:
    from deniable_aggregator.client.service_client import ServiceClient
    from deniable_aggregator.documents.collections import (
        ClosedEpochDocument,
        EpochDocument,
        EpochsDocument,
    )


@click.group(cls=CommandGroup)
def epochs() -> None:
    """List and close a collection's epochs."""


@epochs.command("list", epilog=example("deniable collections epochs list settings"))
@collection_argument
@service_options
@json_option
@csv_option
def list_epochs(collection: str, target: Target, as_json: bool, as_csv: bool) -> None:
    """List the epochs that have reports, and the rejected reports by reason."""
    one_form(json=as_json, csv=as_csv)
    with target.connect() as client:
        answer = client.epochs(collection, accept=media_type(as_csv=as_csv))
    show(answer, _print_epochs, as_json=as_json, as_csv=as_csv)


def _print_epochs(document: EpochsDocument) -> None:
    plain_table(
        ["epoch", "starts", "closes", "state", "n"],
        [
            [
                str(row.epoch),
                moment(row.start),
                moment(row.closes),
                "expired" if row.expired else row.state,
                _reports(row),
            ]
            for row in document.epochs
        ],
    )
    for slug, count in (document.rejections or {}).items():
        click.echo(f"{count:,} rejected: {slug}")


@epochs.command(
    epilog=example(
        "deniable collections epochs close settings",
        "deniable collections epochs close settings --epoch 20780",
    )
)
@collection_argument
@click.option("--epoch", type=click.IntRange(min=0), help="The epoch; needed if several are open.")
@yes_option
@service_options
@json_option
def close(collection: str, epoch: int | None, yes: bool, target: Target, as_json: bool) -> None:
    """Close an epoch early, permanently.

    Its later reports are rejected. Epochs close automatically when their grace period ends.
    """
    with target.connect() as client:
        number = _only_open(client, collection) if epoch is None else epoch
        act = f"This closes epoch {number} of {collection} now: its later reports are rejected"
        require_yes(act, yes=yes)
        answer = client.close_epoch(collection, number)
    show(answer, _print_closed, as_json=as_json)


def _print_closed(closed: ClosedEpochDocument) -> None:
    was = "" if closed.changed else " already"
    click.echo(f"Epoch {closed.epoch} of {closed.collection} is{was} closed")


def _only_open(client: ServiceClient, collection: str) -> int:
    rows = client.epochs(collection).document.epochs
    numbers = [row.epoch for row in rows if row.state == "open"]
    if len(numbers) == 1:
        return numbers[0]
    if not numbers:
        raise CommandFailed("no open epoch has a report: there is nothing to close")
    listed = ", ".join(map(str, numbers))
    raise CommandFailed(f"epochs {listed} are open: name one with --epoch")


def _reports(row: EpochDocument) -> str:
    """The number of reports; a bound if only releases may be read and the number is small."""
    if isinstance(row.fewer_than, int):
        return f"fewer than {row.fewer_than:,}"
    return f"{row.n:,}" if isinstance(row.n, int) else ""
