"""Flat rows by epoch, for charts in Grafana, notebooks and spreadsheets."""

from __future__ import annotations

from flask import Blueprint, Response

from deniable_aggregator.documents.estimate_arguments import SeriesArguments
from deniable_aggregator.documents.estimates import SeriesDocument
from deniable_aggregator.queries import series as queries
from deniable_aggregator.queries.notes import series_with_notes
from deniable_aggregator.web.api.operations import operation
from deniable_aggregator.web.application import service
from deniable_aggregator.web.formats import negotiated_answer, tables, with_next_link
from deniable_aggregator.web.table_rows import SERIES_COLUMNS, series_rows

blueprint = Blueprint("series", __name__)


@blueprint.get("/v1/collections/<collection>/series")
@operation(
    tag="analysts",
    role="viewer",
    query=SeriesArguments,
    answers=tables(SeriesDocument),
    problems=("unknown-collection", "read-refused", "not-acceptable"),
    span="estimate",
)
def series(collection: str, query: SeriesArguments) -> Response:
    """The estimates of `…/estimates?group_by=epoch`, as flat rows in order of time.

    `label` picks labels, each time it is given: of texts it is a candidate, of numbers also mean
    or p50. `from` and `to` may be unix milliseconds, as Grafana writes them. A page has at most
    366 epochs and, of many labels, about 20,000 rows; `next`, and the header `Link`, lead on.
    Each row has the `note` of its epoch, if a person wrote one.

    Do not average or add up epochs: request estimates of the whole span.
    """
    store, target = service().store, service().registry.get(collection)
    document = series_with_notes(store, target, queries.series(store, target, query))
    response = negotiated_answer(document, lambda: series_rows(document), SERIES_COLUMNS)
    return with_next_link(response, document.next)
