"""Comparison of two periods of one collection."""

from __future__ import annotations

from flask import Blueprint, Response

from deniable_aggregator.documents.comparison import ComparisonArguments, ComparisonDocument
from deniable_aggregator.queries import comparison as queries
from deniable_aggregator.web.api.operations import operation
from deniable_aggregator.web.application import service
from deniable_aggregator.web.formats import negotiated_answer, tables
from deniable_aggregator.web.table_rows import COMPARISON_COLUMNS, comparison_rows

blueprint = Blueprint("comparison", __name__)


@blueprint.get("/v1/collections/<collection>/comparison")
@operation(
    tag="analysts",
    role="viewer",
    query=ComparisonArguments,
    answers=tables(ComparisonDocument),
    problems=("unknown-collection", "read-refused", "too-few-reports", "not-acceptable"),
)
def comparison(collection: str, query: ComparisonArguments) -> Response:
    """The change of each label's frequency from an earlier period to a later one.

    The later period is `from` to `to`, the earlier one `before_from` to `before_to`; the later one
    must start after the earlier one ends. Intervals hold even if devices answered in both periods,
    and hold together unless `family=each`. Numbers are compared by mean and quantiles, texts by
    each `candidate`.
    """
    running = service()
    document = queries.comparison(running.store, running.registry.get(collection), query)
    return negotiated_answer(document, lambda: comparison_rows(document), COMPARISON_COLUMNS)
