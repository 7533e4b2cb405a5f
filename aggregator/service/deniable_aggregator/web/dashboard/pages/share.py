"""Sharing one collection: who may read it by which links, and what is noted on its time axis."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

from flask import Response, request, url_for
from msgspec import Meta

from deniable_aggregator.access import changes
from deniable_aggregator.collections import notes
from deniable_aggregator.documents.access import NewReadLink
from deniable_aggregator.documents.alerts import NewAlert
from deniable_aggregator.documents.collections import NewNote
from deniable_aggregator.documents.fields import Arguments
from deniable_aggregator.operations import alerts
from deniable_aggregator.queries import alerts as queries
from deniable_aggregator.web.application import service
from deniable_aggregator.web.auth.guard import (
    collection_of,
    current_identity,
    see_other,
    visitor_may,
)
from deniable_aggregator.web.dashboard.admin_forms import (
    Action,
    perform_in,
    read_form,
    refused_form,
)
from deniable_aggregator.web.dashboard.page import Context, Page, Post
from deniable_gateway.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.access.audit import AuditEntry
    from deniable_aggregator.collections.registry import Collection

ROLES = dict.fromkeys(("read-link-made", "read-link-ended", "alert-made", "alert-ended"), "admin")
"""Acts that an analyst may not do."""


class ToEnd(Arguments, frozen=True):
    """What is to end."""

    id: Annotated[str, Meta(max_length=64, description="what the list shows")]


def view(query: Arguments, collection: str) -> Context:  # noqa: ARG001  (every view takes the query)
    """What is shared of the collection, and the forms to share more."""
    return _context(collection_of(collection))


def act(collection: str) -> Context | Response:
    """Make or end something; a link is shown at once, and never again."""
    target = collection_of(collection)
    actions: Mapping[str, Action] = {
        "read-link-made": partial(_make_link, target),
        "read-link-ended": partial(_end_link, target),
        "note-added": partial(_add_note, target),
        "alert-made": partial(_make_alert, target),
        "alert-ended": partial(_end_alert, target),
        "note-removed": partial(_remove_note, target),
    }
    try:
        secret = perform_in(actions, ROLES)
    except Problem as problem:
        return {**_context(target), **refused_form(problem)}
    return {**_context(target), **secret} if secret else see_other(request.path)


def _context(collection: Collection) -> Context:
    address = service().settings.public_url.rstrip("/")
    links = service().tokens.read_links(collection.id)
    return {
        "collection": collection,
        "manifest": collection.manifest,
        "public_address": address + url_for("dashboard.public", collection=collection.name),
        "links": sorted(links, key=lambda link: (link.revoked is not None, -link.created)),
        "notes": notes.notes(service().store, collection.id).notes,
        "alerts": queries.alerts(service().store, collection).alerts,
        "administers": visitor_may("admin"),
    }


def _make_link(collection: Collection, audit: AuditEntry) -> Context:
    running = service()
    made = changes.make_read_link(
        running.tokens,
        read_form(NewReadLink),
        collection=collection.id,
        now=running.clock(),
        audit=audit,
    )
    return {"made_link": made}


def _end_link(collection: Collection, audit: AuditEntry) -> Context:
    link_id = read_form(ToEnd).id
    audit = audit.with_details(collection=collection.id, link_id=link_id)
    changes.end_read_link(service().tokens, collection.id, link_id, audit=audit)
    return {}


def _add_note(collection: Collection, audit: AuditEntry) -> Context:
    new, audit = read_form(NewNote), audit.with_details(collection=collection.id)
    notes.add_note(service().store, collection.id, new, author=_name(), audit=audit)
    return {}


def _remove_note(collection: Collection, audit: AuditEntry) -> Context:
    note_id = read_form(ToEnd).id
    audit = audit.with_details(collection=collection.id, note_id=note_id)
    notes.remove_note(service().store, collection.id, note_id, audit=audit)
    return {}


def _make_alert(collection: Collection, audit: AuditEntry) -> Context:
    new, audit = read_form(NewAlert), audit.with_details(collection=collection.id)
    author = _name()
    made = alerts.make_alert(service().store, collection, new, author=author, audit=audit)
    return {"made_alert": made}


def _end_alert(collection: Collection, audit: AuditEntry) -> Context:
    alert_id, running = read_form(ToEnd).id, service()
    audit = audit.with_details(collection=collection.id, alert_id=alert_id)
    alerts.end_alert(running.store, collection.id, alert_id, now=running.clock(), audit=audit)
    return {}


def _name() -> str:
    visitor = current_identity()
    return "" if visitor is None else visitor.name


PAGE = Page(
    path="/collections/<collection>/share",
    title="Share",
    view=view,
    role="analyst",
    post=Post("analyst", act),
)
