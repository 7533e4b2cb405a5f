"""What a report is written from: documents of the API, asked for in one go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_shared import dsse
from deniable_shared.manifest import MANIFEST_TYPE, Manifest
from deniable_shared.manifest_parser import parse_manifest

if TYPE_CHECKING:
    from deniable_aggregator.process.connection import Connection, Parameter

__all__ = ["MOST_COURSES", "Document", "Facts", "gathered", "rows_of"]

Document = dict[str, object]
MOST_COURSES = 12
"""Labels whose course over time is drawn: those with the largest frequencies."""

MOST_EPOCHS = 1_000


@dataclass(frozen=True, slots=True)
class Facts:
    """A collection's manifest, its estimates, and the rows of its epochs."""

    manifest: Manifest
    estimates: Document
    series: tuple[Document, ...]
    together: bool
    """Whether all intervals hold together."""


def gathered(connection: Connection, collection: str, **asked: Parameter) -> Facts:
    """Ask the service; raises what it refuses."""
    path = f"/v1/collections/{collection}"
    estimates = connection.get_json(f"{path}/estimates", **asked)
    signed = connection.get(f"{path}/manifest", accept=dsse.MEDIA_TYPE)
    body = dsse.unverified_payload(signed, payload_type=MANIFEST_TYPE)
    return Facts(
        parse_manifest(body),
        estimates,
        _series(connection, path, estimates, asked),
        asked.get("family") == "all",
    )


def rows_of(value: object) -> list[Document]:
    """The objects of a JSON array."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _series(
    connection: Connection, path: str, estimates: Document, asked: Mapping[str, Parameter]
) -> tuple[Document, ...]:
    """Rows of the labels that are drawn; none of one epoch, and none of very many."""
    epochs = estimates["epochs"]
    labels = _drawn(estimates)
    if not isinstance(epochs, list) or not 1 < len(epochs) <= MOST_EPOCHS or not labels:
        return ()
    rows: list[Document] = []
    following: object = asked.get("from")
    while True:
        given = dict(asked) | {"from": None if following is None else str(following)}
        page = connection.get_json(f"{path}/series", label=labels, **given)
        rows += rows_of(page["rows"])
        following = page["next"]
        if following is None:
            return tuple(rows)


def _drawn(estimates: Document) -> list[str]:
    """Of numbers mean and median, else the labels with the largest frequencies.

    Of texts none: they were found in these very reports.
    """
    if "evidence" in estimates:
        return []
    told = [*rows_of([estimates.get("mean")]), *rows_of(estimates.get("quantiles"))]
    if told:
        names = [str(row["name"]) for row in told]
        return [name for name in names if name in ("mean", "p50")]
    known = [row for row in rows_of(estimates["estimates"]) if row["frequency"] is not None]
    largest = sorted(known, key=lambda row: -float(str(row["frequency"])))[:MOST_COURSES]
    kept = {str(row["label"]) for row in largest}
    return [label for row in known if (label := str(row["label"])) in kept]
