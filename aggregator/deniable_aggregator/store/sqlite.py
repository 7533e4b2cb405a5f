"""The embedded store: one SQLite file, WAL, synchronous=FULL, one writer."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from deniable_aggregator.auth import Token
from deniable_aggregator.errors import StoreError
from deniable_aggregator.store import counting, journal, releases, schema
from deniable_aggregator.store.connections import Connections, Factory
from deniable_aggregator.store.contract import (
    Arrival,
    CellTally,
    ChargeRow,
    Decide,
    EpochRow,
    KeyListRow,
    LogEntry,
    ManifestRow,
    ResultRow,
    Tally,
    Verdict,
)

__all__ = ["SqliteStore"]

_ADD_REJECTIONS = """
insert into rejections (collection, reason, n) values (?, ?, ?)
on conflict (collection, reason) do update set n = n + excluded.n"""
_TOKEN = "select id, role, label, hash, created, expires, revoked from tokens"  # noqa: S105


class SqliteStore:
    """See `contract.Store`. Opening migrates the file and finishes an interrupted closing."""

    def __init__(self, path: Path, *, factory: Factory = sqlite3.Connection) -> None:
        schema.migrate(path)
        self._connections = Connections(path, factory=factory)
        self._counting_rejections = threading.Lock()
        self._rejections: Counter[tuple[int, str]] = Counter()
        try:
            self._numbers = self._collection_numbers()
            self._finish_sweeps()
        except BaseException:
            self._connections.close()
            raise

    def commit(self, arrivals: Sequence[Arrival], tally: Tally) -> list[Verdict]:
        with self._connections.write() as db:
            return counting.commit(db, self._numbers, arrivals, tally)

    def tallies(self, collection: str, first_epoch: int, last_epoch: int) -> list[CellTally]:
        with self._connections.read() as db:
            return counting.tallies(db, collection, first_epoch, last_epoch)

    def epochs(self, collection: str) -> list[EpochRow]:
        with self._connections.read() as db:
            return counting.epochs(db, self._number(collection))

    def close_epoch(self, collection: str, epoch: int, now: float) -> bool:
        """The fact and SWEEP_IDS ids together, more ids in slices that let uploads through."""
        number = self._number(collection)
        with self._connections.write() as db:
            new = counting.close(db, number, epoch, now)
            swept = counting.sweep(db, number, epoch)
        if not swept:
            self._sweep(number, epoch)
        return new

    def is_closed(self, collection: str, epoch: int) -> bool:
        with self._connections.read() as db:
            return counting.is_closed(db, self._number(collection), epoch)

    def count_rejections(self, collection: str, counts: Mapping[str, int]) -> None:
        """In memory until `flush`, so that a flood of bad reports costs the disk nothing."""
        number = self._number(collection)
        with self._counting_rejections:
            self._rejections.update({(number, reason): n for reason, n in counts.items()})

    def rejections(self, collection: str) -> dict[str, int]:
        number = self._number(collection)
        statement = "select reason, n from rejections where collection = ?"
        # Under the lock that `flush` holds: a counter on its way to disk is seen once.
        with self._counting_rejections, self._connections.read() as db:
            found = Counter(dict(db.execute(statement, (number,)).fetchall()))
            for (owner, reason), n in self._rejections.items():
                if owner == number:
                    found[reason] += n
        return dict(found)

    def flush(self) -> None:
        with self._counting_rejections:
            if not self._rejections:
                return
            with self._connections.write() as db:
                for (number, reason), n in self._rejections.items():
                    db.execute(_ADD_REJECTIONS, (number, reason, n))
            self._rejections.clear()

    def add_manifest(self, row: ManifestRow) -> None:
        with self._connections.write() as db:
            number = journal.add_manifest(db, row)
        self._numbers[row.collection] = number

    def manifests(self) -> list[ManifestRow]:
        with self._connections.read() as db:
            return journal.manifests(db)

    def set_collection_closed(self, collection: str) -> None:
        with self._connections.write() as db:
            db.execute(
                "update collections set closed = 1 where number = ?", (self._number(collection),)
            )

    def closed_collections(self) -> frozenset[str]:
        with self._connections.read() as db:
            return frozenset(
                id for (id,) in db.execute("select id from collections where closed").fetchall()
            )

    def add_key_list(self, row: KeyListRow, *, log_size: int) -> bool:
        with self._connections.write() as db:
            if journal.head(db)[0] != log_size:
                return False
            journal.add_key_list(db, row)
        return True

    def latest_key_list(self) -> KeyListRow | None:
        with self._connections.read() as db:
            return journal.latest_key_list(db)

    def key_list(self, version: int) -> KeyListRow | None:
        with self._connections.read() as db:
            return journal.key_list(db, version)

    def append_log(self, type: str, body_hash: bytes) -> None:
        with self._connections.write() as db:
            journal.append(db, LogEntry(type, body_hash))

    def log(self, first: int = 0) -> list[LogEntry]:
        with self._connections.read() as db:
            return journal.entries(db, first)

    def log_head(self) -> tuple[int, str]:
        with self._connections.read() as db:
            size, head = journal.head(db)
        return size, head.hex()

    def charge(self, row: ChargeRow, decide: Decide) -> ChargeRow:
        number = self._number(row.collection)
        with self._connections.write() as db:
            return releases.charge(db, number, row, decide)

    def charge_for(self, collection: str, request: bytes) -> ChargeRow | None:
        with self._connections.read() as db:
            return releases.charge_for(db, self._number(collection), request)

    def charges(self, collection: str) -> list[ChargeRow]:
        with self._connections.read() as db:
            return releases.charges(db, self._number(collection))

    def store_result(self, row: ResultRow, record: bytes | None = None) -> ResultRow:
        with self._connections.write() as db:
            return releases.store_result(db, row, record)

    def result(self, release: str) -> ResultRow | None:
        with self._connections.read() as db:
            return releases.result(db, release)

    def results(self, collection: str) -> list[ResultRow]:
        with self._connections.read() as db:
            return releases.results(db, self._number(collection))

    def add_record(self, release: str, number: int, record: bytes) -> bool:
        with self._connections.write() as db:
            return releases.add_record(db, release, number, record)

    def records(self, release: str, first: int = 0) -> list[bytes]:
        with self._connections.read() as db:
            return releases.records(db, release, first)

    def add_token(self, token: Token) -> None:
        with self._connections.write() as db:
            db.execute(
                "insert into tokens (id, role, label, hash, created, expires, revoked)"
                " values (?, ?, ?, ?, ?, ?, ?)",
                (
                    token.id,
                    token.role,
                    token.label,
                    token.hash,
                    token.created,
                    token.expires,
                    token.revoked,
                ),
            )

    def tokens(self) -> list[Token]:
        with self._connections.read() as db:
            return [Token(*row) for row in db.execute(f"{_TOKEN} order by rowid").fetchall()]

    def revoke_token(self, token_id: str, now: float) -> bool:
        statement = "update tokens set revoked = coalesce(revoked, ?) where id = ?"
        with self._connections.write() as db:
            return bool(db.execute(statement, (int(now), token_id)).rowcount)

    def find_token(self, token_hash: bytes) -> Token | None:
        with self._connections.read() as db:
            rows = db.execute(f"{_TOKEN} where hash = ?", (token_hash,)).fetchall()
        return Token(*rows[0]) if rows else None

    def close(self) -> None:
        """Write the rejections, checkpoint, close every connection."""
        try:
            self.flush()
        finally:
            self._connections.close()

    def _number(self, collection: str) -> int:
        try:
            return self._numbers[collection]
        except KeyError:
            raise StoreError(f"collection {collection!r} has no manifest in this store") from None

    def _collection_numbers(self) -> dict[str, int]:
        with self._connections.read() as db:
            return dict(db.execute("select id, number from collections").fetchall())

    def _finish_sweeps(self) -> None:
        with self._connections.read() as db:
            pending = counting.leftovers(db)
        for number, epoch in pending:
            self._sweep(number, epoch)

    def _sweep(self, number: int, epoch: int) -> None:
        swept = False
        while not swept:
            with self._connections.write() as db:
                swept = counting.sweep(db, number, epoch)
