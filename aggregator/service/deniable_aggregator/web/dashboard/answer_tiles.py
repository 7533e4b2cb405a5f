"""The answers of a collection in a few words, for the first tiles of its page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.web.dashboard.estimate_tables import (
    decimals_of,
    plain_label,
    quantity_name,
)
from deniable_aggregator.web.dashboard.formatting import amount, digits_for, share

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.estimates import (
        EstimatesDocument,
        LabelEstimate,
        QuantityDocument,
    )

TOP = {"bits": "Most say yes to", "choice": "Top answer", "text": "Most common text"}
_QUANTITIES = ("mean", "p50")


@dataclass(frozen=True, slots=True)
class AnswerTile:
    """One answer: its name, its label if it has one, its estimate, and its interval in words."""

    name: str
    label: str
    estimate: str
    interval: str


def answer_tiles(collection: Collection, document: EstimatesDocument) -> list[AnswerTile]:
    """Mean and median of numbers; of labels the two with the largest estimates."""
    if document.quantities:
        rows = [row for row in document.quantities if row.name in _QUANTITIES]
        return [_quantity_tile(row, decimals_of(document, row)) for row in rows]
    return list(_label_tiles(collection, document.estimates))


def _label_tiles(collection: Collection, rows: Sequence[LabelEstimate]) -> Iterator[AnswerTile]:
    estimated = [row for row in rows if row.frequency is not None]
    largest = sorted(estimated, key=lambda row: -(row.frequency or 0.0))[:2]
    for place, row in enumerate(largest):
        name = "Second" if place else TOP.get(collection.manifest.domain.type, "Most common")
        unsure = place and _reaches(row, largest[0])
        yield AnswerTile(
            name,
            plain_label(collection.manifest.domain, row.label),
            share(row.frequency, _digits(row)),
            _interval(row) + (", may be the first" if unsure else ""),
        )


def _quantity_tile(row: QuantityDocument, digits: int) -> AnswerTile:
    lower, upper = amount(row.lower, digits), amount(row.upper, digits)
    return AnswerTile(quantity_name(row.name), "", amount(row.value, digits), f"{lower} to {upper}")


def _interval(row: LabelEstimate) -> str:
    digits = _digits(row)
    return f"{share(row.lower, digits)} to {share(row.upper, digits)}"


def _digits(row: LabelEstimate) -> int:
    return digits_for([100 * ((row.upper or 0.0) - (row.lower or 0.0))])


def _reaches(row: LabelEstimate, first: LabelEstimate) -> bool:
    """Whether the intervals overlap, so that the order may be chance."""
    return row.upper is not None and first.lower is not None and row.upper > first.lower
