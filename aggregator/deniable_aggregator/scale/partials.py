"""The work of one worker on one block: read, open, check, drop repeated ids, tally cell by cell.

A pure function of the block and the order, so that any engine may run it anywhere, again, or
twice at once: only the store decides what counts.
"""

from __future__ import annotations

import gc
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np

from deniable_aggregator.errors import SpoolError
from deniable_aggregator.ingest.checks import Candidate, first_error
from deniable_aggregator.scale.order import Bench, Order, bench
from deniable_aggregator.spool import Spooled, read_block
from deniable_aggregator.store.contract import Cell, Part
from deniable_shared.errors import DecodeError
from deniable_shared.problems import ReportError
from deniable_shared.report import Report

__all__ = ["Partial", "open_block", "partial", "read_partial"]

ID_BYTES = 16
TAKEN, REPEATED, UNKNOWN = "taken", "repeated", "unknown-collection"

PartFields = tuple[str, int, int, int, bytes, bytes, bytes]
Key = tuple[str, int, int, int]  # as a Cell has it
Cells = dict[Key, dict[bytes, bytes]]  # report id -> payload


class Partial(msgspec.Struct, array_like=True, frozen=True):
    """What a block came to: `refused` by (collection, reason); `damaged` says why it was not read.

    `process` is whoever did the work. In `parts`: cell, ids, payloads and tally, as bytes.
    """

    process: str
    records: int = 0
    repeated: int = 0
    parts: list[PartFields] = []
    refused: list[tuple[str, str, int]] = []
    damaged: str | None = None

    def in_cells(self) -> list[Part]:
        """The parts as the store takes them."""
        return [
            Part(
                Cell(collection, epoch, version, cohort),
                [ids[at : at + ID_BYTES] for at in range(0, len(ids), ID_BYTES)],
                np.frombuffer(payloads, np.uint8).reshape(len(ids) // ID_BYTES, -1),
                np.frombuffer(tally, "<i8"),
            )
            for collection, epoch, version, cohort, ids, payloads, tally in self.parts
        ]


def open_block(order: Order, path: str) -> bytes:
    """The partial of the block at `path`, encoded; a block that is damaged or gone says so."""
    process = f"{os.uname().nodename}:{os.getpid()}"
    with _without_cycles():
        try:
            records = read_block(Path(path))
        except (OSError, SpoolError) as error:
            return msgspec.msgpack.encode(Partial(process, damaged=str(error)))
        return msgspec.msgpack.encode(partial(bench(order), records, process))


def read_partial(data: bytes | bytearray) -> Partial:
    """The inverse."""
    return msgspec.msgpack.decode(data, type=Partial)


def partial(ready: Bench, records: Iterable[Spooled], process: str) -> Partial:
    """Of several copies of an id in the block the first that passes the checks counts."""
    cells: Cells = defaultdict(dict)
    met: dict[tuple[str, int], set[bytes]] = defaultdict(set)
    outcomes: Counter[tuple[str, str]] = Counter()
    for record in records:
        outcomes[record.collection, _taken(ready, record, cells, met)] += 1
    return Partial(
        process,
        records=outcomes.total(),
        repeated=sum(n for (_, outcome), n in outcomes.items() if outcome == REPEATED),
        parts=[_part(ready, cell, reports) for cell, reports in cells.items()],
        refused=[(*key, n) for key, n in outcomes.items() if key[1] not in (TAKEN, REPEATED)],
    )


def _taken(
    ready: Bench, record: Spooled, cells: Cells, met: dict[tuple[str, int], set[bytes]]
) -> str:
    """Put the record where it counts; what became of it: TAKEN, REPEATED or why it is refused."""
    around = ready.circumstances.get(record.collection)
    if around is None:
        ended = record.collection in ready.ended
        return ReportError.COLLECTION_EXPIRED.slug if ended else UNKNOWN
    report = _decoded(record.report)
    if report is None:
        return ReportError.INVALID_MESSAGE.slug
    header, found = report.header, around.collection
    ids = met[found.id, header.epoch]
    if header.report_id in ids:
        return REPEATED
    candidate = Candidate(report, around)
    error = first_error(candidate)
    if error is not None:
        return error.slug
    ids.add(header.report_id)
    cohort = ready.cohorts.of(found.id, header.report_id, found.manifest.cohorts)
    cell = (found.id, header.epoch, header.manifest_version, cohort)
    cells[cell][header.report_id] = candidate.plaintext.payload
    return TAKEN


def _decoded(data: bytes) -> Report | None:
    """The one report; None where the bytes are not one."""
    try:
        return Report.decode(data)
    except DecodeError:
        return None


def _part(ready: Bench, cell: Key, reports: dict[bytes, bytes]) -> PartFields:
    payloads = b"".join(reports.values())
    matrix = np.frombuffer(payloads, np.uint8).reshape(len(reports), -1)
    tally = ready.circumstances[cell[0]].collection.estimator.tally(matrix)
    return (*cell, b"".join(reports), payloads, tally.astype("<i8", copy=False).tobytes())


@contextmanager
def _without_cycles() -> Iterator[None]:
    """Nothing here refers to itself: looking for cycles would cost 4 % of the work."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
