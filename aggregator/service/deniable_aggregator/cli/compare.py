"""`deniable compare`: the changes from one period to another, with their intervals."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

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
from deniable_aggregator.cli.output import escape_control_characters, plain_table, show
from deniable_aggregator.client.usual_periods import usual_periods
from deniable_aggregator.documents.describe import days_of, epochs_words

if TYPE_CHECKING:
    from deniable_aggregator.client.connection import Arguments
    from deniable_aggregator.documents.comparison import (
        ComparisonDocument,
        DifferenceDocument,
        PeriodDocument,
    )


@click.command(
    epilog=example(
        "deniable compare settings",
        "deniable compare settings --before-to 2026-11-30 --from 2026-12-01",
        "deniable compare theme --before-from 20770 --before-to 20776 --from 20777",
        "deniable compare fleet --before-to 20776 --from 20777 --marginal os --csv",
    )
)
@collection_argument
@click.option("--before-from", metavar="EPOCH|DATE", help="First epoch of the earlier period.")
@click.option("--before-to", metavar="EPOCH|DATE", help="Its last epoch, inclusive.")
@click.option("--from", "first", metavar="EPOCH|DATE", help="First epoch of the later period.")
@click.option("--to", "last", metavar="EPOCH|DATE", help="Its last epoch, inclusive.")
@click.option("--confidence", type=click.FloatRange(0.5, 0.9999), default=0.95, show_default=True)
@click.option(
    "--family",
    type=click.Choice(["each", "all"]),
    default="all",
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
    help="For texts: a text to compare. Repeatable.",
)
@service_options
@json_option
@csv_option
def compare(  # noqa: PLR0913  (click passes each option by name)
    collection: str,
    before_from: str | None,
    before_to: str | None,
    first: str | None,
    last: str | None,
    confidence: float,
    family: str,
    marginals: tuple[str, ...],
    candidates: tuple[str, ...],
    target: Target,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Show what changed from one period to another.

    Without periods, the newest closed week is compared with the week before; of a shorter
    history, its newer half. The later period must start after the earlier one ends. An answer
    has changed if its interval excludes 0.
    Exit code 75: too few reports yet.
    """
    one_form(json=as_json, csv=as_csv)
    periods: Arguments = {
        "before_from": before_from,
        "before_to": before_to,
        "from": first,
        "to": last,
    }
    usual = not any(periods.values())
    if not usual and not (before_to and first):
        raise click.UsageError("name both periods with --before-to and --from, or neither")
    further: Arguments = {
        "confidence": confidence,
        "family": family,
        "marginal": list(marginals) or None,
        "candidate": list(candidates) or None,
    }
    with target.connect() as client:
        history = client.epochs(collection).document
        if usual:
            periods = usual_periods(history)
        answer = client.comparison(
            collection, {**periods, **further}, accept=media_type(as_csv=as_csv)
        )
    table = partial(_print_comparison, epoch_seconds=history.epoch_seconds)
    show(answer, table, as_json=as_json, as_csv=as_csv)


def _print_comparison(document: ComparisonDocument, *, epoch_seconds: int) -> None:
    shares = document.unit == "share"
    click.echo(f"{document.collection}: {document.mechanism}")
    click.echo(f"before: {_period_text(document.before, epoch_seconds)}")
    click.echo(f"after:  {_period_text(document.after, epoch_seconds)}")
    plain_table(
        [
            "label",
            "before",
            "after",
            "change in points" if shares else "change",
            f"{document.confidence * 100:.4g}% interval",
            "verdict",
        ],
        [_row(row, shares=shares) for row in document.differences],
    )
    click.echo(f"{document.changed} of {len(document.differences)} changed.")


def _period_text(period: PeriodDocument, epoch_seconds: int) -> str:
    days = days_of(period.epochs, epoch_seconds)
    state = ", provisional: an epoch is open" if period.provisional else ""
    plural = "" if len(period.epochs) == 1 else "s"
    return f"{days} (epoch{plural} {epochs_words(period.epochs)}), n = {period.n:,}{state}"


def _row(row: DifferenceDocument, *, shares: bool) -> list[str]:
    return [
        escape_control_characters(row.label),
        *(_level(value, shares=shares) for value in (row.before, row.after)),
        _change(row.difference, shares=shares),
        f"{_change(row.lower, shares=shares)} to {_change(row.upper, shares=shares)}",
        "changed" if row.changed else "no evidence",
    ]


def _level(value: float | None, *, shares: bool) -> str:
    if value is None:
        return "–"
    return f"{value * 100:.1f}%" if shares else f"{value:.5g}"


def _change(value: float | None, *, shares: bool) -> str:
    if value is None:
        return "–"
    return f"{value * 100:+.1f}" if shares else f"{value:+.5g}"
