"""What a report is written from: documents of the API, read in one go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_shared.manifest.model import MANIFEST_TYPE, Manifest
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.wire import dsse

if TYPE_CHECKING:
    from deniable_aggregator.client.connection import Arguments
    from deniable_aggregator.client.service_client import ServiceClient
    from deniable_aggregator.documents.estimates import EstimatesDocument, SeriesRow

MOST_COURSES = 12
"""Labels whose course over time is drawn: those with the largest frequencies."""

MOST_EPOCHS = 1_000


@dataclass(frozen=True, slots=True)
class ReportContents:
    """A collection's manifest, its estimates, and the rows of its epochs."""

    manifest: Manifest
    estimates: EstimatesDocument
    series: tuple[SeriesRow, ...]
    together: bool
    """Whether all intervals hold together."""


def read_contents(client: ServiceClient, collection: str, arguments: Arguments) -> ReportContents:
    """Ask the service for the estimates of these arguments; raises what it refuses."""
    estimates = client.estimates(collection, arguments).document
    signed = client.manifest(collection)
    body = dsse.unverified_payload(signed, payload_type=MANIFEST_TYPE)
    return ReportContents(
        parse_manifest(body),
        estimates,
        _series(client, collection, estimates, arguments),
        arguments.get("family") == "all",
    )


def _series(
    client: ServiceClient, collection: str, estimates: EstimatesDocument, arguments: Arguments
) -> tuple[SeriesRow, ...]:
    """Rows of the labels that are drawn; none of one epoch, and none of very many."""
    labels = _labels_to_draw(estimates)
    if not 1 < len(estimates.epochs) <= MOST_EPOCHS or not labels:
        return ()
    return tuple(client.series(collection, {**arguments, "label": labels}).rows)


def _labels_to_draw(estimates: EstimatesDocument) -> list[str]:
    """Of numbers mean and median, else the labels with the largest frequencies.

    Of texts none: they were found in these very reports.
    """
    if estimates.evidence:
        return []
    quantities = estimates.quantities
    if quantities:
        return [row.name for row in quantities if row.name in ("mean", "p50")]
    shares = {row.label: row.frequency for row in estimates.estimates if row.frequency is not None}
    largest = sorted(shares, key=lambda label: -shares[label])[:MOST_COURSES]
    return [label for label in shares if label in largest]
