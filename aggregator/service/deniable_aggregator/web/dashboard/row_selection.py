"""Which answers a view of a collection shows, in which order, and which it follows over time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from msgspec import UnsetType

from deniable_aggregator.queries.labels import MEAN, MEDIAN
from deniable_aggregator.web.dashboard.estimate_tables import plain_label, quantity_name
from deniable_aggregator.web.dashboard.formatting import chance
from deniable_aggregator.web.dashboard.query_args import (
    MOST_LINES,
    CollectionArguments,
    default_show,
    estimates_arguments,
)
from deniable_aggregator.web.dashboard.span_presets import SpanPreset, day_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.estimate_arguments import EstimatesArguments
    from deniable_aggregator.documents.estimates import EstimatesDocument, LabelEstimate
    from deniable_aggregator.store.protocols import Reports
    from deniable_aggregator.store.rows import NoteRow
    from deniable_aggregator.web.dashboard.addresses import Address

SHOW_NAMES = {"raw": "measured", "projected": "adjusted", "significant": "significant only"}
MOST_CHIPS = 12
MOST_COLUMNS = 1_000
USUAL_LINES = 3


@dataclass(frozen=True, slots=True)
class PageView:
    """A collection and one view of it; `reports` has the periods that may be seen.

    `notes` are drawn on the time axis.
    """

    collection: Collection
    query: CollectionArguments
    address: Address
    reports: Reports
    notes: Sequence[NoteRow] = ()

    @property
    def arguments(self) -> EstimatesArguments:
        """The same question as one puts it to the API."""
        return estimates_arguments(self.collection, self.query)

    @property
    def show(self) -> str:
        """raw, projected or significant."""
        return (
            default_show(self.collection)
            if isinstance(self.query.show, UnsetType)
            else self.query.show
        )

    @property
    def crossed_attributes(self) -> list[str]:
        """The two attributes of a cross-tabulation; empty where there is none."""
        marginal = self.arguments.marginal
        names = [name.strip() for name in marginal[0].split(",")] if marginal else []
        return names if len(names) == 2 else []


def chosen_options(page_view: PageView, spans: Sequence[SpanPreset]) -> list[str]:
    """What a view has chosen that is not usual, in a word or two each."""
    query = page_view.query
    usual_span = any((query.first, query.last) == (span.first, span.last) for span in spans)
    ends = (day_text(page_view.collection, end) for end in (query.first, query.last))
    return [
        *([] if usual_span else [" to ".join(ends)]),
        *([] if query.confidence == 0.95 else [chance(query.confidence)]),
        *(
            []
            if page_view.show == default_show(page_view.collection)
            else [SHOW_NAMES[page_view.show]]
        ),
        *([] if query.view == "chart" else ["table"]),
    ]


def matching_rows(page_view: PageView, document: EstimatesDocument) -> list[LabelEstimate]:
    """Those that fit the search, significant ones only where that is wanted."""
    words = page_view.query.q.casefold().split()
    rows = [
        row
        for row in document.estimates
        if all(word in row.label.casefold() for word in words)
        and (page_view.show != "significant" or row.significant is not False)
    ]
    if page_view.query.sort == "order" or is_ordered(page_view):
        return rows
    return sorted(rows, key=_size, reverse=True)


def series_labels(
    page_view: PageView, document: EstimatesDocument, rows: Sequence[LabelEstimate]
) -> list[str]:
    """The labels that are drawn over time: those asked for, else the first few.

    Of numbers mean and median are the labels. None of texts: they were found by looking at these
    very reports, and an interval of one epoch would not know that.
    """
    kind = page_view.collection.manifest.domain.type
    if kind == "text":
        return []
    available = _quantity_labels(document) or [row.label for row in document.estimates]
    usual = available[:1] if kind == "number" else [row.label for row in rows[:USUAL_LINES]]
    return [label for label in page_view.query.label if label in available] or usual


def _quantity_labels(document: EstimatesDocument) -> list[str]:
    names = {row.name for row in document.quantities}
    return [name for name in (MEAN, MEDIAN) if name in names]


def follow_links(page_view: PageView, followed: Sequence[str]) -> Callable[[str], str | None]:
    """Where a label leads: to the same view with it drawn over time, too, or no more."""

    def lead(label: str) -> str | None:
        if page_view.collection.manifest.domain.type in ("number", "text"):
            return None
        return _toggled(page_view, followed, label)

    return lead


def _toggled(page_view: PageView, followed: Sequence[str], label: str) -> str:
    others = [one for one in followed if one != label]
    added = others if label in followed else [*others, label][-MOST_LINES:]
    return page_view.address(label=added) + "#over-time"


@dataclass(frozen=True, slots=True)
class Chip:
    """A label that can be followed over time: its name, and where pressing it leads."""

    name: str
    href: str
    followed: bool


def follow_chips(
    page_view: PageView,
    document: EstimatesDocument,
    followed: Sequence[str],
    rows: Sequence[LabelEstimate],
) -> list[Chip]:
    """Those that are drawn over time, then others that could be; none where there is no choice."""
    quantities = _quantity_labels(document)
    domain = page_view.collection.manifest.domain
    name_of = quantity_name if quantities else partial(plain_label, domain)
    labels = quantities or dict.fromkeys([*followed, *(row.label for row in rows[:MOST_CHIPS])])
    if not followed or len(labels) < 2:
        return []
    return [
        Chip(name_of(label), _toggled(page_view, followed, label), label in followed)
        for label in labels
    ]


def is_ordered(page_view: PageView) -> bool:
    """Whether the answers are drawn side by side, as they follow each other."""
    domain = page_view.collection.manifest.domain
    return domain.type == "number" and domain.size <= MOST_COLUMNS


def _size(row: LabelEstimate) -> float:
    projected = None if isinstance(row.projected, UnsetType) else row.projected
    value = row.frequency if projected is None else projected
    return -2.0 if value is None else value
