"""What a simulation showed, printed for people or for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.estimate_tables import truth_table
from deniable_aggregator.cli.output import emit, say

if TYPE_CHECKING:
    from deniable_aggregator.operations.demo.run import SimulationResult


def show(outcome: SimulationResult, *, as_json: bool) -> None:
    """The document, or a table a collection and a line about the reports."""
    if as_json:
        emit(outcome.document())
        return
    for result in outcome.collections:
        truth_table(result)
    rows = [row for result in outcome.collections for row in result.rows]
    covered = sum(row.covers for row in rows)
    uploads = outcome.uploads
    click.echo(
        f"{covered} of {len(rows)} intervals cover the truth. {uploads.accepted:,} of "
        f"{uploads.sent:,} reports accepted, {uploads.duplicates:,} duplicates, "
        f"{uploads.rejected:,} rejected, in {outcome.seconds:.1f} s."
    )
    if uploads.waiting:
        say(f"{uploads.waiting:,} reports were given up: the service took them too slowly.")
