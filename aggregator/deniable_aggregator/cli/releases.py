"""`deniable releases`: what was released of a collection; reading it is free."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from deniable_aggregator.cli.options import (
    Target,
    csv_option,
    example,
    json_option,
    one_form,
    service_options,
)
from deniable_aggregator.cli.output import emit, plain_table
from deniable_aggregator.documents.releases import ReleaseDocument, ReleaseSummary
from deniable_aggregator.releases.words import asked_words, cost_words, epochs_words, moment


@click.command(
    epilog=example("deniable releases theme", "deniable releases theme 0123456789abcdef --json")
)
@click.argument("collection")
@click.argument("release", required=False)
@service_options
@json_option
@csv_option
def releases(
    collection: str,
    release: str | None,
    url: str | None,
    data: Path | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """List what was released, or show one release again.

    Nothing is charged. One that was charged and not made is made by the same request, for nothing.
    """
    one_form(json=as_json, csv=as_csv)
    if as_csv and release is not None:
        raise click.UsageError("--csv is of the list: name no release, or use --json")
    path = f"/v1/collections/{collection}/releases"
    with Target(url, data).connect() as connection:
        if as_csv:
            click.echo(connection.get(path, accept="text/csv"), nl=False)
            return
        document = connection.get_json(path if release is None else f"{path}/{release}")
    if as_json:
        emit(document)
    elif release is not None:
        from deniable_aggregator.cli.release_tables import release_table

        release_table(msgspec.convert(document, ReleaseDocument))
    else:
        release_list(msgspec.convert(document["releases"], list[ReleaseSummary]))


def release_list(rows: Sequence[ReleaseSummary]) -> None:
    """One line a release, oldest first."""
    if not rows:
        click.echo("Nothing was released yet")
        return
    plain_table(
        ["release", "charged", "asked", "epochs", "cost", "state"],
        [
            [
                row.release,
                moment(row.created),
                asked_words(row),
                epochs_words(row.epochs),
                cost_words(row.guarantee),
                row.state,
            ]
            for row in rows
        ],
    )
