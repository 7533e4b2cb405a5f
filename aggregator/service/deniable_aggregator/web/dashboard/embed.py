"""A chart of a public question to put into other sites: no cookie, no script, no form.

Any site may frame it (docs/decisions/0049): it shows what anyone may read, and has nothing to
press but a link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from flask import Response, g, render_template, request
from msgspec import Meta, structs

from deniable_aggregator.collections.registry import UnknownCollection
from deniable_aggregator.documents.fields import Arguments
from deniable_aggregator.queries import estimates as queries
from deniable_aggregator.queries.public_results import public_collection, public_releases
from deniable_aggregator.web.application import service
from deniable_aggregator.web.arguments import from_pairs
from deniable_aggregator.web.dashboard.estimate_charts import bar_chart
from deniable_aggregator.web.dashboard.estimate_tables import quantity_table
from deniable_aggregator.web.dashboard.estimates_file import dark_by_system, style_hash
from deniable_aggregator.web.dashboard.pages.public import PublicArguments, page_view_of
from deniable_aggregator.web.dashboard.public_cache import cached
from deniable_aggregator.web.dashboard.release_words import error_sentence, result_sentence
from deniable_aggregator.web.dashboard.results import period_of, title_of
from deniable_aggregator.web.dashboard.row_selection import matching_rows
from deniable_gateway.problem import Problem

if TYPE_CHECKING:
    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.web.dashboard.page import Context

PATH = "/embed/<collection>"
MOST_ROWS = 10


class EmbedArguments(Arguments, frozen=True):
    """Which theme; without one that of the reader's system."""

    theme: Annotated[Literal["auto", "light", "dark"], Meta(description="auto, light or dark")] = (
        "auto"
    )


def serve(collection: str) -> Response:
    """The chart, with its own policy; a question that is not public is unknown here."""
    query = from_pairs(list(request.args.lists()), EmbedArguments)
    g.own_headers = _headers()
    try:
        target = public_collection(service().registry, collection)
    except UnknownCollection:
        return _html(404, collection=None, theme=query.theme)
    return cached(target, lambda: _page(target, query.theme))


def _headers() -> dict[str, str]:
    """Framed by any site; it loads our styles and marks, and nothing else."""
    return {
        "Content-Security-Policy": (
            f"default-src 'none'; style-src 'self' '{style_hash(dark_by_system())}'; "
            "img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors *"
        ),
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }


def _page(collection: Collection, theme: str) -> Response:
    released = collection.manifest.read == "releases"
    contents = _released(collection) if released else _estimated(collection)
    return _html(200, **contents, collection=collection, theme=theme)


def _html(status: int, **context: object) -> Response:
    html = render_template("embed.html", **context, style=dark_by_system())
    return Response(html, status=status, content_type="text/html; charset=utf-8")


def _released(collection: Collection) -> Context:
    """The newest release in words."""
    newest = public_releases(service().store, collection).releases[:1]
    return {
        "releases": [
            {
                "document": each,
                "sentence": result_sentence(each),
                "error": error_sentence(each.error_bars, each.parameters, each.n),
            }
            for each in newest
        ]
    }


def _estimated(collection: Collection) -> Context:
    """The largest answers, or mean and quantiles; nothing where there are too few reports."""
    view = page_view_of(collection, PublicArguments())
    arguments = structs.replace(view.arguments, projection="none")
    try:
        document = queries.estimates(view.reports, collection, arguments)
    except Problem as problem:
        if problem.slug != "too-few-reports":
            raise
        return {"chart": None}
    rows = matching_rows(view, document)[:MOST_ROWS]
    chart = quantity_table(document) or bar_chart(
        rows, title=title_of(collection), files={}, follow=lambda _label: None
    )
    return {
        "chart": chart,
        "document": document,
        "period": period_of(collection, document),
        "left_out": 0 if document.quantities else len(document.estimates) - len(rows),
    }
