"""`deniable estimates`: prints, draws or saves debiased frequencies with their intervals."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, BinaryIO

import click

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
from deniable_aggregator.cli.output import say, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.client.connection import Arguments
    from deniable_aggregator.client.service_client import ServiceClient

ARROW = "application/vnd.apache.arrow.stream"
PARQUET = "application/vnd.apache.parquet"
OUTPUT = click.File("wb", lazy=True)


@click.command(
    epilog=example(
        "deniable estimates settings",
        "deniable estimates settings --from 2026-12-01 --projection clip --json",
        "deniable estimates settings --csv > settings.csv",
        "deniable estimates settings --plot --by-epoch",
        "deniable estimates settings --from 2026-12-01 --html december.html",
        "deniable estimates settings --by-epoch --parquet settings.parquet",
        "deniable estimates fleet --marginal os,browser",
        "deniable estimates words --candidate tea --candidate coffee",
        "deniable estimates minutes --range 0..30 --quantile 0.5 --quantile 0.99",
        "deniable estimates browser --significant holm --set firefox,chrome --liars 0.01",
    )
)
@collection_argument
@click.option("--from", "first", metavar="EPOCH|DATE", help="First epoch, or a date.")
@click.option("--to", "last", metavar="EPOCH|DATE", help="Last epoch, inclusive.")
@click.option("--confidence", type=click.FloatRange(0.5, 0.9999), default=0.95, show_default=True)
@click.option(
    "--projection",
    type=click.Choice(["none", "simplex", "clip", "mle", "ems", "top-down", "base-cut"]),
    default="none",
    show_default=True,
    help="Also show adjusted frequencies between 0 and 1, which are biased: simplex or mle for "
    "choices, clip for bits, mle, ems or top-down for numbers, base-cut for significant labels.",
)
@click.option(
    "--family",
    type=click.Choice(["each", "all"]),
    default="each",
    show_default=True,
    help="Whether each interval holds by itself, or all of them together.",
)
@click.option(
    "--marginal",
    "marginals",
    metavar="NAME,…",
    multiple=True,
    help="For a record: the table of these attributes. Repeatable.",
)
@click.option(
    "--candidate",
    "candidates",
    metavar="TEXT",
    multiple=True,
    help="For texts: estimate this text instead of searching for texts. Up to 1,000 times.",
)
@click.option(
    "--set",
    "sets",
    metavar="LABEL,…",
    multiple=True,
    help="Estimate the share of people with one of these labels. Repeatable.",
)
@click.option(
    "--range",
    "ranges",
    metavar="A..B",
    multiple=True,
    help="For numbers: the share of people between two values, both included. Repeatable.",
)
@click.option(
    "--quantile",
    "quantiles",
    metavar="SHARE",
    multiple=True,
    help="For numbers: the value that this share of people does not exceed, 0.5 for the median.",
)
@click.option(
    "--significant",
    type=click.Choice(["holm", "bonferroni"]),
    help="Mark the labels that at least one person has, by one test for all labels.",
)
@click.option(
    "--liars",
    type=click.FloatRange(0, 1, max_open=True),
    metavar="SHARE",
    help="Also show limits that hold if this share of reports is fake.",
)
@click.option("--by-epoch", is_flag=True, help="Show one table for each epoch.")
@service_options
@json_option
@csv_option
@click.option("--plot", is_flag=True, help="Draw the intervals, as wide as the screen.")
@click.option("--arrow", type=OUTPUT, metavar="FILE", help="Write an Apache Arrow stream.")
@click.option("--parquet", type=OUTPUT, metavar="FILE", help="Write a Parquet file.")
@click.option("--html", type=OUTPUT, metavar="FILE", help="Write an HTML page to mail or print.")
def estimates(  # noqa: PLR0913  (click passes each option by name)
    collection: str,
    first: str | None,
    last: str | None,
    confidence: float,
    projection: str,
    family: str,
    marginals: tuple[str, ...],
    candidates: tuple[str, ...],
    sets: tuple[str, ...],
    ranges: tuple[str, ...],
    quantiles: tuple[str, ...],
    significant: str | None,
    liars: float | None,
    by_epoch: bool,
    target: Target,
    as_json: bool,
    as_csv: bool,
    plot: bool,
    arrow: BinaryIO | None,
    parquet: BinaryIO | None,
    html: BinaryIO | None,
) -> None:
    """Show the estimated answers with their intervals.

    Estimates are unbiased, so the frequency of a rare answer can be below zero. Exit code 75: too
    few reports yet.
    """
    one_form(json=as_json, csv=as_csv, plot=plot, arrow=arrow, parquet=parquet, html=html)
    if html is not None and by_epoch:
        raise click.UsageError("--html shows every epoch anyway: leave out --by-epoch")
    arguments = {
        "from": first,
        "to": last,
        "confidence": confidence,
        "projection": projection,
        "family": family,
        "marginal": list(marginals) or None,
        "candidate": list(candidates) or None,
        "set": list(sets) or None,
        "range": list(ranges) or None,
        "quantile": list(quantiles) or None,
        "significant": significant,
        "liars": liars,
    }
    from deniable_aggregator.cli.estimate_plots import plot_by_epoch, plot_estimates
    from deniable_aggregator.cli.estimate_tables import estimates_by_epoch_table, estimates_table

    with target.connect() as client:
        read = client.estimates_by_epoch if by_epoch else client.estimates
        for file, kind in ((arrow, ARROW), (parquet, PARQUET)):
            if file is not None:
                columns = read(collection, arguments, accept=kind).body
                file.write(columns)  # the first write opens the file
                return
        if html is not None:
            page = _page(client, collection, arguments, marginals)
            html.write(page)
            say(f"Wrote {html.name}")
            return
        form = media_type(as_csv=as_csv)
        if by_epoch:
            epochs = client.estimates_by_epoch(collection, arguments, accept=form)
            print_epochs = plot_by_epoch if plot else estimates_by_epoch_table
            show(epochs, print_epochs, as_json=as_json, as_csv=as_csv)
        else:
            pooled = client.estimates(collection, arguments, accept=form)
            show(
                pooled, plot_estimates if plot else estimates_table, as_json=as_json, as_csv=as_csv
            )


def _page(
    client: ServiceClient, collection: str, arguments: Arguments, tables: Sequence[str]
) -> bytes:
    """Write the estimates as one HTML file."""
    from deniable_aggregator.web.dashboard.estimates_file import estimates_file, series_labels

    document = client.estimates(collection, arguments).document
    labels = [] if tables else series_labels(document)
    names = ("from", "to", "confidence", "family")
    wanted = {**{name: arguments[name] for name in names}, "label": labels}
    series = client.series(collection, wanted).rows if labels else []
    envelope = client.manifest(collection)
    together = arguments["family"] == "all"
    return estimates_file(
        envelope, document, series, tables=tables, together=together, now=time.time()
    ).encode()
