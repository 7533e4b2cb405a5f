"""The public results of a public question: finished periods, or its releases.

Reading draws nothing and charges nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

from deniable_aggregator.collections.registry import UnknownCollection
from deniable_aggregator.documents.releases import PublicReleasesDocument
from deniable_aggregator.queries.releases import document_of

if TYPE_CHECKING:
    from deniable_aggregator.collections.registry import Collection, Registry
    from deniable_aggregator.store.protocols import Reports, Store
    from deniable_aggregator.store.rows import EpochRow


def public_collection(registry: Registry, name: str) -> Collection:
    """The collection of an id or name. Raises UnknownCollection if it is not public."""
    collection = registry.get(name)
    if not collection.manifest.public:
        raise UnknownCollection(f"there is no public question {name[:100]!r}")
    return collection


@dataclass(frozen=True, slots=True)
class _FinishedPeriods:
    """A store that has only closed periods with at least `min_batch` reports."""

    store: Reports
    collection: Collection

    def epochs(self, collection: str) -> list[EpochRow]:
        return _finished_rows(self.store, self.collection, collection)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


def finished_periods(store: Reports, collection: Collection) -> Reports:
    """The store without open periods and without those of fewer than `min_batch` reports."""
    return cast("Reports", _FinishedPeriods(store, collection))


def _finished_rows(store: Reports, collection: Collection, name: str) -> list[EpochRow]:
    least = collection.manifest.min_batch
    return [
        row
        for row in store.epochs(name)
        if row.closed_at is not None and row.expired_at is None and row.n >= least
    ]


def public_releases(store: Store, collection: Collection) -> PublicReleasesDocument:
    """Every stored release, newest first."""
    documents = [document_of(row) for row in store.results(collection.id)]
    newest = sorted(documents, key=lambda each: (each.created, each.release), reverse=True)
    return PublicReleasesDocument(collection.id, collection.manifest.purpose, newest)


def public_state(store: Store, collection: Collection) -> str:
    """A hash of the manifest and of the finished or released results.

    It changes whenever they do. It does not cover the settings that a public answer also shows.
    """
    parts: list[object] = [collection.manifest.digest.hex()]
    if collection.manifest.read == "releases":
        for row in store.results(collection.id):
            parts += [row.release, sha256(row.document).hexdigest()]
    else:
        finished = _finished_rows(store, collection, collection.id)
        parts += [(row.epoch, row.n) for row in finished]
    return sha256(repr(parts).encode()).hexdigest()
