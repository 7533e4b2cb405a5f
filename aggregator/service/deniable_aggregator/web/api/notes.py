"""Notes on the time axis of a collection: list, add, remove."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, Response

from deniable_aggregator.collections import notes as changes
from deniable_aggregator.documents.collections import NewNote, NoteDocument, NotesDocument
from deniable_aggregator.web.api.operations import caller, operation
from deniable_aggregator.web.application import JSON, answer, service

if TYPE_CHECKING:
    from deniable_aggregator.access.audit import AuditEntry

blueprint = Blueprint("notes", __name__)


@blueprint.get("/v1/collections/<collection>/notes")
@operation(
    tag="analysts",
    role="viewer",
    answers={200: {JSON: (NotesDocument,)}},
    problems=("unknown-collection",),
)
def notes(collection: str) -> Response:
    """The notes on the time axis. Public pages do not show them."""
    running = service()
    return answer(changes.notes(running.store, running.registry.get(collection).id))


@blueprint.post("/v1/collections/<collection>/notes")
@operation(
    act="note-added",
    tag="analysts",
    role="analyst",
    body=NewNote,
    answers={201: {JSON: (NoteDocument,)}},
    problems=("unknown-collection", "conflict"),
)
def add_note(collection: str, body: NewNote, audit: AuditEntry) -> Response:
    """Add a note on the time axis, at a day or at a time of it (UTC)."""
    running = service()
    target = running.registry.get(collection)
    author = caller().name
    note = changes.add_note(running.store, target.id, body, author=author, audit=audit)
    return answer(note, 201)


@blueprint.delete("/v1/collections/<collection>/notes/<note_id>")
@operation(
    act="note-removed",
    tag="analysts",
    role="analyst",
    answers={204: {}},
    problems=("unknown-collection", "not-found"),
)
def remove_note(collection: str, note_id: str, audit: AuditEntry) -> Response:
    """Remove a note."""
    running = service()
    target = running.registry.get(collection)
    changes.remove_note(running.store, target.id, note_id, audit=audit)
    return Response(status=204)
