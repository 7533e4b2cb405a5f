"""A service with collections whose first epochs are over, and releases over them."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.queries.pooled_tallies import EpochRange
from deniable_aggregator.releases.request import (
    EpochSelection,
    PrepareRelease,
    ReleaseRequest,
)
from deniable_aggregator.releases.service import ReleaseService, StoredRelease
from deniable_aggregator.store.rows import AcceptedReport, TallyKey
from support.builders import api_world
from support.builders.api_world import TODAY, World, authored
from support.doubles import release_plans

__all__ = [
    "BITS",
    "FIRST",
    "LAST",
    "OPEN",
    "TODAY",
    "ReleaseWorld",
    "asked",
    "document",
    "opened",
    "over",
    "stream",
]

FIRST, LAST, OPEN = TODAY - 4, TODAY - 3, TODAY - 2
"""Two epochs that are over, and the first that is not."""

BITS = {"dark_mode": True, "beta": False}


def over(*epochs: int) -> EpochSelection:
    """These epochs."""
    return EpochSelection(listed=epochs)


def asked(
    epsilon: str = "0.1",
    *,
    mechanism: str = "counts",
    epochs: EpochSelection | None = None,
    **more: object,
) -> ReleaseRequest:
    """A request; by default everything that is over is read."""
    selection = epochs or EpochSelection(EpochRange())
    return ReleaseRequest(mechanism, {"epsilon": epsilon, **more}, selection)


def document(release: StoredRelease) -> dict[str, object]:
    """The release as it was kept."""
    decoded: dict[str, object] = json.loads(release.row.document)
    return decoded


def stream(name: str = "entropy") -> Callable[[int], bytes]:
    """Bytes that are the same each time: ids and salts of two worlds that are to be compared."""
    state = [name.encode()]

    def draw(size: int) -> bytes:
        state[0] = hashlib.sha256(state[0]).digest()
        return state[0][:size]

    return draw


@dataclass
class ReleaseWorld:
    """The world, one collection in it, and its releases."""

    service: World
    collection: Collection
    prepare: PrepareRelease = field(default=release_plans.prepare)
    entropy: Callable[[int], bytes] | None = None

    def __post_init__(self) -> None:
        service = self.service.running
        self.releases = ReleaseService(
            service.store,
            clock=self.service.clock,
            prepare=self.prepare,
            entropy=self.entropy or secrets.token_bytes,
            guard=service.rollback_guard,
        )
        service.releases = self.releases

    def count(self, epoch: int, payloads: Sequence[bytes]) -> None:
        """Count these very payloads."""
        rows = [
            AcceptedReport(
                TallyKey(self.collection.id, epoch, self.collection.manifest.version),
                hashlib.sha256(b"%d %d" % (epoch, place)).digest()[:16],
                payload,
            )
            for place, payload in enumerate(payloads)
        ]
        self.service.running.store.commit(
            rows, lambda _, seen: self.collection.estimator.tally(seen)
        )

    def follow(self, changes: Mapping[str, object]) -> None:
        """The next version of the collection."""
        from support.builders.manifests import next_version

        self.collection = self.service.register(next_version(self.collection.manifest, changes))

    @property
    def charges(self) -> int:
        return len(self.service.running.store.charges(self.collection.id))


@contextmanager
def opened(
    folder: Path,
    *,
    central: str = 'central = { per_epoch = "0.5", per_installation = "2", delta = "0" }\n',
    prepare: PrepareRelease = release_plans.prepare,
    entropy: Callable[[int], bytes] | None = None,
    empty: bool = False,
    more: str = "",
    **manifest: object,
) -> Iterator[ReleaseWorld]:
    """A world whose collection has five reports in each of FIRST, LAST and OPEN."""
    with api_world.opened(folder) as world:
        text = authored(more=more + central, **manifest)  # type: ignore[arg-type]  # one dict has values of many types
        made = ReleaseWorld(world, world.register(text), prepare, entropy)
        if not empty:
            for epoch in (FIRST, LAST, OPEN):
                world.count(made.collection, [BITS] * 5, epoch=epoch)
        yield made
