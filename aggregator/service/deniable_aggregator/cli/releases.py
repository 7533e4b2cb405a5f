"""`deniable releases`: what was released of a collection; reading it is free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.options import (
    Target,
    csv_option,
    example,
    json_option,
    media_type,
    one_form,
    service_options,
)
from deniable_aggregator.cli.output import plain_table, show
from deniable_aggregator.documents.describe import cost_words, epochs_words, moment, request_text

if TYPE_CHECKING:
    from deniable_aggregator.documents.releases import ReleaseSummary


@click.command(
    epilog=example("deniable releases theme", "deniable releases theme 0123456789abcdef --json")
)
@click.argument("collection")
@click.argument("release", required=False)
@service_options
@json_option
@csv_option
def releases(
    collection: str, release: str | None, target: Target, as_json: bool, as_csv: bool
) -> None:
    """List what was released, or show one release again.

    Nothing is charged. One that was charged and not made is made by the same request, for nothing.
    """
    one_form(json=as_json, csv=as_csv)
    if as_csv and release is not None:
        raise click.UsageError("--csv is of the list: name no release, or use --json")
    from deniable_aggregator.cli.release_tables import release_table

    with target.connect() as client:
        if release is not None:
            show(client.release(collection, release), release_table, as_json=as_json)
            return
        answer = client.releases(collection, accept=media_type(as_csv=as_csv))
    show(answer, lambda document: release_list(document.releases), as_json=as_json, as_csv=as_csv)


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
                request_text(row),
                epochs_words(row.epochs),
                cost_words(row.guarantee),
                row.state,
            ]
            for row in rows
        ],
    )
