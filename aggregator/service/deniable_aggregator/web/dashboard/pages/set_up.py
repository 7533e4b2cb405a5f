"""Set up: from a question to the file that the operator signs, with its plan as one types.

The page makes no collection. The operator's key signs it, and this service never has that key:
the page ends with the command for the person who has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Response

from deniable_aggregator.collections.authoring.snippet import client_snippet
from deniable_aggregator.collections.registry import Collection, UnknownCollection
from deniable_aggregator.web.application import service
from deniable_aggregator.web.auth.guard import current_identity
from deniable_aggregator.web.dashboard.addresses import here
from deniable_aggregator.web.dashboard.collection_draft import (
    Draft,
    DraftError,
    SetUpArguments,
    draft_collection,
)
from deniable_aggregator.web.dashboard.draft_remarks import Remark, remarks_of
from deniable_aggregator.web.dashboard.guarantees import report_guarantees
from deniable_aggregator.web.dashboard.page import Context, Page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EPSILONS = ("0.5", "1", "2", "4")
FIELD_NAMES = {
    "name": "Name",
    "purpose": "What is asked",
    "owner": "Contact",
    "labels": "Labels",
    "attributes": "Attributes",
    "low": "From",
    "high": "To",
    "step": "Steps",
    "max_bytes": "Longest answer",
    "epsilon": "ε",
    "users": "How many people",
    "min_batch": "Fewest reports",
    "epochs": "How many days",
}
"""Each field that may be wrong, as the form calls it."""

REPEATS = {"once": "once", "fresh": "each day, new noise", "memoized": "each day, same noise"}
"""Each way to repeat, as the form calls it."""

REMARK_NAMES = {**FIELD_NAMES, "repeat": "Each device answers", "read": "Analysts may read"}
REMARK_FIELDS = tuple(REMARK_NAMES)
"""Fields that may have remarks."""


def view(query: SetUpArguments) -> Context | Response:
    """The form and what it makes, or with `format=toml` the file."""
    origin = service().settings.public_url
    wrong: Mapping[str, str] = {}
    try:
        draft = draft_collection(query, origin=origin, now=service().clock())
    except DraftError as error:
        draft, wrong = None, error.wrong
    if query.format == "toml" and draft is not None:
        return _file(draft)
    return {
        "query": query,
        "address": here("dashboard.set_up", query),
        "epsilons": EPSILONS,
        "errors": wrong,
        "field_names": FIELD_NAMES,
        "error_fields": tuple(FIELD_NAMES),
        "remark_names": REMARK_NAMES,
        "repeats": REPEATS,
        "draft": draft,
        "remarks": {} if draft is None else _remarks(draft),
        **(_draft_context(draft, query, origin) if draft else {}),
    }


def _remarks(draft: Draft) -> Mapping[str, Sequence[Remark]]:
    domain = draft.manifest.domain.type
    return remarks_of(draft.findings, domain=domain, fields=REMARK_FIELDS)


def _draft_context(draft: Draft, query: SetUpArguments, origin: str) -> Context:
    manifest, visitor = draft.manifest, current_identity()
    operates = visitor is not None and visitor.may("admin")
    settings = service().settings
    return {
        "manifest": manifest,
        "revealed": list(report_guarantees(manifest)),
        "snippet": client_snippet(manifest),
        "origin": origin,
        "draft_link": origin + here("dashboard.set_up", query)(),
        "data": settings.data.absolute() if operates else None,
        "key_is_here": operates and settings.operator_key.is_file(),
        "registered": _registered_collection(manifest.name),
    }


def _registered_collection(name: str) -> Collection | None:
    """What has the name already, as far as the visitor may see it."""
    visitor = current_identity()
    try:
        collection = service().registry.get(name)
    except UnknownCollection:
        return None
    return collection if visitor is not None and visitor.may_see(collection.id) else None


def _file(draft: Draft) -> Response:
    response = Response(draft.text, content_type="application/toml; charset=utf-8")
    name = f"{draft.manifest.name}.toml"  # a manifest's name is a-z, 0-9 and hyphens
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


PAGE = Page(path="/set-up", title="Set up", view=view, query=SetUpArguments, menu=40)
