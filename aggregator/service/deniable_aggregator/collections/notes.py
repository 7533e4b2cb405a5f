"""Notes on the time axis of a collection: "released 2.0". Analysts write and read them."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from deniable_aggregator.documents.collections import NoteDocument, NotesDocument
from deniable_aggregator.store.rows import NoteRow
from deniable_gateway.problem import Problem, refuse

if TYPE_CHECKING:
    from deniable_aggregator.access.audit import AuditEntry
    from deniable_aggregator.documents.collections import NewNote
    from deniable_aggregator.store.protocols import Sharing

MOST_NOTES = 1_000
"""Most notes of one collection: charts and pages show all of them."""


def notes(store: Sharing, collection: str) -> NotesDocument:
    """Every note of the collection of this id, in order of time."""
    return NotesDocument(collection, [_document(row) for row in store.notes(collection)])


def add_note(
    store: Sharing, collection: str, new: NewNote, *, author: str, audit: AuditEntry
) -> NoteDocument:
    """Add a note. Raises invalid-argument, and conflict if there are MOST_NOTES already."""
    if not new.text.isprintable() or not new.text.strip():
        raise refuse("text", accepted="printable characters in one line", given=new.text)
    row = NoteRow(secrets.token_hex(6), _moment(new.day), new.text.strip(), author, audit.at)
    if len(store.notes(collection)) >= MOST_NOTES:
        raise Problem("conflict", f"{collection} has {MOST_NOTES:,} notes: remove one first")
    store.add_note(collection, row, audit=audit.with_details(note=row.id, day=new.day))
    return _document(row)


def remove_note(store: Sharing, collection: str, note_id: str, *, audit: AuditEntry | None) -> None:
    """Remove a note. Raises Problem("not-found")."""
    if not store.remove_note(collection, note_id, audit=audit):
        raise Problem(
            "not-found",
            f"{collection} has no note {note_id[:64]!r}; "
            f"GET /v1/collections/{collection}/notes lists them",
        )


def _moment(day: str) -> int:
    """Unix seconds of a day, or of a day and time. Raises invalid-argument."""
    try:
        moment = datetime.fromisoformat(day).replace(tzinfo=UTC)
    except ValueError as error:
        raise refuse("day", accepted="a day of the calendar, like 2026-11-22", given=day) from error
    if moment.timestamp() < 0:
        raise refuse("day", accepted="a day from 1970-01-01 on", given=day)
    return int(moment.timestamp())


def _document(row: NoteRow) -> NoteDocument:
    return NoteDocument(id=row.id, at=row.at, text=row.body, author=row.author, created=row.created)
