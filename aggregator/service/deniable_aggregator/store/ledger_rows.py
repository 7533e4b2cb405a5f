"""The ledger of central releases, in SQL. Called inside the store's transactions.

Epochs are written as runs, "20000-20006,20008". SQL triggers refuse any change of a row.

The ledger is a chain of hashes, like the log:

    head after a charge = SHA-256(head before ‖ SHA-256(canonical JSON of the charge))

The first head is 32 zero bytes. The JSON has every column, so ledgers with equal heads are equal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from deniable_aggregator.base.errors import DamagedError
from deniable_aggregator.store import checksums, transparency_log
from deniable_aggregator.store.rows import ChargeCheck, ChargeRow, ResultRow
from deniable_aggregator.store.statements import Row, Statements, read_rows
from deniable_shared.wire.canonical import canonical_json
from deniable_shared.wire.transparency_log import GENESIS, release_entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_LEDGER = """
select id as collection, release, request, terms, epochs, epsilon, rho, delta, adjacency, created,
    checksum
from charges join collections on number = collection"""
_CHARGES = f"{_LEDGER} where collection = ?"
_ADD_CHARGE = """
insert into charges (position, collection, release, request, terms,
                     epochs, epsilon, rho, delta, adjacency, created, checksum)
select coalesce(max(position), 0) + 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? from charges"""
_RESULTS = """
select results.release, results.position, salt, document, body_hash as logged,
    coalesce(id, '') as collection
from results left join log on log.position = results.position
left join charges on charges.release = results.release
left join collections on number = collection"""
_RECORDS = """
select id as collection, session_records.number, record, session_records.checksum
from session_records join charges using (release)
join collections on collections.number = collection
where release = ? and session_records.number >= ? order by session_records.number"""
_OF_COLLECTION = " where collection = ?"


def charge(db: Statements, number: int, row: ChargeRow, decide: ChargeCheck) -> ChargeRow:
    """The stored charge of this request, or `row` after `decide` has allowed it."""
    earlier = charge_for(db, number, row.request)
    if earlier is not None:
        return earlier
    decide(charges(db, number))
    spelled = format_epochs(row.epochs)
    db.execute(
        _ADD_CHARGE,
        (
            number,
            row.release,
            row.request,
            row.terms,
            spelled,
            row.epsilon,
            row.rho,
            row.delta,
            row.adjacency,
            row.created,
            checksums.charge_checksum(row, spelled),
        ),
    )
    return row


def charges(db: Statements, number: int) -> list[ChargeRow]:
    """The charges of a collection, oldest first."""
    return list(read_rows(_charge, db.execute(f"{_CHARGES} order by position", (number,))))


def ledger(db: Statements, first: int) -> list[ChargeRow]:
    """The charges of all collections from index `first` on, oldest first."""
    rows = db.execute(f"{_LEDGER} where position > ? order by position", (first,))
    return list(read_rows(_charge, rows))


def charge_for(db: Statements, number: int, request: bytes) -> ChargeRow | None:
    """The charge for this request."""
    [*rows] = read_rows(_charge, db.execute(f"{_CHARGES} and request = ?", (number, request)))
    return rows[0] if rows else None


def store_result(db: Statements, row: ResultRow, record: bytes | None) -> ResultRow:
    """The stored result, or `row`, stored with its log entry and, for a session, record 0."""
    earlier = result(db, row.release)
    if earlier is not None:
        return earlier
    position = transparency_log.append(db, release_entry(row.salt, row.document))
    db.execute(
        "insert into results (release, position, salt, document) values (?, ?, ?, ?)",
        (row.release, position, row.salt, row.document),
    )
    if record is not None:
        add_record(db, row.release, 0, record)
    return ResultRow(row.release, row.salt, row.document, position)


def result(db: Statements, release: str) -> ResultRow | None:
    """The result of one release, or None."""
    [*rows] = read_rows(_result, db.execute(f"{_RESULTS} where results.release = ?", (release,)))
    return rows[0] if rows else None


def results(db: Statements, number: int) -> list[ResultRow]:
    """The results of a collection, in the order of the log."""
    rows = db.execute(f"{_RESULTS}{_OF_COLLECTION} order by results.position", (number,))
    return list(read_rows(_result, rows))


def add_record(db: Statements, release: str, number: int, record: bytes) -> bool:
    """Append a session's record; False unless it is the next one."""
    [[kept]] = db.execute("select count(*) from session_records where release = ?", (release,))
    if number != kept:
        return False
    db.execute(
        "insert into session_records (release, number, record, checksum) values (?, ?, ?, ?)",
        (release, number, record, checksums.record_checksum(release, number, record)),
    )
    return True


def records(db: Statements, release: str, first: int) -> list[bytes]:
    """A session's records from `first` on. Raises DamagedError for a damaged one."""
    rows = list(read_rows(Row, db.execute(_RECORDS, (release, first))))
    for row in rows:
        if row["checksum"] != checksums.record_checksum(release, row["number"], row["record"]):
            raise DamagedError(row["collection"], what="answers of a session")
    return [row["record"] for row in rows]


def session_sizes(db: Statements) -> dict[str, int]:
    """Release → number of its session's records."""
    rows = db.execute("select release, count(*) as size from session_records group by release")
    return {row["release"]: row["size"] for row in read_rows(Row, rows)}


def _result(
    *,
    release: str,
    position: int,
    salt: bytes,
    document: bytes,
    logged: bytes | None,
    collection: str,
) -> ResultRow:
    """The result. Raises DamagedError if the document does not match its hash in the log."""
    if sha256(salt + document).digest() != logged:
        raise DamagedError(collection, what="a release")
    return ResultRow(release, salt, document, position)


def _charge(*, epochs: str, checksum: int, **columns: Any) -> ChargeRow:
    """The charge. Raises DamagedError if it does not match its checksum."""
    row = ChargeRow(epochs=(), **columns)
    if checksums.charge_checksum(row, epochs) != checksum:
        raise DamagedError(row.collection, what="the ledger")
    return replace(row, epochs=tuple(parse_epochs(epochs)))


def format_epochs(epochs: Sequence[int]) -> str:
    """Ascending numbers as "1-3,5"."""
    runs: list[list[int]] = []
    for epoch in epochs:
        if runs and runs[-1][1] == epoch - 1:
            runs[-1][1] = epoch
        else:
            runs.append([epoch, epoch])
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in runs)


def parse_epochs(runs: str) -> Iterator[int]:
    """The epochs of a text like 3,5-7."""
    for run in runs.split(","):
        first, _, last = run.partition("-")
        yield from range(int(first), int(last or first) + 1)


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The number of entries, and the head in hex."""

    size: int = 0
    head: str = GENESIS.hex()


def extend_head(head: bytes, row: ChargeRow) -> bytes:
    """The head after one more charge."""
    return sha256(head + _digest(row)).digest()


def ledger_head(rows: Iterable[ChargeRow]) -> bytes:
    """The head of a ledger from its beginning."""
    head = GENESIS
    for row in rows:
        head = extend_head(head, row)
    return head


def _digest(row: ChargeRow) -> bytes:
    return sha256(
        canonical_json(
            {
                "collection": row.collection,
                "release": row.release,
                "request": row.request.hex(),
                "terms": row.terms.hex(),
                "epochs": format_epochs(row.epochs),
                "epsilon": row.epsilon,
                "rho": row.rho,
                "delta": row.delta,
                "adjacency": row.adjacency,
                "created": row.created,
            }
        )
    ).digest()
