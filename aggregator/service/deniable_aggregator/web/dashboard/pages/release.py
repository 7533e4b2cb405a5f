"""One release as it was made: what was drawn, how sure it is, what it cost and promises.

Where it opened a session, analysts ask it here. That costs nothing, but it is asked by POST: each
answer that is new is kept before it is shown, and what is opened by an address keeps nothing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

from flask import Response, request
from msgspec import UNSET, Meta

from deniable_aggregator.documents.describe import promise_words, typical_words
from deniable_aggregator.documents.fields import Arguments
from deniable_aggregator.queries.releases import release
from deniable_aggregator.web.application import CSV, answer, service
from deniable_aggregator.web.auth.guard import collection_of, visitor_may
from deniable_aggregator.web.dashboard import known_truth
from deniable_aggregator.web.dashboard.addresses import Format, as_attachment, here
from deniable_aggregator.web.dashboard.page import Context, Page, Post
from deniable_aggregator.web.dashboard.release_charts import (
    charts_of,
    error_bar_rows,
    facts_of,
    labels_of_ranges,
    tables_of,
)
from deniable_aggregator.web.dashboard.release_words import error_sentence, result_sentence
from deniable_aggregator.web.dashboard.session_form import (
    answer_text,
    ask_session,
    chosen_labels,
    label_boxes,
    questions_left_text,
)
from deniable_aggregator.web.formats import as_table
from deniable_gateway.problem import Problem, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.collections.registry import Collection


class ReleaseView(Arguments, frozen=True):
    """As a page, or as a file: the document that the API has, or the rows of one of its tables."""

    format: Format = "html"
    table: Annotated[
        str, Meta(pattern="^[a-z_]{1,40}$", description="csv: the name of a table of the result")
    ] = ""


def view(query: ReleaseView, collection: str, release_id: str) -> Context | Response:
    """Of its document, which the API has under the same id; a charge without a result says so."""
    target = collection_of(collection)
    return (
        _page_context(target, release_id)
        if query.format == "html"
        else _file(target, release_id, query)
    )


def act(collection: str, release_id: str) -> Context:
    """Ask the session, and show the release with the answer; what is refused is said there."""
    target = collection_of(collection)
    labels = chosen_labels(request.form.getlist("label"), request.form.get("labels", ""))
    try:
        answer_document = ask_session(target, release_id, labels)
    except Problem as problem:
        context = _page_context(target, release_id, labels)
        return {**context, "refused": problem, "status": problem.status}
    return {**_page_context(target, release_id, labels), "answer": answer_text(answer_document)}


def _file(collection: Collection, release_id: str, query: ReleaseView) -> Response:
    document = release(service().store, collection, release_id)
    name = f"{collection.name}-{document.release}.{query.format}"
    if query.format == "json":
        return as_attachment(answer(document), name)
    tables = tables_of(document)
    if query.table not in tables:
        accepted = f"one of {', '.join(tables)}" if tables else "left out: there is no table in it"
        raise refuse("table", accepted=accepted, given=query.table)
    columns = tuple(tables[query.table][0])
    rows = [{column: _cell(row.get(column)) for column in columns} for row in tables[query.table]]
    return as_attachment(as_table(CSV, rows, columns, {}), name)


def _cell(value: object) -> object:
    """A list as JSON; texts and numbers as they are."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value


def _page_context(collection: Collection, release_id: str, labels: Sequence[str] = ()) -> Context:
    document = release(service().store, collection, release_id)
    ranges = labels_of_ranges(document, collection.manifest.domain)
    address = here(
        "dashboard.release", ReleaseView(), collection=collection.id, release_id=document.release
    )
    return {
        "collection": collection,
        "manifest": collection.manifest,
        "document": document,
        "n": None if document.n is UNSET else document.n,
        "too_few": () if document.too_few_reports is UNSET else document.too_few_reports,
        "sentence": result_sentence(document),
        "error": error_sentence(document.error_bars, document.parameters, document.n),
        "facts": facts_of(document),
        "charts": [
            known_truth.mark_rows(chart, collection, document.epochs, groups=ranges)
            for chart in charts_of(
                document, address, ordered=collection.manifest.domain.type == "number"
            )
        ],
        "bars": error_bar_rows(document.error_bars),
        "typical": list(typical_words(document)),
        "promised": list(promise_words(document)),
        "place": None if document.log is UNSET else document.log,
        "asks": visitor_may("analyst"),
        "questions_left": questions_left_text(collection, release_id) if document.questions else "",
        "chosen": labels,
        "boxes": label_boxes(collection),
        "by_cells": collection.manifest.domain.type == "record",
        "answer": None,
        "refused": None,
    }


PAGE = Page(
    path="/collections/<collection>/releases/<release_id>",
    title="Release",
    view=view,
    query=ReleaseView,
    post=Post("analyst", act),
)
