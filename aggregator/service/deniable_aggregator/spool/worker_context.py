"""The data that a worker needs to open reports: public facts, and the path of the keys.

Keys are not sent: each worker reads them from files under `keys`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import KeyFileError
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.ingest.checks import UploadContext
from deniable_aggregator.keys.cohorts import Cohorts
from deniable_aggregator.keys.report_keys import HIGHEST_ID, ReportKeys
from deniable_shared.manifest.epochs import closes_at
from deniable_shared.manifest.parser import parse_manifest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.operations.service import Service


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """The context of one job.

    `manifests`: bodies of the collections that accept reports, ascending versions. `ended`:
    collections that accept none. `closed`: (collection, epoch) pairs. `key_ids`: keys that the
    service has. `now`: its clock in Unix seconds.
    """

    keys: str
    key_ids: tuple[int, ...]
    manifests: tuple[bytes, ...]
    ended: frozenset[str]
    closed: frozenset[tuple[str, int]]
    now: float


@dataclass(frozen=True, slots=True)
class LoadedContext:
    """A context loaded in a process, with the upload context of each collection."""

    contexts: Mapping[str, UploadContext]
    ended: frozenset[str]


def make_worker_context(service: Service, keys: Path) -> WorkerContext:
    """The present context of a service; `keys`: the path of the keys on the workers."""
    now, collections = service.now(), service.registry.all()
    receiving = [each for each in collections if each.state == "open" and now <= _closes_at(each)]
    return WorkerContext(
        keys=str(keys),
        key_ids=tuple(n for n in range(HIGHEST_ID + 1) if service.keys.opener(n) is not None),
        manifests=tuple(each.versions[n].body for each in receiving for n in sorted(each.versions)),
        ended=frozenset(each.id for each in collections) - {each.id for each in receiving},
        closed=frozenset(
            (each.id, row.epoch)
            for each in receiving
            for row in service.store.epochs(each.id)
            if row.closed_at is not None
        ),
        now=now,
    )


@lru_cache(maxsize=1)
def load_context(context: WorkerContext) -> LoadedContext:
    """Raises KeyFileError if a key of the context is not among the files of this machine."""
    folder = Path(context.keys)
    if not folder.is_dir():
        raise KeyFileError(f"this worker has no directory of keys at {folder}: name it with --keys")
    keys = ReportKeys(folder).all
    missing = [n for n in context.key_ids if n not in keys]
    if missing:
        raise KeyFileError(f"{folder} of this worker lacks report-{missing[0]}.key")
    openers = {n: keys[n].opener for n in context.key_ids}
    collections: dict[str, Collection] = {}
    for manifest in map(parse_manifest, context.manifests):
        earlier = collections.get(manifest.collection)
        collections[manifest.collection] = (
            Collection.from_manifest(manifest)
            if earlier is None
            else earlier.with_next_version(manifest)
        )
    cohorts = Cohorts.read(folder)
    contexts = {
        each.id: UploadContext(
            collection=each,
            now=context.now,
            token_error=None,
            closed=context.closed,
            opener=openers.get,
            verifiers={},
            cohorts=cohorts,
        )
        for each in collections.values()
    }
    return LoadedContext(contexts, context.ended)


def _closes_at(collection: Collection) -> float:
    newest = collection.manifest
    return closes_at(collection.last_epoch, newest.epoch_seconds, newest.grace_seconds)
