"""The transparency log of manifests, key lists and releases."""

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
    """One entry, counted from 0, and its subject: a version of a manifest, or a release.

    Without a collection it is a key list, or the reader may not see its subject.
    """

    index: int
    type: str
    body_hash: str
    collection: Collection | None = None
    version: int | None = None
    release: str | None = None


def log(store: Collections, first: int) -> LogDocument:
    """The size and head of the log, and at most 1,000 entries from index `first` on."""
    size, head = store.log_head()
    # Newer entries are left to the next page: the head covers only the first `size`.
    entries = store.log(first)[: max(0, size - first)]
    return LogDocument(
        size=size, head=head, entries=[[each.type, each.body_hash.hex()] for each in entries]
    )


def log_entries(
    store: Store, collections: Sequence[Collection], first: int, most: int
) -> list[EntrySummary]:
    """At most `most` entries from index `first` on, with the subjects in these collections.

    A manifest is matched by its digest, a release by its place, because its hash is salted.
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
