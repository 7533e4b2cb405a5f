"""`deniable releases`: makes central releases, shows their cost and asks them questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.command_groups import CommandGroup
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
from deniable_aggregator.cli.output import plain_table, show
from deniable_aggregator.cli.release_kinds import KindGroup, Request, read_labels
from deniable_aggregator.cli.release_tables import answer_table, quote_table, release_table
from deniable_aggregator.documents.describe import cost_words, epochs_words, moment, request_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.client.service_client import ServiceClient
    from deniable_aggregator.documents.releases import ReleaseSummary


@click.group(cls=CommandGroup)
def releases() -> None:
    """Make central releases, and read earlier ones.

    A release is charged to every epoch that it reads, before it is drawn. The budget is the one in
    the collection's manifest. The same request again shows the same release and is free. Begin
    with `deniable releases quote`.
    """


@releases.command("list", epilog=example("deniable releases list theme"))
@collection_argument
@service_options
@json_option
@csv_option
def list_releases(collection: str, target: Target, as_json: bool, as_csv: bool) -> None:
    """List the releases of a collection. This is free."""
    one_form(json=as_json, csv=as_csv)
    with target.connect() as client:
        answer = client.releases(collection, accept=media_type(as_csv=as_csv))
    show(answer, lambda document: release_list(document.releases), as_json=as_json, as_csv=as_csv)


@releases.command(
    "show",
    epilog=example(
        "deniable releases show theme 0123456789abcdef",
        "deniable releases show theme 0123456789abcdef --json",
    ),
)
@collection_argument
@click.argument("release")
@service_options
@json_option
def show_release(collection: str, release: str, target: Target, as_json: bool) -> None:
    """Show a release again. This is free.

    If a release was charged but not made, the same request makes it without another charge.
    """
    with target.connect() as client:
        show(client.release(collection, release), release_table, as_json=as_json)


def _quote(client: ServiceClient, collection: str, request: Request, as_json: bool) -> None:
    show(client.quote(collection, request), quote_table, as_json=as_json)


def _make(client: ServiceClient, collection: str, request: Request, as_json: bool) -> None:
    show(client.make_release(collection, request), release_table, as_json=as_json)


releases.add_command(
    KindGroup(
        "quote",
        _quote,
        help_text="Show the price of a release without making it.",
        notes="Shows the price and the error of the answer. Nothing is drawn or charged.",
    )
)
releases.add_command(
    KindGroup(
        "make",
        _make,
        help_text="Make a release and charge for it; the same request again is free.",
        notes="It is charged to every epoch it reads; the same request again is free. "
        "Exit code 75: an epoch is still open, or too few reports yet.",
    )
)


@releases.command(
    epilog=example(
        "deniable releases ask theme 0123456789abcdef --labels dark,auto",
        'deniable releases ask apps 0123456789abcdef --cells "os=mac, beta=yes"',
    )
)
@collection_argument
@click.argument("release")
@click.option(
    "--labels",
    metavar="A,B",
    help="The labels of the question; a JSON list where a label has a comma in it.",
)
@click.option(
    "--cells",
    multiple=True,
    metavar='"A=B, C=D"',
    help="Of a record: labels of attributes that a person has together. Repeat it for people who "
    "have one of several.",
)
@service_options
@json_option
def ask(
    *,
    collection: str,
    release: str,
    labels: str | None,
    cells: tuple[str, ...],
    target: Target,
    as_json: bool,
) -> None:
    """Ask a release a question. This is free.

    A release of the kind `queries` takes a fixed number of questions. The same question gets the
    same answer.
    """
    if labels is None and not cells:
        raise click.UsageError("Missing option '--labels', or '--cells' of a record.")
    if labels is not None and cells:
        raise click.UsageError("A question takes --labels or --cells, not both")
    try:
        named = read_labels(labels or "")
    except ValueError as error:
        raise click.UsageError(f"--labels {labels!r:.80} is not a JSON list: {error}") from error
    with target.connect() as client:
        show(client.ask(collection, release, named, cells=cells), answer_table, as_json=as_json)


def release_list(rows: Sequence[ReleaseSummary]) -> None:
    """Print one line for each release, oldest first."""
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
