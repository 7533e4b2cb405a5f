"""One collection: what people answer, how sure that is, how it changes, what it costs them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from flask import Response
from msgspec import UnsetType

from deniable_aggregator.dashboard import span_presets
from deniable_aggregator.dashboard.addresses import here
from deniable_aggregator.dashboard.charts import Chart
from deniable_aggregator.dashboard.current_collection import collection_of
from deniable_aggregator.dashboard.downloads import attached, files_of
from deniable_aggregator.dashboard.estimate_charts import bars, crossed, lines, quantity_rows
from deniable_aggregator.dashboard.guarantees import fakes, hidden, over_optimum, revealed
from deniable_aggregator.dashboard.page import Context, Page
from deniable_aggregator.dashboard.paging import paged
from deniable_aggregator.dashboard.query_args import (
    CollectionArguments,
    can_test,
    usual_show,
)
from deniable_aggregator.dashboard.row_selection import (
    MOST_COLUMNS,
    Asked,
    chips_of,
    fitting,
    in_order,
    leading,
    lines_of,
)
from deniable_aggregator.documents.estimates import EstimatesDocument, LabelEstimate
from deniable_aggregator.problem import Problem
from deniable_aggregator.queries import estimates as queries
from deniable_aggregator.queries.over_time import over_time
from deniable_aggregator.web.application import CSV, JSON, service
from deniable_aggregator.web.formats import estimates_as
from deniable_shared.domain import Record
from deniable_shared.dyadic import format_epsilon
from deniable_shared.epochs import epoch_start

ROWS = 25
_SAID_AS_STATES = ("too-few-reports", "read-refused")


def view(query: CollectionArguments, collection: str) -> Context | Response:
    """The page, or with `format` the document or the rows that it shows."""
    found = collection_of(collection)
    asked = Asked(found, query, here("dashboard.collection", query, collection=found.id))
    if query.format != "html":
        return _file(asked)
    return {**_about(asked), **_shown(asked)}


def _file(asked: Asked) -> Response:
    """What the API answers to the same question, to be kept as a file."""
    running, kind = service(), asked.query.format
    question = msgspec.structs.replace(asked.question, group_by=asked.query.by)
    batch = running.settings.relay_batch
    document = queries.answer(running.store, asked.found, question, relay_batch=batch)
    response = estimates_as(JSON if kind == "json" else CSV, document)
    return attached(response, f"{asked.found.manifest.name}.{kind}")


def _about(asked: Asked) -> Context:
    """What holds whatever was reported."""
    found, manifest = asked.found, asked.found.manifest
    domain = manifest.domain
    return {
        "found": found,
        "manifest": manifest,
        "epsilon": format_epsilon(manifest.epsilon_report),
        "optimum": over_optimum(found),
        "revealed": [*revealed(manifest), *hidden(found, service().settings.relay_batch)],
        "query": asked.query,
        "show": asked.show,
        "usual_show": usual_show(found),
        "can_test": can_test(found),
        "address": asked.address,
        "spans": span_presets.choices(found, service().store, service().clock()),
        "first_day": span_presets.day_of(found, asked.query.first),
        "last_day": span_presets.day_of(found, asked.query.last),
        "attributes": domain.topics if isinstance(domain, Record) else (),
        "crossed": asked.crossed,
        "combinations": found.estimator.tells != "tables",
    }


def _shown(asked: Asked) -> Context:
    """The estimates, or why there are none."""
    running = service()
    batch = running.settings.relay_batch
    try:
        document = queries.estimates(running.store, asked.found, asked.question, relay_batch=batch)
    except Problem as problem:
        if problem.slug not in _SAID_AS_STATES:
            raise
        return {"missing": problem}
    rows = fitting(asked, document)
    return {
        "missing": None,
        "document": document,
        "typical": _typical(document),
        "quantities": quantity_rows(document),
        "warnings": () if isinstance(document.warnings, UnsetType) else document.warnings,
        "associations": (
            () if isinstance(document.associations, UnsetType) else document.associations
        ),
        "fakes": list(fakes(asked.found, document, rows[0] if rows else None)),
        "held_out": document.evidence == "held-out",
        **_charts(asked, document, rows),
    }


def _charts(asked: Asked, document: EstimatesDocument, rows: list[LabelEstimate]) -> Context:
    followed = lines_of(asked, document, rows)
    part = paged(rows, asked.query.page, MOST_COLUMNS if in_order(asked) else ROWS)
    return {
        "part": part,
        "followed": followed,
        "estimates": (
            _estimates(asked, document, part.items, followed) if document.estimates else None
        ),
        "chips": chips_of(asked, followed, part.items),
        "over_time": _over_time(asked, followed),
        "labels": len(document.estimates),
    }


def _estimates(
    asked: Asked,
    document: EstimatesDocument,
    rows: Sequence[LabelEstimate],
    followed: Sequence[str],
) -> Chart:
    domain = asked.found.manifest.domain
    files = files_of(asked.address)
    if isinstance(domain, Record) and asked.crossed:
        title = " and ".join(asked.crossed)
        return crossed(document, domain, asked.crossed, title=title, files=files)
    return bars(
        rows,
        title=_TITLES.get(domain.type, "Who has what"),
        files=files,
        follow=leading(asked, followed),
        ordered=in_order(asked),
    )


_TITLES = {
    "bits": "How many say yes",
    "choice": "How many choose what",
    "number": "Where people are",
    "text": "What people write",
}


def _over_time(asked: Asked, followed: Sequence[str]) -> Chart | None:
    """None where nothing can be followed or there is one epoch only."""
    if not followed:
        return None
    series = over_time(service().store, asked.found, asked.question, labels=followed)
    if len(series.epochs) < 2:
        return None
    seconds = asked.found.manifest.epoch_seconds
    left = f", the newest {len(series.epochs)} epochs" if series.left_out else ""
    return lines(
        series,
        title=f"Over time{left}",
        epoch_start=lambda epoch: epoch_start(epoch, seconds),
        files=files_of(asked.address, by="epoch"),
        unit="" if asked.found.manifest.domain.type == "number" else "share",
    )


def _typical(document: EstimatesDocument) -> float | None:
    """Half the middle one of all intervals, as a share."""
    widths = sorted(
        row.upper - row.lower
        for row in document.estimates
        if row.upper is not None and row.lower is not None
    )
    return widths[len(widths) // 2] / 2 if widths else None


PAGE = Page(
    path="/collections/<collection>", title="Collection", view=view, query=CollectionArguments
)
