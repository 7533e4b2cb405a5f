"""`deniable collections close`, `archive` and `delete`."""

from __future__ import annotations

import click

from deniable_aggregator.cli.confirmation import require_yes, yes_option
from deniable_aggregator.cli.options import Target, example, json_option, service_options
from deniable_aggregator.cli.output import show


@click.command(epilog=example("deniable collections close settings-4kqz0m"))
@click.argument("collection")
@yes_option
@service_options
@json_option
def close(collection: str, yes: bool, target: Target, as_json: bool) -> None:
    """End a collection permanently: devices drop its queue, estimates can still be read."""
    require_yes(f"This ends {collection}: it takes no more reports", yes=yes)
    with target.connect() as client:
        answer = client.close_collection(collection)
    show(answer, lambda document: click.echo(f"{document.collection} is closed"), as_json=as_json)


@click.command(
    epilog=example(
        "deniable collections archive settings-4kqz0m",
        "deniable collections archive settings-4kqz0m --undo",
    )
)
@click.argument("collection")
@click.option("--undo", is_flag=True, help="Put it on the lists again.")
@service_options
@json_option
def archive(collection: str, undo: bool, target: Target, as_json: bool) -> None:
    """Take a collection off every list; nothing else of it changes.

    Devices go on reporting, and estimates stay readable by its name or id.
    """
    with target.connect() as client:
        answer = client.archive(collection, undo=undo)
    where = "on the lists again" if undo else "archived: `collections list --archived` shows it"
    show(answer, lambda document: click.echo(f"{document.collection} is {where}"), as_json=as_json)


@click.command(epilog=example("deniable collections delete settings-4kqz0m"))
@click.argument("collection")
@yes_option
@service_options
def delete(collection: str, yes: bool, target: Target) -> None:
    """Delete a collection before its first epoch begins; its entry in the log stays.

    Later, end it with `collections close` and hide it with `collections archive`.
    """
    require_yes(f"This deletes {collection}: devices find no such collection", yes=yes)
    with target.connect() as client:
        client.delete_collection(collection)
    click.echo(f"{collection} is deleted")
