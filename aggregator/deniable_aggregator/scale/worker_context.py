"""What a worker needs to open reports as this service would: public facts, and where the keys are.

Keys themselves do not travel: each worker reads them from files that it can see under `keys`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from deniable_aggregator.errors import KeyFileError
from deniable_aggregator.ingest.checks import UploadContext
from deniable_aggregator.keys.cohorts import Cohorts
from deniable_aggregator.keys.report_keys import HIGHEST_ID, ReportKeys
from deniable_aggregator.registry import Collection
from deniable_shared.epochs import closes_at
from deniable_shared.manifest_parser import parse_manifest

if TYPE_CHECKING:
    from deniable_aggregator.service import Service


@dataclass(frozen=True, slots=True)
class Order:
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
class Bench:
    """An order made ready in a process: by collection what its reports are checked against."""

    contexts: Mapping[str, UploadContext]
    ended: frozenset[str]


def order_of(service: Service, keys: Path) -> Order:
    """What the service knows now; `keys` is the directory of keys as workers see it."""
    now, found = service.now(), service.registry.all()
    takes = [each for each in found if each.state == "open" and now <= _end(each)]
    return Order(
        keys=str(keys),
        key_ids=tuple(n for n in range(HIGHEST_ID + 1) if service.keys.opener(n) is not None),
        manifests=tuple(each.versions[n].body for each in takes for n in sorted(each.versions)),
        ended=frozenset(each.id for each in found) - {each.id for each in takes},
        closed=frozenset(
            (each.id, row.epoch)
            for each in takes
            for row in service.store.epochs(each.id)
            if row.closed_at is not None
        ),
        now=now,
    )


@lru_cache(maxsize=1)
def bench(order: Order) -> Bench:
    """KeyFileError where a key of the order is not among the files of this machine."""
    folder = Path(order.keys)
    if not folder.is_dir():
        raise KeyFileError(f"this worker sees no directory of keys at {folder}: name it by --keys")
    keys = ReportKeys(folder).all
    missing = [n for n in order.key_ids if n not in keys]
    if missing:
        raise KeyFileError(f"{folder} of this worker lacks report-{missing[0]}.key")
    openers = {n: keys[n].opener for n in order.key_ids}
    collections: dict[str, Collection] = {}
    for manifest in map(parse_manifest, order.manifests):
        known = collections.get(manifest.collection)
        collections[manifest.collection] = (
            Collection.begun_by(manifest) if known is None else known.followed_by(manifest)
        )
    cohorts = Cohorts.read(folder)
    contexts = {
        each.id: UploadContext(
            collection=each,
            now=order.now,
            token_error=None,
            closed=order.closed,
            opener=openers.get,
            verifiers={},
            cohorts=cohorts,
        )
        for each in collections.values()
    }
    return Bench(contexts, order.ended)


def _end(collection: Collection) -> float:
    newest = collection.manifest
    return closes_at(collection.last_epoch, newest.epoch_seconds, newest.grace_seconds)
