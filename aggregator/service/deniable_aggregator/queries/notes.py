"""Notes of a collection next to the estimates of their epochs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET, structs

from deniable_aggregator.documents.estimates import EstimatesByEpochDocument
from deniable_shared.manifest.epochs import epoch_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.estimates import EstimatesAnswer, SeriesDocument
    from deniable_aggregator.store.protocols import Sharing
    from deniable_aggregator.store.rows import NoteRow


def notes_by_epoch(notes: Sequence[NoteRow], epoch_seconds: int) -> Mapping[int, str]:
    """Epoch → what was noted in it, in the order of time."""
    texts: dict[int, list[str]] = {}
    for note in notes:
        texts.setdefault(epoch_at(note.at, epoch_seconds), []).append(note.body)
    return {epoch: "; ".join(bodies) for epoch, bodies in texts.items()}


def series_with_notes(
    store: Sharing, collection: Collection, document: SeriesDocument
) -> SeriesDocument:
    """The series with the note of each epoch in its rows."""
    texts = _texts(store, collection)
    rows = [
        structs.replace(row, note=texts[row.epoch]) if row.epoch in texts else row
        for row in document.rows
    ]
    return structs.replace(document, rows=rows)


def estimates_with_notes(
    store: Sharing, collection: Collection, document: EstimatesAnswer
) -> EstimatesAnswer:
    """Estimates by epoch with the note of each epoch; other estimates as they are."""
    if not isinstance(document, EstimatesByEpochDocument):
        return document
    texts = _texts(store, collection)
    epochs = [
        structs.replace(each, note=texts.get(each.epochs[0], UNSET)) for each in document.epochs
    ]
    return structs.replace(document, epochs=epochs)


def _texts(store: Sharing, collection: Collection) -> Mapping[int, str]:
    return notes_by_epoch(store.notes(collection.id), collection.manifest.epoch_seconds)
