"""What a worker needs to open reports as this service would: public facts, and where the keys are.

Keys themselves do not travel: each worker reads them from files that it can see under `keys`.
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
    """One job: `manifests` are bodies of those collections that take reports, versions rising.

    `ended` are collections that take none any more, `closed` (collection, epoch) pairs, `key_ids`
    what the service would open, `now` its clock.
    """

    keys: str
    key_ids: tuple[int, ...]
    manifests: tuple[bytes, ...]
    ended: frozenset[str]
    closed: frozenset[tuple[str, int]]
    now: float


@dataclass(frozen=True, slots=True)
class LoadedContext:
    """A context loaded in a process: what the reports of each collection are checked against."""

    contexts: Mapping[str, UploadContext]
    ended: frozenset[str]


def make_worker_context(service: Service, keys: Path) -> WorkerContext:
    """What the service knows now; `keys` is the directory of keys as workers see it."""
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
    """KeyFileError where a key of the context is not among the files of this machine."""
    folder = Path(context.keys)
    if not folder.is_dir():
        raise KeyFileError(f"this worker sees no directory of keys at {folder}: name it by --keys")
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
