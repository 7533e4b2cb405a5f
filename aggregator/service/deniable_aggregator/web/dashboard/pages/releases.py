"""Releases of one collection: those made, and a new one: its price first, then the confirmation.

Looking never spends, at any address. What spends is the form of an analyst, in the
same act as the API's; it ends at the release's own address, so that loading again reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Response, request, url_for
from msgspec import structs

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.documents.describe import promise_words, typical_words
from deniable_aggregator.queries.releases import releases
from deniable_aggregator.web.application import service
from deniable_aggregator.web.arguments import from_pairs
from deniable_aggregator.web.auth.guard import (
    collection_of,
    current_identity,
    see_other,
    visitor_may,
)
from deniable_aggregator.web.dashboard import span_presets
from deniable_aggregator.web.dashboard.addresses import here
from deniable_aggregator.web.dashboard.budget_hint import budget_hint
from deniable_aggregator.web.dashboard.day_fields import day_span
from deniable_aggregator.web.dashboard.page import Context, Page, Post
from deniable_aggregator.web.dashboard.paging import paginate
from deniable_aggregator.web.dashboard.plain_words import plain_words
from deniable_aggregator.web.dashboard.release_charts import (
    budget_rows,
    error_bar_rows,
)
from deniable_aggregator.web.dashboard.release_form import (
    ReleasesArguments,
    ReleasesQuery,
    field_refusal,
    form_fields,
    hidden_fields,
    kind_options,
    parameters_of,
    quote_request,
    release_request,
    resolve_question,
)
from deniable_aggregator.web.dashboard.release_questions import (
    OTHER,
    questions_of,
    release_title,
    unavailable,
)
from deniable_aggregator.web.dashboard.release_words import error_sentence
from deniable_gateway.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.releases import QuoteDocument

ROWS = 25


def view(query: ReleasesArguments, collection: str) -> Context:
    """The list; for analysts the form, too, and the price of what it was filled in with."""
    return _page_context(collection_of(collection), query)


def act(collection: str) -> Context | Response:
    """Make the release that was priced, and go to it; what is refused is said on the page."""
    target, who = collection_of(collection), current_identity()
    sent = [(name, values) for name, values in request.form.lists() if name != "csrf_token"]
    query = from_pairs(sent, ReleasesQuery)
    entry = AuditEntry.of(
        "release-asked", actor=str(who), at=service().clock(), collection=target.id
    )
    try:
        outcome = service().releases.release(target, release_request(query), audit=entry)
    except Problem as problem:
        return _page_context(target, query, refused=problem)
    return see_other(
        url_for("dashboard.release", collection=target.id, release_id=outcome.row.release)
    )


def _page_context(
    collection: Collection, query: ReleasesArguments, *, refused: Problem | None = None
) -> Context:
    offered = questions_of(collection)
    query = resolve_question(query, offered)
    days = day_span(query.first, query.last, collection.manifest.epoch_seconds)
    query = structs.replace(query, first=days.first, last=days.last)
    price: Context = {"quote": None}
    status = refused.status if refused else 200
    if query.cost and refused is None and visitor_may("analyst") and not days.wrong:
        price, refused = _quote_context(collection, query)
    return {
        "collection": collection,
        "manifest": collection.manifest,
        "query": query,
        "asks": visitor_may("analyst"),
        "questions": offered,
        "status": status,
        **price,
        **_form_context(collection, query, refused, days.wrong),
        **_list_context(collection, query),
    }


def _form_context(
    collection: Collection,
    query: ReleasesArguments,
    refused: Problem | None,
    wrong_days: Mapping[str, str],
) -> Context:
    """The fields with what is wrong, and a refusal that is about none of them."""
    hint = budget_hint(collection) if visitor_may("analyst") else None
    wrong = {} if refused is None else field_refusal(refused, _argument_names(query))
    seconds = collection.manifest.epoch_seconds
    return {
        "other": OTHER,
        "unavailable": unavailable(collection),
        "kinds": kind_options(),
        "hint": hint,
        "fields": form_fields(query, suggested=hint.suggested if hint else "", wrong=wrong),
        "wrong": {**wrong_days, **wrong},
        "first_day": span_presets.day_text(collection, query.first),
        "last_day": span_presets.day_text(collection, query.last),
        "refused": refused,
        "refusal_text": "" if refused is None or wrong else plain_words(refused.detail, seconds),
    }


def _list_context(collection: Collection, query: ReleasesArguments) -> Context:
    """The releases that were made, the newest first, by what they were asked."""
    part = paginate(releases(service().store, collection).releases[::-1], query.page, ROWS)
    return {
        "part": part,
        "titles": {row.release: release_title(row) for row in part.items},
        "address": here("dashboard.releases", query, collection=collection.id),
    }


def _argument_names(query: ReleasesArguments) -> list[str]:
    return [each.name for each in parameters_of(query.mechanism)]


def _quote_context(
    collection: Collection, query: ReleasesArguments
) -> tuple[Context, Problem | None]:
    """What it would cost, or why there is nothing to be priced."""
    try:
        quote = service().releases.quote(collection, quote_request(collection, query))
    except Problem as problem:
        return {"quote": None}, problem
    return {"quote": quote, **_quote_details(query, quote, collection.manifest.epoch_seconds)}, None


def _quote_details(query: ReleasesArguments, quote: QuoteDocument, seconds: int) -> Context:
    return {
        "hidden_fields": hidden_fields(query, quote.epochs),
        "left": budget_rows(quote),
        "quote_refusal": plain_words(quote.refusal or "", seconds),
        "expected": error_bar_rows(quote.expected),
        "error": error_sentence(quote.expected, quote.parameters, quote.n),
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
