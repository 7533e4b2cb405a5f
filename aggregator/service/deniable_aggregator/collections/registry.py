"""The collections of the service: verified and parsed manifests, kept permanently."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store.rows import CollectionRow, ManifestRow, TallyKey
from deniable_estimators.mechanisms import estimator_for
from deniable_gateway.problem import Problem, jittered
from deniable_shared.errors import DeniableError, ManifestError
from deniable_shared.manifest.epochs import Clock, closes_at, epoch_at, epoch_start
from deniable_shared.manifest.model import MANIFEST_TYPE, Manifest
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.manifest.rules import check_successor, check_takes_name
from deniable_shared.wire import dsse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from deniable_aggregator.access.audit import AuditEntry
    from deniable_aggregator.store.protocols import Collections
    from deniable_estimators.inference.protocols import Estimator
    from deniable_shared.mechanisms import Mechanism

SHOWN_CHARACTERS = 100
LOST = (
    "a collection that was registered here is no longer in the database: its operator must restore "
    "a backup that has it or register it again; `deniable ledger reconcile` names it"
)
TOO_LATE = (
    "{} can be deleted only before its first epoch begins, and while it has no reports and no "
    "charges: devices may have answered. End it with `deniable collections close`, and hide it "
    "with `deniable collections archive`"
)
LOST_SECONDS = 600.0
"""Seconds: devices of a lost collection try again after one to two times this."""


class UnknownCollection(Problem):
    """There is no collection of this id or name, or no such version of it."""

    def __init__(self, detail: str) -> None:
        super().__init__("unknown-collection", detail)


@dataclass(frozen=True, slots=True)
class Registration:
    """The registered manifest; `created` is False if it was registered before."""

    manifest: Manifest
    created: bool


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """A collection with all its versions, which share mechanism and length of epochs.

    `manifest`, `first_epoch` and `last_epoch` are of the newest version; `plaintext_size`: bytes.
    Lists leave out `archived` ones.
    """

    id: str
    name: str
    manifest: Manifest
    versions: Mapping[int, Manifest]
    first: Manifest
    state: str
    mechanism: Mechanism
    estimator: Estimator
    first_epoch: int
    last_epoch: int
    plaintext_size: int
    archived: bool = False

    @classmethod
    def from_manifest(cls, manifest: Manifest) -> Collection:
        """A collection with only this first version."""
        mechanism = manifest.mechanism()
        return cls(
            id=manifest.collection,
            name=manifest.name,
            manifest=manifest,
            versions={manifest.version: manifest},
            first=manifest,
            state="open",
            mechanism=mechanism,
            estimator=estimator_for(mechanism, repeat=manifest.repeat),
            first_epoch=manifest.first_epoch,
            last_epoch=manifest.last_epoch,
            plaintext_size=manifest.plaintext_size,
        )

    def with_next_version(self, manifest: Manifest) -> Collection:
        """The collection with its next version."""
        return replace(
            self,
            manifest=manifest,
            versions={**self.versions, manifest.version: manifest},
            last_epoch=manifest.last_epoch,
        )

    def closes(self, moment: int) -> float:
        """Unix seconds when the epoch of `moment` closes; -inf if it accepts no more reports."""
        newest = self.manifest
        epoch = min(epoch_at(moment, newest.epoch_seconds), self.last_epoch)
        if self.state == "closed" or epoch < self.first_epoch:
            return -math.inf
        return closes_at(epoch, newest.epoch_seconds, newest.grace_seconds)


class Registry:
    """Collections by id and name, a copy of the store in memory. Thread-safe, lock-free reads."""

    def __init__(
        self,
        store: Collections,
        *,
        trusted: Sequence[str],
        shared: bool = False,
        ever_registered: Callable[[], frozenset[str]] = frozenset,
    ) -> None:
        """Reads every manifest back. Raises StoreError for one the operator did not sign.

        `shared`: other processes also register collections, so unknown ids are read from the store.
        `ever_registered`: ids that were ever registered, also those that the store has lost.
        """
        self._store = store
        self._ever_registered = ever_registered
        self._shared = shared
        self._log_size = -1
        self._trusted = tuple(trusted)
        self._applying = threading.Lock()
        self._collections: dict[str, Collection] = {}
        self._names: dict[str, str] = {}
        self._envelopes: dict[tuple[str, int], bytes] = {}
        self._rows: dict[str, CollectionRow] = {}
        self._reload()

    def apply(
        self, envelope: bytes, *, replace: bool = False, audit: AuditEntry | None
    ) -> Registration:
        """Register a signed manifest. Registering it again changes nothing.

        Raises DecodeError or SignatureError for bytes the operator did not sign, ManifestError for
        a manifest that may not follow or may not take a name, Problem("conflict") for a closed
        collection, for a version that was deleted with another body and, without `replace`, for a
        name that belongs to another collection.
        """
        body = dsse.verify(envelope, payload_type=MANIFEST_TYPE, trusted=self._trusted)
        manifest = parse_manifest(body)
        self.refresh()
        with self._applying:
            if self._is_registered(manifest):
                return Registration(manifest, created=False)
            self._check_version(manifest)
            self._check_deleted(manifest)
            self._check_name(manifest, replace=replace)
            self._store.add_manifest(
                ManifestRow(
                    collection=manifest.collection,
                    version=manifest.version,
                    name=manifest.name,
                    digest=manifest.digest,
                    envelope=envelope,
                ),
                audit=audit,
            )
            self._remember(manifest, envelope)
        return Registration(manifest, created=True)

    def refresh(self) -> None:
        """Reload collections that other processes registered, closed, archived or deleted."""
        if self._shared:
            with self._applying:
                self._reload()

    def get(self, id_or_name: str, *, version: int = 0) -> Collection:
        """The collection of an id, or the present one of a name. Raises UnknownCollection.

        Raises Problem("unavailable") if the database has lost it: its devices keep their reports.
        With `version` it reloads the store if that version is unknown.
        """
        collection = self.lookup(id_or_name)
        if collection is None or collection.manifest.version < version:
            self.refresh()
            collection = self.lookup(id_or_name)
        if collection is None and id_or_name in self._ever_registered():
            raise Problem("unavailable", LOST, retry_after=jittered(LOST_SECONDS))
        if collection is None:
            raise _unknown(id_or_name)
        return collection

    def require_nothing_lost(self) -> None:
        """Raises Problem("unavailable") if a collection that was ever registered is not here."""
        if self._ever_registered() - self._collections.keys():
            raise Problem("unavailable", LOST, retry_after=jittered(LOST_SECONDS))

    def lookup(self, id_or_name: str) -> Collection | None:
        """The collection in memory, which may lack those that other processes registered."""
        collection = self._collections.get(id_or_name)
        return collection or self._collections.get(self._names.get(id_or_name, ""))

    def manifest(self, collection: str, version: int) -> Manifest | None:
        """One version of a collection, by id."""
        known_collection = self._collections.get(collection)
        return None if known_collection is None else known_collection.versions.get(version)

    def envelope(self, id_or_name: str, version: int | None = None) -> bytes:
        """The signed DSSE bytes, by default of the newest version. Raises UnknownCollection."""
        collection = self.get(id_or_name)
        number = collection.manifest.version if version is None else version
        try:
            return self._envelopes[collection.id, number]
        except KeyError:
            raise UnknownCollection(
                f"{collection.id} has versions 1…{collection.manifest.version}, got {number}"
            ) from None

    def all(self) -> list[Collection]:
        """Every collection, by name and id."""
        return sorted(self._collections.values(), key=lambda each: (each.name, each.id))

    def listed(self, *, archived: bool = False) -> list[Collection]:
        """The collections for lists; with `archived` all of them."""
        return [collection for collection in self.all() if archived or not collection.archived]

    def ids_of(self, collections: Sequence[str] | None) -> list[str] | None:
        """The ids of collections given by id or name; None: all. Raises UnknownCollection."""
        return None if collections is None else sorted({self.get(each).id for each in collections})

    def close(self, collection_id: str, *, audit: AuditEntry | None) -> None:
        """Close this collection permanently: it accepts no more reports."""
        with self._applying:
            collection = self._require(collection_id)
            if collection.state == "open":
                self._store.set_collection_closed(collection_id, audit=audit)
                self._collections[collection_id] = replace(collection, state="closed")

    def archive(self, collection_id: str, *, archived: bool, audit: AuditEntry | None) -> None:
        """Set whether lists leave out this collection; nothing else changes."""
        with self._applying:
            collection = self._require(collection_id)
            self._store.set_collection_archived(collection_id, archived=archived, audit=audit)
            self._collections[collection_id] = replace(collection, archived=archived)

    def delete(self, collection_id: str, *, clock: Clock, audit: AuditEntry | None) -> None:
        """Remove this collection; its log entries stay.

        Raises Problem("conflict") if its first epoch has begun, or it has reports, closed
        epochs or charges.
        """
        self.refresh()
        with self._applying:
            collection = self._require(collection_id)
            begins = epoch_start(collection.first_epoch, collection.manifest.epoch_seconds)

            def require_unused(used: bool) -> None:
                if used or clock() >= begins:
                    raise Problem("conflict", TOO_LATE.format(collection_id))

            self._store.delete_collection(collection_id, require_unused, audit=audit)
            self._forget(collection_id)

    def tally(self, cell: TallyKey, payloads: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        """The tally of payloads uint8[n, payload_size], int64[tally_size]; the store calls it."""
        return self._collections[cell.collection].estimator.tally(payloads)

    def _require(self, collection_id: str) -> Collection:
        """The collection of an id; the caller holds the lock. Raises UnknownCollection."""
        collection = self._collections.get(collection_id)
        if collection is None:
            raise _unknown(collection_id)
        return collection

    def _reload(self) -> None:
        """Read new collections from the store; reads manifests only if the log has grown."""
        rows = self._store.collections()
        for gone in [each for each in self._collections if self._is_deleted(each, rows)]:
            self._forget(gone)
        size, _ = self._store.log_head()
        if size != self._log_size:
            for row in self._store.manifests():
                if (row.collection, row.version) not in self._envelopes:
                    self._remember(self._parse_stored(row), row.envelope)
            self._log_size = size
        for collection_id in rows.keys() & self._collections.keys():
            self._set_state(collection_id, rows[collection_id])
        self._rows = rows

    def _parse_stored(self, row: ManifestRow) -> Manifest:
        try:
            body = dsse.verify(row.envelope, payload_type=MANIFEST_TYPE, trusted=self._trusted)
            manifest = parse_manifest(body)
        except DeniableError as error:
            raise StoreError(
                f"manifest {row.version} of {row.collection} in the database is refused: {error}. "
                "Restore a backup with `deniable store restore`"
            ) from error
        signed = (manifest.collection, manifest.version, manifest.name, manifest.digest)
        if signed != (row.collection, row.version, row.name, row.digest):
            raise StoreError(
                f"manifest {manifest.version} of {manifest.collection} in the database has other "
                "columns than the signed ones: restore a backup with `deniable store restore`"
            )
        return manifest

    def _is_registered(self, manifest: Manifest) -> bool:
        registered = self.manifest(manifest.collection, manifest.version)
        if registered is not None and registered.digest != manifest.digest:
            raise ManifestError(
                f"version {manifest.version} of {manifest.collection} is registered with another "
                f"body: a change takes version {self.get(manifest.collection).manifest.version + 1}"
            )
        return registered is not None

    def _check_version(self, manifest: Manifest) -> None:
        registered = self._collections.get(manifest.collection)
        expected = 1 if registered is None else registered.manifest.version + 1
        if registered is not None and registered.state == "closed":
            raise Problem("conflict", f"{registered.id} is closed: it accepts no new version")
        if manifest.version != expected:
            raise ManifestError(
                f"version must be {expected}, the next one here, got {manifest.version}"
            )
        if registered is not None:
            check_successor(registered.manifest, manifest, registered.first)

    def _check_deleted(self, manifest: Manifest) -> None:
        """Raises Problem if another body replaces a deleted manifest: devices may have that one."""
        for row in self._store.deleted_manifests():
            same = (row.collection, row.version) == (manifest.collection, manifest.version)
            if same and row.digest != manifest.digest:
                raise Problem(
                    "conflict",
                    f"version {row.version} of {row.collection} was another manifest before it was "
                    "deleted, and devices may have that one: register it again and change it in "
                    f"version {row.version + 1}, or give the collection another name",
                )

    def _check_name(self, manifest: Manifest, *, replace: bool) -> None:
        owner = self._names.get(manifest.name, manifest.collection)
        if owner != manifest.collection and not replace:
            raise Problem(
                "conflict",
                f"the name {manifest.name!r} belongs to {owner}: give the new one another name, "
                "or replace it (its reports stay readable by id)",
                collection=owner,
            )
        if owner != manifest.collection and manifest.collection not in self._collections:
            check_takes_name(self._collections[owner].manifest, manifest)

    def _remember(self, manifest: Manifest, envelope: bytes) -> None:
        registered = self._collections.get(manifest.collection)
        self._envelopes[manifest.collection, manifest.version] = envelope
        self._collections[manifest.collection] = (
            Collection.from_manifest(manifest)
            if registered is None
            else registered.with_next_version(manifest)
        )
        self._names[manifest.name] = manifest.collection

    def _set_state(self, collection_id: str, row: CollectionRow) -> None:
        collection = self._collections[collection_id]
        state = "closed" if row.closed else collection.state
        if (state, row.archived) != (collection.state, collection.archived):
            self._collections[collection_id] = replace(
                collection, state=state, archived=row.archived
            )

    def _is_deleted(self, collection_id: str, rows: Mapping[str, CollectionRow]) -> bool:
        """Whether the collection in memory was deleted; another one may have its id now."""
        row = self._rows.get(collection_id)
        return collection_id not in rows or (
            row is not None and row.number != rows[collection_id].number
        )

    def _forget(self, collection_id: str) -> None:
        """Remove a collection from memory; its name returns to its previous owner."""
        kept = (each for each in self._envelopes.items() if each[0][0] != collection_id)
        self._envelopes = dict(kept)
        self._names = {
            self._collections[owner].versions[version].name: owner
            for owner, version in self._envelopes
        }
        self._rows.pop(collection_id, None)
        del self._collections[collection_id]


def _unknown(id_or_name: str) -> UnknownCollection:
    return UnknownCollection(
        f"no collection has the id or name {id_or_name[:SHOWN_CHARACTERS]!r}; "
        "GET /v1/collections lists them"
    )
