"""Checks every stored count, manifest and entry against its checksum, in one snapshot.

It computes the heads of ledger and log from all their rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.base import damage
from deniable_aggregator.base.errors import DamagedError, StoreError
from deniable_aggregator.store import checksums, ledger_rows, transparency_log
from deniable_aggregator.store.ledger_rows import ChainHead, ledger_head
from deniable_aggregator.store.portable.tables import TABLES, Row
from deniable_aggregator.store.rows import TallyKey
from deniable_aggregator.store.stored_tallies import UncheckedTally, require_possible
from deniable_estimators.mechanisms import estimator_for
from deniable_shared.errors import DeniableError
from deniable_shared.manifest.model import MANIFEST_TYPE, Manifest
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.wire import dsse
from deniable_shared.wire.transparency_log import GENESIS, LOG_PAGE, extend

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from deniable_aggregator.store.portable.snapshot import Snapshot
    from deniable_aggregator.store.statements import Statements
    from deniable_estimators.inference.protocols import Estimator

_TABLES = {table.name: table for table in TABLES}
_FACTS = (("closed_epochs", "closed_at"), ("expired_epochs", "expired_at"))


@dataclass(slots=True)
class _Manifests:
    """The newest manifest of each collection, and its estimator, made on first use."""

    newest: dict[str, Manifest] = field(default_factory=dict)
    ids: dict[int, str] = field(default_factory=dict)
    estimators: dict[str, Estimator] = field(default_factory=dict)

    def estimator(self, collection: str) -> Estimator | None:
        manifest = self.newest.get(collection)
        if manifest is not None and collection not in self.estimators:
            self.estimators[collection] = estimator_for(
                manifest.mechanism(), repeat=manifest.repeat
            )
        return self.estimators.get(collection)

    def said(self, error: DamagedError) -> str:
        return damage.sentence(error, self.newest.get(error.collection))


def require_integrity(database: Snapshot) -> None:
    """Raises StoreError that names the first damage."""
    for sentence in find_damage(database):
        raise StoreError(sentence)


def find_damage(database: Snapshot) -> Iterator[str]:
    """A sentence for each damaged manifest, cell, closed epoch and entry of a ledger."""
    manifests = _Manifests()
    yield from _manifests(database, manifests)
    for error in (*_cells(database, manifests), *_facts(database, manifests), *_entries(database)):
        yield manifests.said(error)


def _manifests(database: Snapshot, manifests: _Manifests) -> Iterator[str]:
    for row in _named(database, "collections"):
        manifests.ids[_whole(row["number"])] = str(row["id"])
    for stored in transparency_log.manifests(database.statements):
        try:
            payload = dsse.unverified_payload(stored.envelope, payload_type=MANIFEST_TYPE)
            manifest = parse_manifest(payload)
            same = (manifest.collection, manifest.version, manifest.name, manifest.digest)
        except DeniableError:
            continue  # its signature is wrong, too: doctor and the start of a service verify those
        if same == (stored.collection, stored.version, stored.name, stored.digest):
            manifests.newest[stored.collection] = manifest
        else:
            yield manifests.said(DamagedError(stored.collection, what=f"manifest {stored.version}"))


def _cells(database: Snapshot, manifests: _Manifests) -> Iterator[DamagedError]:
    pages = groupby(_named(database, "pages"), lambda row: _whole(row["cell"]))
    number, parts = next(pages, (None, None))
    for row in _named(database, "cells"):
        while number is not None and number < _whole(row["number"]):
            number, parts = next(pages, (None, None))
        own: Iterable[Mapping[str, object]] = ()
        if number == row["number"] and parts is not None:
            own = parts
        try:
            _check_cell(row, own, manifests)
        except DamagedError as error:
            yield error


def _check_cell(
    row: Mapping[str, object], pages: Iterable[Mapping[str, object]], manifests: _Manifests
) -> None:
    """Raises DamagedError if the cell differs from its checksums."""
    columns = ("collection", "epoch", "manifest_version", "cohort", "tally_size")
    n, number, epoch, *rest = (_whole(row[name]) for name in ("n", *columns))
    collection = manifests.ids.get(number, f"collection number {number}")
    if checksums.seal(n, number, epoch, *rest) != row["seal"]:
        raise DamagedError(collection, epoch)
    version, cohort, size = rest
    cell = TallyKey(collection, epoch, version, cohort)
    stored = UncheckedTally(cell, n, np.zeros(size, np.int64), _whole(row["body"]))
    for page in pages:
        stored.put(_whole(page["page"]), page["counts"])
    whole, estimator = stored.checked(), manifests.estimator(collection)
    if estimator is not None:
        require_possible(estimator, whole)


def _facts(database: Snapshot, manifests: _Manifests) -> Iterator[DamagedError]:
    for table, moment in _FACTS:
        for row in _named(database, table):
            at, number, epoch = (_whole(row[name]) for name in (moment, "collection", "epoch"))
            if checksums.seal(at, number, epoch) != row["seal"]:
                collection = manifests.ids.get(number, f"collection number {number}")
                yield DamagedError(collection, epoch, f"entry in {table}")


def _entries(database: Snapshot) -> Iterator[DamagedError]:
    db = database.statements
    try:
        for row in ledger_rows.ledger(db, 0):
            ledger_rows.result(db, row.release)
            ledger_rows.records(db, row.release, 0)
    except DamagedError as error:
        yield error


def _named(database: Snapshot, name: str) -> Iterator[Mapping[str, object]]:
    table = _TABLES[name]
    rows: Iterator[Row] = database.rows(table)
    return (dict(zip(table.columns, row, strict=True)) for row in rows)


def _whole(value: object) -> int:
    """The number. Raises StoreError for another type."""
    if not isinstance(value, int):
        raise StoreError(
            "the database is damaged: a row lacks a number that its table needs. "
            "Restore a backup with `deniable store restore`"
        )
    return value


@dataclass(frozen=True, slots=True)
class ChainHeads:
    """Size and head of both chains."""

    ledger: ChainHead
    log: ChainHead


def read_chain_heads(db: Statements) -> ChainHeads:
    """Raises StoreError if the log's own heads are not those of its entries."""
    size, stored = transparency_log.head(db)
    head, done = GENESIS, 0
    while entries := transparency_log.entries(db, done):
        head, done = extend(head, entries), done + min(len(entries), LOG_PAGE)
    if (done, head) != (size, bytes(stored)):
        raise StoreError(f"the stored head of the log does not match its {size:,} entries")
    rows = ledger_rows.ledger(db, 0)
    return ChainHeads(ChainHead(len(rows), ledger_head(rows).hex()), ChainHead(size, head.hex()))
