"""`deniable keys vouchers`: one report a person, by the word of the operator's own backend."""

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
    """Let a backend vouch for people: one report each, and no anonymity.

    For collections with requires = ["voucher/1"]. Your backend issues vouchers by itself, with the
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
    """Print the key that the backend of a collection needs.

    It is the same until it is replaced. Keep it as a password is kept: who has it can issue
    vouchers for anyone, and can see whose report carried which.
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
    """Make another key for epochs in which no one can have reported yet, and print it.

    Epochs before keep their key, so that each person counts once in each: the backend needs both
    until those are closed. Where the old key got out, close them with
    `deniable collections epochs close`.
    """
    act = f"This replaces the key of {collection}: later epochs take no voucher of the present one"
    require_yes(act, yes=yes)
    with target.connect() as client:
        answer = client.replace_voucher_key(collection)
    show(answer, _print_key, as_json=as_json)


def _print_key(made: VoucherKeyDocument) -> None:
    """The key alone on stdout."""
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
    """Issue the voucher of one person, to try it out: a backend does this by itself."""
    with target.connect() as client:
        answer = client.issue_voucher(collection, person, epoch=epoch)
    show(answer, lambda document: click.echo(document.voucher), as_json=as_json)
