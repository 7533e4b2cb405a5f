"""Migration 0009: computes the checksums of rows that an older program wrote."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable_aggregator.store.checksums import (
    BODY_MASK,
    body,
    charge_checksum,
    record_checksum,
    seal,
)
from deniable_aggregator.store.rows import ChargeRow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.store.statements import Statements

_FILLED = ("cells", "deltas", "closed_epochs", "expired_epochs", "charges", "session_records")
_TRIGGERS = """
select tbl_name, name, sql from sqlite_master where type = 'trigger' and sql is not null"""
_CELLS = "select number, n, collection, epoch, manifest_version, cohort, tally_size from cells"
_PAGES = "select page, counts from pages where cell = ?"
_DELTA = "select n, cell, places, counts from deltas where number = ?"
_CHARGES = """
select position, id, release, request, terms, epochs, epsilon, rho, delta, adjacency, created
from charges join collections on number = collection"""
_RECORDS = "select release, number, record from session_records"


def fill(db: Statements, database: str) -> None:
    """Compute and store every checksum; triggers that forbid changes are disabled meanwhile."""
    with _unruled(db, database):
        _cells(db)
        if database == "postgres":
            _deltas(db)
        for table, moment in (("closed_epochs", "closed_at"), ("expired_epochs", "expired_at")):
            _facts(db, table, moment)
        _charges(db)
        _records(db)


@contextmanager
def _unruled(db: Statements, database: str) -> Iterator[None]:
    if database == "postgres":
        for table in _FILLED:
            db.execute(f"alter table {table} disable trigger user")
        yield
        for table in _FILLED:
            db.execute(f"alter table {table} enable trigger user")
        return
    ruled = [row for row in _rows(db, _TRIGGERS) if row[0] in _FILLED]
    for _, name, _ in ruled:
        db.execute(f"drop trigger {name}")
    yield
    for *_, definition in ruled:
        db.execute(definition)


def _cells(db: Statements) -> None:
    for number, *columns in _rows(db, _CELLS):
        total = 0
        for page, counts in _rows(db, _PAGES, number):
            total += body(np.frombuffer(counts, "<i8"), page)
        _set(db, "cells", {"number": number}, seal=seal(*columns), body=total & BODY_MASK)


def _deltas(db: Statements) -> None:
    for (number,) in _rows(db, "select number from deltas"):
        [[n, cell, places, counts]] = _rows(db, _DELTA, number)
        part = np.frombuffer(counts, "<i8")
        if places is not None:
            at = np.frombuffer(places, "<u4")
            whole = np.zeros(int(at.max(initial=0)) + 1, np.int64)
            whole[at] = part
            part = whole
        _set(db, "deltas", {"number": number}, seal=seal(n, cell), body=body(part))


def _facts(db: Statements, table: str, moment: str) -> None:
    for at, collection, epoch in _rows(db, f"select {moment}, collection, epoch from {table}"):  # noqa: S608  (the names in it are fixed)
        key = {"collection": collection, "epoch": epoch}
        _set(db, table, key, seal=seal(at, collection, epoch))


def _charges(db: Statements) -> None:
    for position, collection, release, request, terms, epochs, *exact in _rows(db, _CHARGES):
        row = ChargeRow(collection, release, request, terms, (), *exact)
        _set(db, "charges", {"position": position}, checksum=charge_checksum(row, epochs))


def _records(db: Statements) -> None:
    for release, number, record in _rows(db, _RECORDS):
        key = {"release": release, "number": number}
        _set(db, "session_records", key, checksum=record_checksum(release, number, record))


def _rows(db: Statements, statement: str, *parameters: object) -> list[Any]:
    return db.execute(statement, parameters).fetchall()


def _set(db: Statements, table: str, key: dict[str, object], **values: object) -> None:
    new = ", ".join(f"{name} = ?" for name in values)
    row = " and ".join(f"{name} = ?" for name in key)
    parameters = (*values.values(), *key.values())
    db.execute(f"update {table} set {new} where {row}", parameters)  # noqa: S608  (the names in it are fixed)
