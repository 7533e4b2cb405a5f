"""The collections that this client knows, prepared and in memory. The state file stores them."""

from __future__ import annotations

import os
import time
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable_client._recording import manifests
from deniable_client._recording.prepared_collection import PreparedCollection, prepare
from deniable_client._state import installation
from deniable_client.errors import (
    ClientError,
    ConfigurationError,
    LogForkedError,
    RefusedError,
    StorageError,
)
from deniable_client.outcome import Outcome
from deniable_client.vouching import Vouchers, require_able

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

    from deniable_client._recording.manifests import Offer
    from deniable_client._state.state import State
    from deniable_client.ceiling import Ceiling
    from deniable_shared.manifest.epochs import Clock
    from deniable_shared.manifest.model import Manifest

Source = str | os.PathLike[str] | bytes
"""A signed manifest: the path of its file, or its bytes."""


class KnownCollections:
    """Looks collections up by name or id. `load` returns each refused manifest once."""

    def __init__(
        self,
        state: State,
        *,
        trust: tuple[str, ...],
        origins: tuple[str, ...],
        ceiling: Ceiling,
        vouchers: Vouchers | None = None,
        clock: Clock = time.time,
    ) -> None:
        self._state = state
        self._trust = trust
        self._trust_digest = manifests.trust_digest(trust)
        self._origins = origins
        self.ceiling = ceiling
        self._vouchers = vouchers
        self._clock = clock
        self._all: tuple[PreparedCollection, ...] = ()
        self._by_name_or_id: Mapping[str, tuple[PreparedCollection, ...]] = {}
        self._shipped: tuple[Offer, ...] = ()
        self.loaded: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all known collections."""
        return tuple(sorted({each.manifest.name for each in self._all}))

    @property
    def prepared(self) -> tuple[PreparedCollection, ...]:
        """All known collections, the newest first."""
        return self._all

    def always(self, now: float) -> list[PreparedCollection]:
        """Return the `always` collections that need a default now: running, or just over.

        A collection is left out once a newer one has its name.
        """
        return [
            each
            for each in self._all
            if each.always
            and each.admitted
            and (self.find(each.manifest.name, now) is each or not each.live(now))
        ]

    @property
    def lifetimes(self) -> dict[str, Fraction]:
        """Return the most ε that each name may cost by its manifests."""
        lifetimes: dict[str, Fraction] = {}
        for prepared in self._all:
            manifest = prepared.manifest
            lifetimes[manifest.name] = max(
                manifest.epsilon_lifetime, lifetimes.get(manifest.name, Fraction(0))
            )
        return lifetimes

    def ship(self, sources: Iterable[Source]) -> None:
        """Take the manifests that the app ships.

        Raises ConfigurationError if no device could use one of them.
        """
        if isinstance(sources, str | bytes | os.PathLike):
            raise ConfigurationError("manifests must be a list of paths or bytes, got a single one")
        offers = [self._read_shipped(source) for source in sources]
        self._shipped = tuple(sorted(offers, key=lambda offer: offer.manifest.version))
        self._arrange(offer.manifest for offer in self._shipped)

    def load(self) -> Sequence[ClientError]:
        """Store the shipped manifests, then prepare all stored ones. A second call does nothing.

        Returns an error for each refused manifest. After a StorageError the next call tries again.
        """
        if self.loaded:
            return []
        with self._state.transaction() as db:
            manifests.forget_damaged(db)
        refused = [refusal for offer in self._shipped if (refusal := self._enroll(offer))]
        self._rearrange()
        self.loaded = True
        return refused

    def add(self, envelope: bytes, name_or_id: str) -> RefusedError | LogForkedError | None:
        """Take a manifest that was fetched under a name or id.

        Returns the error if it is refused.
        """
        try:
            offer = self._read(None, envelope)
        except RefusedError as error:
            return RefusedError(f"{name_or_id}: {error}")
        if name_or_id not in (offer.manifest.name, offer.manifest.collection):
            return RefusedError(
                f"{name_or_id}: the aggregator answered with {offer.manifest.collection}"
            )
        refusal = self._enroll(offer)
        self._rearrange()
        return refusal

    def find(self, name_or_id: str, now: float) -> PreparedCollection | Outcome:
        """The newest collection of that name that runs now, or the outcome if there is none."""
        if not isinstance(name_or_id, str):  # the arguments were swapped: a value may be unhashable
            return Outcome.UNKNOWN_COLLECTION
        candidates = self._by_name_or_id.get(name_or_id, ())
        for prepared in candidates:
            if prepared.live(now):
                return prepared if prepared.admitted else Outcome.OVER_CEILING
        over = any(now >= prepared.ends for prepared in candidates)
        return Outcome.EXPIRED if over else Outcome.UNKNOWN_COLLECTION

    def _read_shipped(self, source: Source) -> Offer:
        envelope, label = _read_source(source)
        try:
            with self._state.reading() as db:
                return self._read(db, envelope)
        except StorageError:
            pass
        except RefusedError as error:
            raise ConfigurationError(f"manifest {label}: {error}") from error
        try:
            return self._read(None, envelope)
        except RefusedError as error:
            raise ConfigurationError(f"manifest {label}: {error}") from error

    def _read(self, db: sqlite3.Connection | None, envelope: bytes) -> Offer:
        """Return the manifest.

        Raises RefusedError also if it requires a voucher and the app has none.
        """
        offer = manifests.read_offer(db, envelope, trust=self._trust, origins=self._origins)
        require_able(offer.manifest.requires, offer.manifest.collection, self._vouchers)
        return offer

    def _enroll(self, offer: Offer) -> RefusedError | LogForkedError | None:
        try:
            with self._state.transaction() as db:
                manifests.enroll(db, offer, self._trust, self._clock())
        except LogForkedError as error:
            with self._state.transaction() as db:
                installation.declare_fork(db, str(error))
            return error
        except RefusedError as error:
            return error
        return None

    def _rearrange(self) -> None:
        with self._state.reading() as db:
            newest = manifests.newest(db, self._trust_digest, self._origins)
        self._arrange(each for each in newest if self._vouchers or not each.requires)

    def _arrange(self, newest: Iterable[Manifest]) -> None:
        collections = [prepare(manifest, self.ceiling) for manifest in newest]
        collections.sort(key=lambda prepared: prepared.starts, reverse=True)
        by_name: dict[str, tuple[PreparedCollection, ...]] = {}
        for prepared in collections:
            name = prepared.manifest.name
            by_name[name] = (*by_name.get(name, ()), prepared)
        by_id = {prepared.manifest.collection: (prepared,) for prepared in collections}
        self._by_name_or_id = by_name | by_id
        self._all = tuple(collections)


def _read_source(source: Source) -> tuple[bytes, str]:
    if isinstance(source, bytes):
        return source, "given as bytes"
    if not isinstance(source, str | os.PathLike):
        raise ConfigurationError(
            f"manifests must hold paths and bytes, got {type(source).__name__}"
        )
    try:
        with open(source, "rb") as file:
            return file.read(), os.fspath(source)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"manifest {os.fspath(source)!r:.200} cannot be read: give the path of a file made by "
            "`deniable collections export`, or its bytes"
        ) from error
