"""The results of a public question, for anyone: as a page, as JSON or as CSV.

Finished periods under `live` and `closed`, releases that were made under `releases`. No cookie
and no token changes what is shown, so that anyone may keep a copy for a while.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from flask import Response, render_template, url_for
from msgspec import UNSET, Meta, UnsetType, field, structs, to_builtins

from deniable_aggregator.documents.fields import Arguments
from deniable_aggregator.queries import estimates as queries
from deniable_aggregator.queries.public_results import (
    finished_periods,
    public_collection,
    public_releases,
)
from deniable_aggregator.web.application import CSV, JSON, answer, service
from deniable_aggregator.web.dashboard.addresses import Format, as_attachment, here
from deniable_aggregator.web.dashboard.day_fields import DayText
from deniable_aggregator.web.dashboard.page import Page
from deniable_aggregator.web.dashboard.pages import menu
from deniable_aggregator.web.dashboard.pages.collection import estimates_context
from deniable_aggregator.web.dashboard.paging import PageNumber
from deniable_aggregator.web.dashboard.public_cache import cached
from deniable_aggregator.web.dashboard.query_args import MOST_LINES, CollectionArguments
from deniable_aggregator.web.dashboard.release_charts import charts_of, facts_of
from deniable_aggregator.web.dashboard.release_words import error_sentence, result_sentence
from deniable_aggregator.web.dashboard.results import promises
from deniable_aggregator.web.dashboard.row_selection import PageView
from deniable_aggregator.web.formats import as_table, estimates_as
from deniable_gateway.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.releases import PublicReleasesDocument, ReleaseDocument
    from deniable_aggregator.web.dashboard.page import Context
    from deniable_aggregator.web.spreadsheet import Row

RELEASE_COLUMNS = ("release", "created", "mechanism", "epochs", "n", "result", "error_bars")


class PublicArguments(Arguments, frozen=True):
    """Which periods, which part of a long list, which labels over time, and in which form."""

    first: DayText | UnsetType = field(default=UNSET, name="from")
    last: DayText | UnsetType = field(default=UNSET, name="to")
    rows: Annotated[Literal["top", "all"], Meta(description="top or all")] = "top"
    page: PageNumber = 1
    label: Annotated[
        list[str],
        Meta(max_length=MOST_LINES, description="up to 5 labels to follow, once for each"),
    ] = field(default_factory=list)
    by: Annotated[Literal["epoch"], Meta(description="epoch: csv and json of each")] | UnsetType = (
        UNSET
    )
    format: Format = "html"


def view(query: PublicArguments, collection: str) -> Response:
    """The page or the file; a question that is not public is unknown here."""
    running = service()
    target = public_collection(running.registry, collection)
    return cached(target, lambda: _made(target, query))


def _made(collection: Collection, query: PublicArguments) -> Response:
    released = collection.manifest.read == "releases"
    if query.format == "html":
        contents = _releases_context if released else _estimates_context
        return _page(collection, contents(collection, query))
    document = _releases_file(collection, query) if released else _estimates_file(collection, query)
    return as_attachment(document, f"{collection.manifest.name}.{query.format}")


def _page(collection: Collection, contents: Context) -> Response:
    name = collection.manifest.name
    embed = service().settings.public_url.rstrip("/") + url_for("dashboard.embed", collection=name)
    html = render_template(
        "pages/public.html",
        **{**promises(collection, service().settings.relay_batch), **contents},
        title="Public results",
        current="public",
        visitor=None,
        menu=tuple((name, page) for name, page in menu() if page.role is None),
        operator_menu=(),
        snippet=f'<iframe src="{embed}" width="100%" height="420" title="{name}"></iframe>',
    )
    return Response(html, content_type="text/html; charset=utf-8")


def page_view_of(collection: Collection, query: PublicArguments) -> PageView:
    """The usual view of these arguments, of finished periods only."""
    address = here("dashboard.public", query, collection=collection.id)
    usual = CollectionArguments(**structs.asdict(query))
    return PageView(collection, usual, address, finished_periods(service().store, collection))


def _estimates_context(collection: Collection, query: PublicArguments) -> Context:
    page_view = page_view_of(collection, query)
    try:
        context = estimates_context(page_view)
    except Problem as problem:
        if problem.slug != "too-few-reports":
            raise
        context = {"missing": problem}
    return {
        **context,
        "query": page_view.query,
        "address": page_view.address,
        "show": page_view.show,
    }


def _estimates_file(collection: Collection, query: PublicArguments) -> Response:
    page_view = page_view_of(collection, query)
    arguments = structs.replace(page_view.arguments, group_by=query.by)
    batch = service().settings.relay_batch
    document = queries.answer(page_view.reports, collection, arguments, relay_batch=batch)
    return estimates_as(JSON if query.format == "json" else CSV, document)


def _releases_context(collection: Collection, _query: PublicArguments) -> Context:
    releases = public_releases(service().store, collection).releases
    return {"releases": [_release_context(collection, each) for each in releases]}


def _release_context(collection: Collection, document: ReleaseDocument) -> Context:
    address = here("dashboard.public", PublicArguments(), collection=collection.id)
    ordered = collection.manifest.domain.type == "number"
    charts = charts_of(document, address, ordered=ordered)
    return {
        "document": document,
        "n": None if document.n is UNSET else document.n,
        "sentence": result_sentence(document),
        "error": error_sentence(document.error_bars, document.parameters, document.n),
        "facts": facts_of(document),
        "charts": [
            replace(chart, name=f"{chart.name}-{document.release}", files=None) for chart in charts
        ],
    }


def _releases_file(collection: Collection, query: PublicArguments) -> Response:
    document = public_releases(service().store, collection)
    if query.format == "json":
        return answer(document)
    return as_table(CSV, _release_rows(document), RELEASE_COLUMNS, {})


def _release_rows(document: PublicReleasesDocument) -> Iterator[Row]:
    for each in document.releases:
        plain = to_builtins(each)
        yield {name: _cell(plain.get(name)) for name in RELEASE_COLUMNS}


def _cell(value: object) -> object:
    """Lists and objects as JSON; texts and numbers as they are."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


PAGE = Page(
    path="/public/<collection>",
    title="Public results",
    view=view,
    role=None,
    query=PublicArguments,
)
