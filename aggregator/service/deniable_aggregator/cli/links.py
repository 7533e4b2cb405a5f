"""`deniable access links`: makes read-only links to one collection."""

from __future__ import annotations

import click

from deniable_aggregator.cli.command_groups import CommandGroup
from deniable_aggregator.cli.options import (
    Target,
    collection_argument,
    example,
    json_option,
    service_options,
)
from deniable_aggregator.cli.output import access_table, emit, moment, show
from deniable_aggregator.cli.users import reachable

COLUMNS = ("id", "label", "created", "expires", "revoked")


@click.group(cls=CommandGroup)
def links() -> None:
    """Share one collection with people who have no account.

    Anyone who has the link can read the collection until the link expires or you end it.
    """


@links.command(epilog=example("deniable access links new settings --label Board --expires 30"))
@collection_argument
@click.option("--label", required=True, help="Who it is for: 1 to 64 characters.")
@click.option(
    "--expires",
    type=click.IntRange(1, 365),
    default=30,
    show_default=True,
    metavar="DAYS",
    help="End after this many days.",
)
@service_options
@json_option
def new(collection: str, label: str, expires: int, target: Target, as_json: bool) -> None:
    """Make a link and print it. It cannot be printed again."""
    with target.connect() as client:
        made = client.make_read_link(collection, label, expires_days=expires)
        address = reachable(target.origin(), client.address) + made.document.path
    if as_json:
        emit({**made.json(), "address": address})
        return
    click.echo(address)
    click.echo(f"Valid until {moment(made.document.expires)}", err=True)


@links.command("list", epilog=example("deniable access links list settings"))
@collection_argument
@service_options
@json_option
def list_links(collection: str, target: Target, as_json: bool) -> None:
    """List the links to a collection, without their secret parts."""
    with target.connect() as client:
        answer = client.read_links(collection)
    show(answer, lambda document: access_table(COLUMNS, document.links), as_json=as_json)


@links.command(epilog=example("deniable access links end settings 3f9a01c2b4de"))
@collection_argument
@click.argument("link_id", metavar="ID")
@service_options
@json_option
def end(collection: str, link_id: str, target: Target, as_json: bool) -> None:
    """End a link and every session that began with it."""
    with target.connect() as client:
        client.end_read_link(collection, link_id)
    if as_json:
        emit({"id": link_id, "ended": True})
    else:
        click.echo(f"Ended {link_id}")
