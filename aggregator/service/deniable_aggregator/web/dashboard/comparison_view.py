"""What the page of a comparison is asked, which two periods it shows first, and its chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta, UnsetType

from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.documents.comparison import (
    ComparisonArguments,
    ComparisonDocument,
    DifferenceDocument,
    TwoPeriods,
)
from deniable_aggregator.store.rows import EpochRow
from deniable_aggregator.web.dashboard.addresses import Format
from deniable_aggregator.web.dashboard.charts import Cell, Chart
from deniable_aggregator.web.dashboard.formatting import amount, digits_for, share
from deniable_aggregator.web.dashboard.paging import PageNumber
from deniable_shared.domains import Record

DAY_SECONDS = 86_400
USUAL_DAYS = 7
CHOICES = ((1, "Newest epoch against the one before"), (7, "7 days"), (30, "30 days"))


class CompareArguments(TwoPeriods, frozen=True):
    """Two periods, and what to say of them."""

    view: Annotated[Literal["chart", "table"], Meta(description="chart or table")] = "chart"
    table: Annotated[
        str, Meta(max_length=1000, description="names of attributes of a record, with commas")
    ] = ""
    candidate: Annotated[
        str, Meta(max_length=2000, description="texts that an answer may be, with commas")
    ] = ""
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
    """Usual pairs of periods of one length that follow each other, the one shown first at first."""
    if len(rows) < 2:
        return []
    seconds = collection.manifest.epoch_seconds
    usual = _span(rows, max(USUAL_DAYS * DAY_SECONDS // seconds, 1), "")
    made = {repr(usual.address): usual}
    for days, name in CHOICES:
        epochs = 1 if days == 1 else days * DAY_SECONDS // seconds
        if epochs and 2 * epochs <= len(rows):
            span = _span(rows, epochs, name if days == 1 else f"{name} against the {days} before")
            made[repr(span.address)] = span
    return sorted(made.values(), key=lambda span: span.address != usual.address)


def _span(rows: Sequence[EpochRow], epochs: int, name: str) -> PeriodPair:
    """The newest epochs with reports, and as many before."""
    size = min(epochs, len(rows) // 2)
    before, after = rows[-2 * size : -size], rows[-size:]
    ends = (before[0], before[-1], after[0], after[-1])
    said = name or f"Newest {size} epochs against the {size} before"
    return PeriodPair(said, *(str(row.epoch) for row in ends))


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


def difference_chart(
    document: ComparisonDocument, rows: Sequence[DifferenceDocument], files: Mapping[str, str]
) -> Chart:
    """A bar a label, from 0: what became more to the right."""
    points = document.unit == "share"
    digits = digits_for((100 if points else 1) * (row.upper - row.lower) for row in rows)
    return Chart(
        name="differences",
        title="Change in percentage points" if points else "Change",
        summary=f"{document.changed} of {len(document.differences)} changed; the table has all",
        kind="bars",
        drawing={
            "signed": True,
            "rows": [
                {
                    "label": row.label,
                    "value": row.difference,
                    "lower": row.lower,
                    "upper": row.upper,
                    "sure": row.changed,
                }
                for row in rows
            ],
        },
        columns=(
            "Answer" if points else "Of all people",
            *("Before", "After", "Change", "Interval", "Verdict"),
        ),
        rows=[_cells(row, digits, points) for row in rows],
        unit="points" if points else "",
        digits=digits,
        files=files,
    )


def _cells(row: DifferenceDocument, digits: int, points: bool) -> tuple[Cell, ...]:
    def level(value: float | None) -> str:
        return share(value, digits) if points else amount(value, digits)

    def as_change(value: float | None) -> str:
        return signed_text(value, digits, points=points)

    return (
        Cell(row.label),
        Cell(level(row.before), row.before),
        Cell(level(row.after), row.after),
        Cell(as_change(row.difference), row.difference),
        Cell(f"{as_change(row.lower)} to {as_change(row.upper)}"),
        Cell("changed" if row.changed else "no evidence"),
    )


def signed_text(value: float | None, digits: int = 1, *, points: bool = True) -> str:
    """+2.1 or −0.4, of shares in percentage points."""
    text = amount(None if value is None else 100 * value if points else value, digits)
    up = value is not None and value > 0 and any(digit in text for digit in "123456789")
    return f"+{text}" if up else text
