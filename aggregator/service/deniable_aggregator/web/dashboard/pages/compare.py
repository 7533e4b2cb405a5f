"""Two periods of one collection: what changed, how sure that is, or that nothing says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.documents.describe import when
from deniable_aggregator.queries.comparison import comparison
from deniable_aggregator.queries.pooled_tallies import readable_rows
from deniable_aggregator.web.application import CSV, answer, service
from deniable_aggregator.web.auth.guard import collection_of
from deniable_aggregator.web.dashboard import known_truth, span_presets
from deniable_aggregator.web.dashboard.addresses import Address, as_attachment, download_links, here
from deniable_aggregator.web.dashboard.comparison_charts import (
    difference_chart,
    display_name,
    overlay_chart,
    people_needed,
    period_levels,
    signed_text,
)
from deniable_aggregator.web.dashboard.comparison_view import (
    CompareArguments,
    checked_days,
    comparison_arguments,
    period_pairs,
)
from deniable_aggregator.web.dashboard.formatting import count, digits_for
from deniable_aggregator.web.dashboard.page import Context, Page
from deniable_aggregator.web.dashboard.paging import paginate
from deniable_aggregator.web.formats import as_table
from deniable_aggregator.web.table_rows import COMPARISON_COLUMNS, comparison_rows
from deniable_gateway.problem import Problem
from deniable_shared.domains import Record
from deniable_shared.manifest.epochs import epoch_start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flask import Response

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.comparison import (
        ComparisonArguments,
        ComparisonDocument,
        DifferenceDocument,
    )

ROWS = 25
MOST_SAID = 3
_EMPTY_STATES = ("too-few-reports", "read-refused")


def view(query: CompareArguments, collection: str) -> Context | Response:
    """The API's comparison of these two periods, or why there is none; with `format` a file."""
    target = collection_of(collection)
    rows = readable_rows(target, service().store.epochs(target.id))
    pairs = period_pairs(target, rows)
    domain = target.manifest.domain
    query, wrong = checked_days(query, target.manifest.epoch_seconds)
    address = here("dashboard.compare", query, collection=target.id)
    about: Context = {
        "collection": target,
        "manifest": target.manifest,
        "query": query,
        "choices": pairs,
        "wrong": wrong,
        "attributes": domain.topics if isinstance(domain, Record) else (),
        "address": address,
    }
    if not pairs or (domain.type == "text" and not query.candidate):
        return {**about, "document": None, "missing": None, "wanted": None}
    wanted = comparison_arguments(target, query, pairs[0])
    if query.format != "html":
        return _file(target, wanted, query.format)
    about = {**about, **_period_fields(target, wanted)}
    if wrong:
        return {**about, "document": None, "missing": None, "status": 400}
    return {**about, **_comparison_context(target, query, wanted, address)}


def _file(collection: Collection, wanted: ComparisonArguments, kind: str) -> Response:
    """What the API answers to the same question."""
    document = comparison(service().store, collection, wanted)
    rows = comparison_rows(document)
    response = answer(document) if kind == "json" else as_table(CSV, rows, COMPARISON_COLUMNS, {})
    return as_attachment(response, f"{collection.name}-compared.{kind}")


def _period_fields(collection: Collection, wanted: ComparisonArguments) -> Context:
    """What the date fields show."""
    return {
        "wanted": wanted,
        "days": [
            span_presets.day_text(collection, given)
            for given in (wanted.before_first, wanted.before_last, wanted.first, wanted.last)
        ],
    }


def _comparison_context(
    collection: Collection, query: CompareArguments, wanted: ComparisonArguments, address: Address
) -> Context:
    try:
        document = comparison(service().store, collection, wanted)
    except Problem as problem:
        if problem.extra.get("argument") == "from":
            wrong = {"from": _order_cure(collection, wanted)}
            return {"document": None, "missing": None, "wrong": wrong, "status": 400}
        if problem.slug not in _EMPTY_STATES:
            raise
        return {"document": None, "missing": problem}
    rows = _order_by_change(document)
    part = paginate(rows, query.page, ROWS)
    files, levels = download_links(address), period_levels(collection, wanted)
    chart = difference_chart(document, part.items, files)
    return {
        "missing": None,
        "document": document,
        "part": part,
        "chart": known_truth.mark_changes(chart, collection, document),
        "said": [_change_text(document, row) for row in rows[:MOST_SAID] if row.changed],
        "overlay": overlay_chart(document, part.items, levels, files=files),
        "hidden": _undetected_change(document),
        "needed": _needed_text(document),
        "spans": [_span(collection, each.epochs) for each in (document.before, document.after)],
    }


def _order_cure(collection: Collection, wanted: ComparisonArguments) -> str:
    """What to do where the later period does not start after the earlier one ends."""
    start, end = (
        span_presets.day_text(collection, given) for given in (wanted.first, wanted.before_last)
    )
    return (
        f"After starts on {start}, and Before ends on {end}. "
        "Choose a later start, or swap the two periods"
    )


def _order_by_change(document: ComparisonDocument) -> Sequence[DifferenceDocument]:
    """What changed first, the largest change first; numbers in their order."""
    if document.unit == "value":
        return document.differences
    return sorted(
        document.differences,
        key=lambda row: (row.changed, abs(row.difference or 0.0)),
        reverse=True,
    )


def _change_text(document: ComparisonDocument, row: DifferenceDocument) -> tuple[str, str]:
    """What, and by how much."""
    points = document.unit == "share"
    digits = digits_for([(100 if points else 1) * (row.upper - row.lower)])
    moved, low, high = (
        signed_text(each, digits, points=points) for each in (row.difference, row.lower, row.upper)
    )
    return display_name(
        document, row.label
    ), f"{moved}{' points' if points else ''} ({low} to {high})"


def _undetected_change(document: ComparisonDocument) -> str:
    """The largest change that an interval without evidence leaves possible."""
    points = document.unit == "share"
    widths = [max(-row.lower, row.upper) for row in document.differences if not row.changed]
    if not widths:
        return ""
    digits = digits_for([(200 if points else 2) * max(widths)])
    return signed_text(max(widths), digits, points=points).lstrip("+") + (
        " points" if points else ""
    )


def _needed_text(document: ComparisonDocument) -> str:
    """How many people would show the largest difference that chance may explain.

    Empty if there is none, or if it is 0 at the digits shown.
    """
    needed = people_needed(document)
    if needed is None:
        return ""
    row, reports = needed
    points = document.unit == "share"
    digits = digits_for([(100 if points else 1) * (row.upper - row.lower)])
    moved = signed_text(row.difference, digits, points=points)
    if not any(digit in moved for digit in "123456789"):
        return ""
    unit = " points" if points else ""
    people = "people" if document.repeat == "once" else "reports"
    return (
        f"The largest difference without evidence is “{display_name(document, row.label)}”, "
        f"{moved}{unit}. If it is real, about {count(reports)} {people} in each period would "
        "show it."
    )


def _span(collection: Collection, epochs: Sequence[int]) -> str:
    """First to last day."""
    first, last = (
        when(epoch_start(epoch, collection.manifest.epoch_seconds))
        for epoch in (epochs[0], epochs[-1])
    )
    return first if first == last else f"{first} to {last}"


PAGE = Page(
    path="/collections/<collection>/compare", title="Compare", view=view, query=CompareArguments
)
