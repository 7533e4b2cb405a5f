"""`deniable epochs`: the time units reports are counted in."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.confirming import require_yes, yes_option
from deniable_aggregator.cli.lazy import CommandFailed
from deniable_aggregator.cli.options import (
    Target,
    csv_option,
    example,
    json_option,
    one_form,
    service_options,
)
from deniable_aggregator.cli.output import emit, plain_table, rows_of

if TYPE_CHECKING:
    from deniable_aggregator.process.connection import Connection


@click.group()
def epochs() -> None:
    """List and close a collection's epochs."""


@epochs.command("list", epilog=example("deniable epochs list settings"))
@click.argument("collection")
@service_options
@json_option
@csv_option
def list_epochs(
    collection: str, url: str | None, data: Path | None, as_json: bool, as_csv: bool
) -> None:
    """Show the epochs that hold reports, and how many reports were turned away and why."""
    one_form(json=as_json, csv=as_csv)
    path = f"/v1/collections/{collection}/epochs"
    with Target(url, data).connect() as connection:
        if as_csv:
            click.echo(connection.get(path, accept="text/csv"), nl=False)
            return
        document = connection.get_json(path)
    if as_json:
        emit(document)
        return
    plain_table(
        ["epoch", "starts", "closes", "state", "n"],
        [
            [
                str(row["epoch"]),
                _moment(row["start"]),
                _moment(row["closes"]),
                "expired" if row["expired"] else str(row["state"]),
                _reports(row),
            ]
            for row in rows_of(document["epochs"])
        ],
    )
    rejections = document.get("rejections")
    for slug, count in rejections.items() if isinstance(rejections, dict) else ():
        click.echo(f"{count:,} turned away: {slug}")


@epochs.command(
    epilog=example("deniable epochs close settings", "deniable epochs close settings --epoch 20780")
)
@click.argument("collection")
@click.option("--epoch", type=click.IntRange(min=0), help="Which; needed if several are open.")
@yes_option
@service_options
@json_option
def close(
    collection: str,
    epoch: int | None,
    yes: bool,
    url: str | None,
    data: Path | None,
    as_json: bool,
) -> None:
    """Close an epoch before its time, permanently.

    Reports for it that still arrive are refused and never counted. Epochs close by themselves when
    their grace is over.
    """
    with Target(url, data).connect() as connection:
        path = f"/v1/collections/{collection}/epochs"
        number = _only_open(connection, path) if epoch is None else epoch
        act = f"This closes epoch {number} of {collection} now: its later reports are not counted"
        require_yes(act, yes=yes)
        answer = connection.post(f"{path}/{number}/close?early=true")
    if as_json:
        emit(answer)
    else:
        was = "" if answer.get("changed", True) else " already"
        click.echo(f"Epoch {number} of {answer['collection']} is{was} closed")


def _only_open(connection: Connection, path: str) -> int:
    rows = rows_of(connection.get_json(path)["epochs"])
    numbers = [int(str(row["epoch"])) for row in rows if row["state"] == "open"]
    if len(numbers) == 1:
        return numbers[0]
    if not numbers:
        raise CommandFailed("no open epoch holds a report: there is nothing to close")
    listed = ", ".join(map(str, numbers))
    raise CommandFailed(f"epochs {listed} are open: name one with --epoch")


def _reports(row: dict[str, object]) -> str:
    """Where only releases may be read, small numbers are not shown."""
    if "fewer_than" in row:
        return f"fewer than {row['fewer_than']:,}"
    return f"{row['n']:,}" if "n" in row else ""


def _moment(value: object) -> str:
    if not isinstance(value, int):
        return ""
    return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M} UTC"
