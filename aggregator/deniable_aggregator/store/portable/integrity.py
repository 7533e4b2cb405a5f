"""Whether every stored count, manifest and entry is as it was written, in one snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from deniable_aggregator import damage, estimators
from deniable_aggregator.errors import DamagedError, StoreError
from deniable_aggregator.estimators import Estimator
from deniable_aggregator.store import checksums, ledger_rows, transparency_log
from deniable_aggregator.store.portable.snapshot import Snapshot
from deniable_aggregator.store.portable.tables import TABLES, Row
from deniable_aggregator.store.rows import Cell
from deniable_aggregator.store.stored_tallies import StoredTally, possible
from deniable_shared import dsse
from deniable_shared.errors import DeniableError
from deniable_shared.manifest import MANIFEST_TYPE, Manifest
from deniable_shared.manifest_parser import parse_manifest

_TABLES = {table.name: table for table in TABLES}
_FACTS = (("closed_epochs", "closed_at"), ("expired_epochs", "expired_at"))


@dataclass(slots=True)
class _Known:
    """The newest manifest of each collection, and the estimators that were asked for."""

    newest: dict[str, Manifest] = field(default_factory=dict)
    ids: dict[int, str] = field(default_factory=dict)
    estimators: dict[str, Estimator] = field(default_factory=dict)

    def estimator(self, collection: str) -> Estimator | None:
        manifest = self.newest.get(collection)
        if manifest is not None and collection not in self.estimators:
            self.estimators[collection] = estimators.for_mechanism(
                manifest.mechanism(), repeat=manifest.repeat
            )
        return self.estimators.get(collection)

    def said(self, error: DamagedError) -> str:
        return damage.sentence(error, self.newest.get(error.collection))


def require_sound(found: Snapshot) -> None:
    """Raises StoreError that names the first damage."""
    for sentence in damages(found):
        raise StoreError(sentence)


def damages(found: Snapshot) -> Iterator[str]:
    """A sentence for each damaged manifest, cell, closed epoch and entry of a ledger."""
    known = _Known()
    yield from _manifests(found, known)
    for error in (*_cells(found, known), *_facts(found, known), *_entries(found)):
        yield known.said(error)


def _manifests(found: Snapshot, known: _Known) -> Iterator[str]:
    for row in _named(found, "collections"):
        known.ids[_whole(row["number"])] = str(row["id"])
    for stored in transparency_log.manifests(found.statements):
        try:
            payload = dsse.unverified_payload(stored.envelope, payload_type=MANIFEST_TYPE)
            manifest = parse_manifest(payload)
            same = (manifest.collection, manifest.version, manifest.name, manifest.digest)
        except DeniableError:
            continue  # its signature is wrong, too: doctor verifies those, and so does a start
        if same == (stored.collection, stored.version, stored.name, stored.digest):
            known.newest[stored.collection] = manifest
        else:
            yield known.said(DamagedError(stored.collection, what=f"manifest {stored.version}"))


def _cells(found: Snapshot, known: _Known) -> Iterator[DamagedError]:
    pages = groupby(_named(found, "pages"), lambda row: _whole(row["cell"]))
    number, parts = next(pages, (None, None))
    for row in _named(found, "cells"):
        while number is not None and number < _whole(row["number"]):
            number, parts = next(pages, (None, None))
        own: Iterable[Mapping[str, object]] = ()
        if number == row["number"] and parts is not None:
            own = parts
        try:
            _check_cell(row, own, known)
        except DamagedError as error:
            yield error


def _check_cell(
    row: Mapping[str, object], pages: Iterable[Mapping[str, object]], known: _Known
) -> None:
    """Raises DamagedError."""
    columns = ("collection", "epoch", "manifest_version", "cohort", "tally_size")
    n, number, epoch, *rest = (_whole(row[name]) for name in ("n", *columns))
    collection = known.ids.get(number, f"collection number {number}")
    if checksums.seal(n, number, epoch, *rest) != row["seal"]:
        raise DamagedError(collection, epoch)
    version, cohort, size = rest
    cell = Cell(collection, epoch, version, cohort)
    stored = StoredTally(cell, n, np.zeros(size, np.int64), _whole(row["body"]))
    for page in pages:
        stored.put(_whole(page["page"]), page["counts"])
    whole, estimator = stored.checked(), known.estimator(collection)
    if estimator is not None:
        possible(estimator, whole)


def _facts(found: Snapshot, known: _Known) -> Iterator[DamagedError]:
    for table, moment in _FACTS:
        for row in _named(found, table):
            at, number, epoch = (_whole(row[name]) for name in (moment, "collection", "epoch"))
            if checksums.seal(at, number, epoch) != row["seal"]:
                collection = known.ids.get(number, f"collection number {number}")
                yield DamagedError(collection, epoch, f"entry in {table}")


def _entries(found: Snapshot) -> Iterator[DamagedError]:
    db = found.statements
    try:
        for row in ledger_rows.ledger(db, 0):
            ledger_rows.result(db, row.release)
            ledger_rows.records(db, row.release, 0)
    except DamagedError as error:
        yield error


def _named(found: Snapshot, name: str) -> Iterator[Mapping[str, object]]:
    table = _TABLES[name]
    rows: Iterator[Row] = found.rows(table)
    return (dict(zip(table.columns, row, strict=True)) for row in rows)


def _whole(value: object) -> int:
    """Raises StoreError for what is no number where the database must hold one."""
    if not isinstance(value, int):
        raise StoreError(
            "the database is damaged: a row has no number where its table needs one. "
            "Restore a backup with `deniable restore`"
        )
    return value
