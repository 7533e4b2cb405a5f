"""What the page of a comparison is asked, and which two periods it shows first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import UNSET, Meta, UnsetType, field, structs

from deniable_aggregator.documents.comparison import (
    ComparisonArguments,
    TwoPeriods,
)
from deniable_aggregator.web.dashboard.addresses import Format
from deniable_aggregator.web.dashboard.day_fields import DayText, day_span
from deniable_aggregator.web.dashboard.paging import PageNumber
from deniable_shared.domains import Record
from deniable_shared.manifest.epochs import period_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.store.rows import EpochRow

DAY_SECONDS = 86_400
USUAL_DAYS = 7
CHOICES = (1, 7, 30, 90)
"""Days of each period; 1 means one epoch."""


class CompareArguments(TwoPeriods, frozen=True):
    """Two periods, and what to say of them; days are as they were written."""

    first: DayText | UnsetType = field(default=UNSET, name="from")
    last: DayText | UnsetType = field(default=UNSET, name="to")
    before_first: DayText | UnsetType = field(default=UNSET, name="before_from")
    before_last: DayText | UnsetType = field(default=UNSET, name="before_to")

    view: Annotated[Literal["chart", "table"], Meta(description="chart or table")] = "chart"
    table: Annotated[
        str, Meta(max_length=1000, description="names of attributes, separated by commas")
    ] = ""
    candidate: Annotated[str, Meta(max_length=2000, description="texts, separated by commas")] = ""
    page: PageNumber = 1
    format: Format = "html"


@dataclass(frozen=True, slots=True)
class PeriodPair:
    """Two periods as an address names them."""

    name: str
    before_from: str
    before_to: str
    after_from: str
    after_to: str

    @property
    def address(self) -> Mapping[str, object]:
        """What the address says of them."""
        return {
            "before_from": self.before_from,
            "before_to": self.before_to,
            "from": self.after_from,
            "to": self.after_to,
            "page": 1,
        }


def period_pairs(collection: Collection, rows: Sequence[EpochRow]) -> list[PeriodPair]:
    """Usual pairs of periods of one length that follow each other, the one shown first at first.

    Of closed epochs; of open ones, too, where fewer than two are closed.
    """
    closed = [row for row in rows if row.closed_at is not None]
    rows = closed if len(closed) > 1 else rows
    if len(rows) < 2:
        return []
    seconds = collection.manifest.epoch_seconds
    usual = _span(collection, rows, max(USUAL_DAYS * DAY_SECONDS // seconds, 1))
    made = {repr(usual.address): usual}
    for days in CHOICES:
        epochs = 1 if days == 1 else days * DAY_SECONDS // seconds
        if epochs and 2 * epochs <= len(rows):
            span = _span(collection, rows, epochs)
            made[repr(span.address)] = span
    return sorted(made.values(), key=lambda span: span.address != usual.address)


def _span(collection: Collection, rows: Sequence[EpochRow], epochs: int) -> PeriodPair:
    """The newest epochs with reports, and as many before."""
    size = min(epochs, len(rows) // 2)
    before, after = rows[-2 * size : -size], rows[-size:]
    ends = (before[0], before[-1], after[0], after[-1])
    period = period_name(collection.manifest.epoch_seconds)
    name = f"Newest {period} against the one before"
    if size > 1:
        name = f"{size} {period}s against the {size} before"
    return PeriodPair(name, *(str(row.epoch) for row in ends))


def checked_days(
    query: CompareArguments, seconds: int
) -> tuple[CompareArguments, Mapping[str, str]]:
    """The query with the days of each period in their order, and what is wrong with which field."""
    after = day_span(query.first, query.last, seconds)
    names = ("before_from", "before_to")
    before = day_span(query.before_first, query.before_last, seconds, names)
    checked = structs.replace(
        query,
        first=after.first,
        last=after.last,
        before_first=before.first,
        before_last=before.last,
    )
    wrong = {**before.wrong, **after.wrong}
    chosen = (query.first, query.last, query.before_first, query.before_last)
    if any(each is not UNSET for each in chosen):
        wrong |= {
            name: "Write a day like 2026-11-22"
            for name, day in (("before_to", before.last), ("from", after.first))
            if isinstance(day, UnsetType)
        }
    return checked, wrong


def comparison_arguments(
    collection: Collection, query: CompareArguments, usual: PeriodPair
) -> ComparisonArguments:
    """The same question as one puts it to the API."""
    named = (query.first, query.last, query.before_first, query.before_last)
    times = (usual.after_from, usual.after_to, usual.before_from, usual.before_to)
    first, last, before_first, before_last = (
        times if all(isinstance(each, UnsetType) for each in named) else named
    )
    return ComparisonArguments(
        first=first,
        last=last,
        before_first=before_first,
        before_last=before_last,
        confidence=query.confidence,
        family=query.family,
        marginal=tables_of(collection, query),
        candidate=[text.strip() for text in query.candidate.split(",") if text.strip()],
    )


def tables_of(collection: Collection, query: CompareArguments) -> list[str]:
    """Each attribute of a record by itself, unless one table is wanted or none is available."""
    domain = collection.manifest.domain
    if not isinstance(domain, Record):
        return []
    if query.table:
        return [query.table]
    return [] if collection.mechanism.structure is None else list(domain.topics)
