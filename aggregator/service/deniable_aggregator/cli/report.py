"""`deniable report`: estimates as one file to mail, print and keep."""

from __future__ import annotations

import time
from typing import BinaryIO

import click

from deniable_aggregator.cli.options import Target, example, service_options
from deniable_aggregator.cli.output import say


@click.command(
    epilog=example(
        "deniable report settings --html settings.html",
        "deniable report settings --from 2026-12-01 --family all --html december.html",
    )
)
@click.argument("collection")
@click.option(
    "--html",
    type=click.File("wb", lazy=True),
    metavar="FILE",
    required=True,
    help="Where to write the page.",
)
@click.option("--from", "first", metavar="EPOCH|DATE", help="First epoch, or a date.")
@click.option("--to", "last", metavar="EPOCH|DATE", help="Last epoch, inclusive.")
@click.option("--confidence", type=click.FloatRange(0.5, 0.9999), default=0.95, show_default=True)
@click.option(
    "--family",
    type=click.Choice(["each", "all"]),
    default="each",
    show_default=True,
    help="Whether each interval holds by itself, or all of them together.",
)
@service_options
def report(
    collection: str,
    html: BinaryIO,
    first: str | None,
    last: str | None,
    confidence: float,
    family: str,
    target: Target,
) -> None:
    """Write estimates as one page to mail, print and keep.

    It has charts, intervals and what one report reveals, and runs no script. Exit code 75: too
    few reports yet.
    """
    from deniable_aggregator.web.report.contents import read_contents
    from deniable_aggregator.web.report.page import page

    arguments = {"from": first, "to": last, "confidence": confidence, "family": family}
    with target.connect() as client:
        contents = read_contents(client, collection, arguments)
    text = page(contents, now=time.time())
    html.write(text.encode())  # which opens it
    say(f"{html.name} is written")
