"""One collection: what people answer, how sure that is, how it changes, what it costs them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import UnsetType, structs

from deniable_aggregator.collections.authoring.snippet import client_snippet
from deniable_aggregator.queries import estimates as queries
from deniable_aggregator.queries.labels import label_series
from deniable_aggregator.queries.notes import estimates_with_notes
from deniable_aggregator.queries.pooled_tallies import readable_rows
from deniable_aggregator.web.application import CSV, JSON, service
from deniable_aggregator.web.auth.guard import collection_of
from deniable_aggregator.web.dashboard import known_truth, span_presets
from deniable_aggregator.web.dashboard.addresses import as_attachment, download_links, here
from deniable_aggregator.web.dashboard.day_fields import day_span
from deniable_aggregator.web.dashboard.estimate_charts import (
    bar_chart,
    cross_table,
    line_chart,
    with_notes,
)
from deniable_aggregator.web.dashboard.estimate_tables import plain_label, quantity_table
from deniable_aggregator.web.dashboard.ingest_health import health_of, rejection_totals
from deniable_aggregator.web.dashboard.page import Context, Page
from deniable_aggregator.web.dashboard.paging import paginate
from deniable_aggregator.web.dashboard.query_args import (
    CollectionArguments,
    can_test,
    default_show,
)
from deniable_aggregator.web.dashboard.results import promises, results, title_of
from deniable_aggregator.web.dashboard.row_selection import (
    MOST_COLUMNS,
    PageView,
    chosen_options,
    follow_chips,
    follow_links,
    is_ordered,
    matching_rows,
    series_labels,
)
from deniable_aggregator.web.formats import estimates_as
from deniable_gateway.problem import Problem
from deniable_shared.domains import Record
from deniable_shared.manifest.epochs import epoch_start, period_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flask import Response

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.estimates import EstimatesDocument, LabelEstimate
    from deniable_aggregator.store.rows import EpochRow
    from deniable_aggregator.web.dashboard.charts import Chart
    from deniable_aggregator.web.dashboard.span_presets import SpanPreset

TOP = 10
FEW = 12
"""So few answers are shown at once."""

ROWS = 50
POLL_SECONDS = 5
_EMPTY_STATES = ("too-few-reports", "read-refused")


def view(query: CollectionArguments, collection: str) -> Context | Response:
    """The page, or with `format` the document or the rows that it shows."""
    target = collection_of(collection)
    if query.format != "html":
        return _file(_page_view(target, query))
    days = day_span(query.first, query.last, target.manifest.epoch_seconds)
    page_view = _page_view(target, structs.replace(query, first=days.first, last=days.last))
    if days.wrong:
        return {**_collection_context(page_view, days.wrong), "status": 400}
    return {**_collection_context(page_view, {}), **_estimates_context(page_view)}


def _page_view(collection: Collection, query: CollectionArguments) -> PageView:
    address = here("dashboard.collection", query, collection=collection.id)
    store = service().store
    return PageView(collection, query, address, store, store.notes(collection.id))


def _file(page_view: PageView) -> Response:
    """What the API answers to the same question, to be kept as a file."""
    running, kind = service(), page_view.query.format
    arguments = structs.replace(page_view.arguments, group_by=page_view.query.by)
    batch = running.settings.relay_batch
    store, collection = running.store, page_view.collection
    document = queries.answer(store, collection, arguments, relay_batch=batch)
    document = estimates_with_notes(store, collection, document)
    response = estimates_as(JSON if kind == "json" else CSV, document)
    return as_attachment(response, f"{collection.manifest.name}.{kind}")


def _collection_context(page_view: PageView, wrong: Mapping[str, str]) -> Context:
    """What depends on no report; `wrong` has what to correct, by the name of the field."""
    collection, query = page_view.collection, page_view.query
    domain = collection.manifest.domain
    rows = readable_rows(collection, service().store.epochs(collection.id))
    spans = span_presets.span_options(collection, rows, service().clock())
    return {
        **promises(collection, service().settings.relay_batch),
        "query": query,
        "show": page_view.show,
        "default_show": default_show(collection),
        "can_test": can_test(collection),
        "address": page_view.address,
        "spans": spans,
        "steps": (None, None) if wrong else _steps(page_view, rows),
        "first_day": span_presets.day_text(collection, query.first),
        "last_day": span_presets.day_text(collection, query.last),
        "wrong": wrong,
        "chosen_options": chosen_options(page_view, spans),
        "attributes": domain.topics if isinstance(domain, Record) else (),
        "crossed_attributes": page_view.crossed_attributes,
        "combinations": collection.estimator.estimand != "tables",
    }


def _steps(
    page_view: PageView, rows: Sequence[EpochRow]
) -> tuple[SpanPreset | None, SpanPreset | None]:
    """The periods before and after the one that is shown."""
    query = page_view.query
    return span_presets.neighbour_spans(page_view.collection, rows, query.first, query.last)


def _estimates_context(page_view: PageView) -> Context:
    """The estimates, or why there are none."""
    try:
        return estimates_context(page_view)
    except Problem as problem:
        if problem.slug not in _EMPTY_STATES:
            raise
        return {"missing": problem, **_waiting_context(page_view, problem)}


def estimates_context(page_view: PageView) -> Context:
    """What the template `estimates.html` is given; raises what `queries.estimates` raises."""
    batch = service().settings.relay_batch
    document = queries.estimates(
        page_view.reports, page_view.collection, page_view.arguments, relay_batch=batch
    )
    rows = matching_rows(page_view, document)
    return {
        "missing": None,
        "as_table": page_view.query.view == "table",
        **results(page_view.collection, document, rows[0] if rows else None),
        "quantities": known_truth.mark_quantities(
            quantity_table(document), page_view.collection, document
        ),
        **_chart_context(page_view, document, rows),
    }


def _waiting_context(page_view: PageView, problem: Problem) -> Context:
    """What to do where no report has come: the code to copy, and what was rejected so far."""
    query, running = page_view.query, service()
    chosen = not (isinstance(query.first, UnsetType) and isinstance(query.last, UnsetType))
    if problem.slug != "too-few-reports" or problem.extra["n"] or chosen:
        return {}
    collection = page_view.collection
    health = health_of(collection, running.store, None, running.clock())
    return {
        "snippet": client_snippet(collection.manifest),
        "reasons": rejection_totals([health]),
        "seconds": POLL_SECONDS,
    }


def _chart_context(
    page_view: PageView, document: EstimatesDocument, rows: list[LabelEstimate]
) -> Context:
    followed = series_labels(page_view, document, rows)
    folded = _is_folded(page_view, rows)
    size = MOST_COLUMNS if is_ordered(page_view) else TOP if folded else ROWS
    part = paginate(rows, page_view.query.page, size)
    return {
        "folded": folded,
        "part": part,
        "followed": followed,
        "estimates": (
            _estimates_chart(page_view, document, part.items, followed)
            if document.estimates or not document.quantities
            else None
        ),
        "chips": follow_chips(page_view, document, followed, part.items),
        "over_time": _series_chart(page_view, followed),
        "labels": len(document.estimates),
    }


def _is_folded(page_view: PageView, rows: Sequence[LabelEstimate]) -> bool:
    """Whether only the first few of many answers are shown."""
    query = page_view.query
    whole = query.rows == "all" or query.q or query.page > 1
    return len(rows) > FEW and not whole and not is_ordered(page_view)


def _estimates_chart(
    page_view: PageView,
    document: EstimatesDocument,
    rows: Sequence[LabelEstimate],
    followed: Sequence[str],
) -> Chart:
    domain = page_view.collection.manifest.domain
    files = download_links(page_view.address)
    if isinstance(domain, Record) and page_view.crossed_attributes:
        title = " and ".join(page_view.crossed_attributes)
        names = page_view.crossed_attributes
        chart = cross_table(document, domain, names, title=title, files=files)
        return known_truth.mark_cells(chart, page_view.collection, document.epochs, names)
    chart = bar_chart(
        rows,
        title=title_of(page_view.collection),
        files=files,
        follow=follow_links(page_view, followed),
        ordered=is_ordered(page_view),
    )
    return known_truth.mark_rows(chart, page_view.collection, document.epochs)


def _series_chart(page_view: PageView, followed: Sequence[str]) -> Chart | None:
    """None where nothing can be followed or there is one epoch only."""
    if not followed:
        return None
    series = label_series(
        page_view.reports, page_view.collection, page_view.arguments, labels=followed
    )
    if len(series.epochs) < 2:
        return None
    seconds = page_view.collection.manifest.epoch_seconds
    domain = page_view.collection.manifest.domain
    period = period_name(seconds)
    left = f", the newest {len(series.epochs)} {period}s" if series.left_out else ""
    plain = {plain_label(domain, label): line for label, line in series.lines.items()}
    chart = line_chart(
        replace(series, lines=plain),
        title=f"Over time{left}",
        epoch_start=lambda epoch: epoch_start(epoch, seconds),
        files=download_links(page_view.address, by="epoch"),
        period=period,
        unit="" if domain.type == "number" else "share",
    )
    chart = with_notes(chart, page_view.notes, series.epochs, seconds)
    return known_truth.mark_lines(chart, page_view.collection, series)


PAGE = Page(
    path="/collections/<collection>", title="Collection", view=view, query=CollectionArguments
)
