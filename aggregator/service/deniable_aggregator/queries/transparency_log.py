"""The transparency log over manifests, key lists and releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.documents.collections import LogDocument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.store.protocols import Collections, Store
    from deniable_shared.wire.transparency_log import LogEntry


@dataclass(frozen=True, slots=True)
class EntrySummary:
    """One entry, counted from 0, and what it is about: a version of a manifest, or a release.

    No collection: a key list, or what the reader may not know.
    """

    index: int
    type: str
    body_hash: str
    collection: Collection | None = None
    version: int | None = None
    release: str | None = None


def log(store: Collections, first: int) -> LogDocument:
    """Its size and head, and at most 1,000 entries from index `first` on."""
    size, head = store.log_head()
    # What was appended since is left to the next page: the head speaks of the first `size`.
    entries = store.log(first)[: max(0, size - first)]
    return LogDocument(
        size=size, head=head, entries=[[each.type, each.body_hash.hex()] for each in entries]
    )


def log_entries(
    store: Store, collections: Sequence[Collection], first: int, most: int
) -> list[EntrySummary]:
    """At most so many entries from index `first` on, with what is known of these collections.

    A manifest is found by its digest, a release by its place: a salt hides what its hash is of.
    """
    entries = store.log(first)[:most]
    manifests = {
        manifest.digest: (collection, version)
        for collection in collections
        for version, manifest in collection.versions.items()
    }
    releases = {
        (row.position or 1) - 1: (collection, row.release)
        for collection in (collections if _has_release(entries) else ())
        for row in store.results(collection.id)
    }
    rows = []
    for index, entry in enumerate(entries, first):
        if entry.type == "release":
            collection, release = releases.get(index, (None, None))
            rows.append(_entry(index, entry, collection, release=release))
        else:
            collection, version = manifests.get(entry.body_hash, (None, None))
            rows.append(_entry(index, entry, collection, version=version))
    return rows


def _has_release(entries: Sequence[LogEntry]) -> bool:
    return any(entry.type == "release" for entry in entries)


def _entry(
    index: int,
    entry: LogEntry,
    collection: Collection | None,
    *,
    version: int | None = None,
    release: str | None = None,
) -> EntrySummary:
    return EntrySummary(index, entry.type, entry.body_hash.hex(), collection, version, release)
