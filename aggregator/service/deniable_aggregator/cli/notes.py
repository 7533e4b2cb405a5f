"""`deniable collections notes`: notes on the time axis of a collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.command_groups import CommandGroup
from deniable_aggregator.cli.options import (
    Target,
    collection_argument,
    example,
    json_option,
    service_options,
)
from deniable_aggregator.cli.output import emit, moment, plain_table, show

if TYPE_CHECKING:
    from deniable_aggregator.documents.collections import NotesDocument


@click.group(cls=CommandGroup)
def notes() -> None:
    """Note an event and its day. Charts over time show notes, public pages do not."""


@notes.command(epilog=example('deniable collections notes add settings 2027-01-15 "released 2.0"'))
@collection_argument
@click.argument("day")
@click.argument("text")
@service_options
@json_option
def add(collection: str, day: str, text: str, target: Target, as_json: bool) -> None:
    """Note TEXT at DAY, a day like 2027-01-15 or "2027-01-15 14:30" (UTC)."""
    with target.connect() as client:
        made = client.add_note(collection, day, text)
    show(made, lambda note: click.echo(f"Noted {note.id}: {note.text}"), as_json=as_json)


@notes.command("list", epilog=example("deniable collections notes list settings"))
@collection_argument
@service_options
@json_option
def list_notes(collection: str, target: Target, as_json: bool) -> None:
    """List the notes of a collection, in order of time."""
    with target.connect() as client:
        answer = client.notes(collection)
    show(answer, _print_notes, as_json=as_json)


def _print_notes(document: NotesDocument) -> None:
    rows = [[note.id, moment(note.at), note.text, note.author] for note in document.notes]
    plain_table(["id", "at", "text", "author"], rows)


@notes.command(epilog=example("deniable collections notes remove settings 3f9a01c2b4de"))
@collection_argument
@click.argument("note_id", metavar="ID")
@service_options
@json_option
def remove(collection: str, note_id: str, target: Target, as_json: bool) -> None:
    """Remove a note."""
    with target.connect() as client:
        client.remove_note(collection, note_id)
    if as_json:
        emit({"id": note_id, "removed": True})
    else:
        click.echo(f"Removed {note_id}")
