"""What the template `estimates.html` is given: on the page of a collection, and in a file of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.documents.describe import when
from deniable_aggregator.web.dashboard.answer_tiles import answer_tiles
from deniable_aggregator.web.dashboard.estimate_tables import shares_table
from deniable_aggregator.web.dashboard.guarantees import (
    excess_error,
    fabrication_limits,
    relay_guarantees,
    report_guarantees,
)
from deniable_shared.manifest.epochs import epoch_end, epoch_start
from deniable_shared.randomness.dyadic import format_epsilon

if TYPE_CHECKING:
    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.estimates import EstimatesDocument, LabelEstimate
    from deniable_aggregator.web.dashboard.page import Context

DAY_SECONDS = 86_400

TITLES = {
    "bits": "How many say yes",
    "choice": "How many choose what",
    "number": "How many people gave which answer",
    "text": "What people write",
}


def promises(collection: Collection, relay_batch: int) -> Context:
    """What holds before anything is reported."""
    manifest = collection.manifest
    return {
        "collection": collection,
        "manifest": manifest,
        "epsilon": format_epsilon(manifest.epsilon_report),
        "optimum": excess_error(collection),
        "revealed": [*report_guarantees(manifest), *relay_guarantees(collection, relay_batch)],
    }


def results(
    collection: Collection, document: EstimatesDocument, example: LabelEstimate | None
) -> Context:
    """What the reports say, without charts and quantities; fake reports move `example`."""
    return {
        "document": document,
        "tiles": answer_tiles(collection, document),
        "period": period_of(collection, document),
        "typical": None if document.quantities else _typical_half_width(document),
        "shares": shares_table(document),
        "warnings": document.warnings or [],
        "associations": document.associations or [],
        "fakes": list(fabrication_limits(collection, document, example)),
        "held_out": document.evidence == "held-out",
    }


def period_of(collection: Collection, document: EstimatesDocument) -> str:
    """The first day and the last one; of shorter epochs the begin and the end."""
    seconds = collection.manifest.epoch_seconds
    first, end = epoch_start(document.epochs[0], seconds), epoch_end(document.epochs[-1], seconds)
    last = end - DAY_SECONDS if seconds % DAY_SECONDS == 0 else end
    return " to ".join(dict.fromkeys((when(first), when(last))))


def title_of(collection: Collection) -> str:
    """What the chart of all answers is called."""
    return TITLES.get(collection.manifest.domain.type, "Who has what")


def _typical_half_width(document: EstimatesDocument) -> float | None:
    """Half the middle one of all intervals, as a share."""
    widths = sorted(
        row.upper - row.lower
        for row in document.estimates
        if row.upper is not None and row.lower is not None
    )
    return widths[len(widths) // 2] / 2 if widths else None
