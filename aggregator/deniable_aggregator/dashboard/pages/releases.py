"""Releases of one collection: those made, and a new one: its price first, then the confirmation.

Looking never spends, whatever stands in the address. What spends is the form of an analyst, in the
same act as the API's; it ends at the release's own address, so that loading again reads it.
"""

from __future__ import annotations

from flask import Response, request, url_for

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.access.guard import current_identity, see_other
from deniable_aggregator.dashboard import span_presets
from deniable_aggregator.dashboard.addresses import here
from deniable_aggregator.dashboard.current_collection import collection_of, may
from deniable_aggregator.dashboard.page import Context, Page, Post
from deniable_aggregator.dashboard.paging import paged
from deniable_aggregator.dashboard.release_charts import (
    expected_rows,
    left_rows,
)
from deniable_aggregator.dashboard.release_form import (
    ReleasesArguments,
    ReleasesQuery,
    confirmed,
    families,
    fields_of,
    given,
    hidden,
    priced,
)
from deniable_aggregator.documents.describe import promise_words, typical_words
from deniable_aggregator.documents.releases import QuoteDocument
from deniable_aggregator.problem import Problem
from deniable_aggregator.queries.releases import releases
from deniable_aggregator.registry import Collection
from deniable_aggregator.web.application import service
from deniable_aggregator.web.arguments import from_given

ROWS = 25


def view(query: ReleasesArguments, collection: str) -> Context:
    """The list; for analysts the form, too, and the price of what it was filled in with."""
    return _shown(collection_of(collection), query)


def act(collection: str) -> Context | Response:
    """Make the release that was priced, and go to it; what is refused is said on the page."""
    found, who = collection_of(collection), current_identity()
    sent = [(name, values) for name, values in request.form.lists() if name != "csrf_token"]
    query = from_given(sent, ReleasesQuery)
    entry = AuditEntry.of(
        "release-asked", actor=str(who), at=service().clock(), collection=found.id
    )
    try:
        shown = service().releases.release(found, confirmed(query), audit=entry)
    except Problem as problem:
        return _shown(found, query, refused=problem)
    return see_other(
        url_for("dashboard.release", collection=found.id, release_id=shown.row.release)
    )


def _shown(
    found: Collection, query: ReleasesArguments, *, refused: Problem | None = None
) -> Context:
    summaries = releases(service().store, found).releases
    price: Context = {"quote": None, "refused": refused}
    if query.cost and refused is None and may("analyst"):
        price = _priced(found, query)
    return {
        "found": found,
        "manifest": found.manifest,
        "query": query,
        "asks": may("analyst"),
        "families": families(),
        "fields": fields_of(query.mechanism),
        "given": given(query),
        "first_day": span_presets.day_of(found, query.first),
        "last_day": span_presets.day_of(found, query.last),
        "part": paged(summaries[::-1], query.page, ROWS),
        "address": here("dashboard.releases", query, collection=found.id),
        "status": refused.status if refused else 200,
        **price,
    }


def _priced(found: Collection, query: ReleasesArguments) -> Context:
    """What it would cost, or why there is nothing to be priced."""
    try:
        quote = service().releases.quote(found, priced(found, query))
    except Problem as problem:
        return {"quote": None, "refused": problem}
    return {"quote": quote, "refused": None, **_about(query, quote)}


def _about(query: ReleasesArguments, quote: QuoteDocument) -> Context:
    return {
        "hidden": hidden(query, quote.epochs),
        "left": left_rows(quote),
        "expected": expected_rows(quote.expected),
        "typical": list(typical_words(quote)),
        "promised": list(promise_words(quote)),
    }


PAGE = Page(
    path="/collections/<collection>/releases",
    title="Releases",
    view=view,
    query=ReleasesQuery,
    post=Post("analyst", act),
)
