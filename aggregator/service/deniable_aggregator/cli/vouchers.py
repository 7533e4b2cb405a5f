"""`deniable keys vouchers`: one report a person, vouched for by the operator's own backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.command_groups import CommandGroup
from deniable_aggregator.cli.options import (
    Target,
    collection_argument,
    example,
    json_option,
    service_options,
)
from deniable_aggregator.cli.output import say, show
from deniable_aggregator.cli.terminal import require_yes, yes_option

if TYPE_CHECKING:
    from deniable_aggregator.documents.access import VoucherKeyDocument


@click.group(cls=CommandGroup)
def vouchers() -> None:
    """Let your backend vouch for people: one report each, and no anonymity.

    This is for collections with requires = ["voucher/1"]. Your backend issues vouchers with the
    collection's key and `deniable_shared.wire.voucher.issue`.
    """


@vouchers.command(
    "show",
    epilog=example(
        "deniable keys vouchers show survey", "deniable keys vouchers show survey --epoch 20801"
    ),
)
@collection_argument
@click.option(
    "--epoch",
    type=click.IntRange(0, 2**32 - 1),
    metavar="INDEX",
    help="Of which epoch; the present one by default.",
)
@service_options
@json_option
def show_key(collection: str, epoch: int | None, target: Target, as_json: bool) -> None:
    """Print the key that your backend needs to issue vouchers.

    The key stays the same until you replace it. Keep it like a password: anyone who has it can
    issue vouchers for any person, and can see which person a report belongs to.
    """
    with target.connect() as client:
        answer = client.voucher_key(collection, epoch=epoch)
    show(answer, _print_key, as_json=as_json)


@vouchers.command(epilog=example("deniable keys vouchers replace survey"))
@collection_argument
@yes_option
@service_options
@json_option
def replace(collection: str, yes: bool, target: Target, as_json: bool) -> None:
    """Make a new voucher key for future epochs, and print it.

    Earlier epochs keep their key, so that each person still counts once. Your backend needs both
    keys until those epochs are closed. If the old key leaked, close them with
    `deniable collections epochs close`.
    """
    act = f"This replaces the key of {collection}: later epochs reject vouchers of the present one"
    require_yes(act, yes=yes)
    with target.connect() as client:
        answer = client.replace_voucher_key(collection)
    show(answer, _print_key, as_json=as_json)


def _print_key(made: VoucherKeyDocument) -> None:
    """Print the key alone on standard output, and its epochs on standard error."""
    spell = f", epochs from {made.first} on" if made.first else ""
    spell += f", epochs before {made.next}" if made.next is not None else ""
    say(f"For the backend that issues vouchers of {made.collection}{spell}:")
    click.echo(made.key)


@vouchers.command(
    "issue",
    epilog=example(
        "deniable keys vouchers issue survey --person 1042",
        "deniable keys vouchers issue survey --person 1042 --epoch 20801",
    ),
)
@collection_argument
@click.option(
    "--person", required=True, help="Your own name for the person, always the same: 1 to 256 bytes."
)
@click.option(
    "--epoch",
    type=click.IntRange(0, 2**32 - 1),
    metavar="INDEX",
    help="Of which epoch; the present one by default.",
)
@service_options
@json_option
def issue_voucher(
    collection: str, person: str, epoch: int | None, target: Target, as_json: bool
) -> None:
    """Issue the voucher of one person, to try it out. Your backend normally does this."""
    with target.connect() as client:
        answer = client.issue_voucher(collection, person, epoch=epoch)
    show(answer, lambda document: click.echo(document.voucher), as_json=as_json)
