"""The work of one worker on one block: read, open, check, drop repeated ids, tally cell by cell.

It is a pure function of the block and the context, so any engine may run it anywhere and more than
once: only the store decides which reports count.
"""

from __future__ import annotations

import gc
import os
import time
from collections import Counter, defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from deniable_aggregator.ingest.checks import Upload, check_reports
from deniable_aggregator.spool.worker_context import LoadedContext, WorkerContext, load_context
from deniable_aggregator.store.rows import PartialTally, TallyKey
from deniable_gateway.errors import SpoolError
from deniable_gateway.spool import SpooledReport, read_block
from deniable_gateway.spool.address import cached_spool
from deniable_shared.errors import DecodeError
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import Frame, split_report

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ID_BYTES = 16
UNKNOWN = "unknown-collection"

PartFields = tuple[str, int, int, int, bytes, bytes, bytes]


class BlockTally(msgspec.Struct, array_like=True, frozen=True):
    """The tally of a block: `refused` by (collection, reason); `damaged`: why it was not read.

    `process` did the work in `seconds` of processor time. Each of `parts`: cell,
    ids, payloads and tally, as bytes.
    """

    process: str
    seconds: float = 0.0
    records: int = 0
    repeated: int = 0
    parts: list[PartFields] = []
    refused: list[tuple[str, str, int]] = []
    damaged: str | None = None

    def partial_tallies(self) -> list[PartialTally]:
        """The parts in the form that the store takes."""
        return [
            PartialTally(
                TallyKey(collection, epoch, version, cohort),
                [ids[at : at + ID_BYTES] for at in range(0, len(ids), ID_BYTES)],
                np.frombuffer(payloads, np.uint8).reshape(len(ids) // ID_BYTES, -1),
                np.frombuffer(tally, "<i8"),
            )
            for collection, epoch, version, cohort, ids, payloads, tally in self.parts
        ]


def tally_block(context: WorkerContext, address: str, name: str) -> bytes:
    """The encoded tally of a block; it also reports a damaged or missing block."""
    started = time.process_time()
    process = f"{os.uname().nodename}:{os.getpid()}"
    with _without_cycles():
        spool = cached_spool(address)
        try:
            records = read_block(spool, name)
        except (OSError, SpoolError) as error:
            return msgspec.msgpack.encode(BlockTally(process, damaged=str(error)))
        loaded = load_context(context)
        problem = _voucher_problem(loaded, records)
        if problem is not None:
            return msgspec.msgpack.encode(
                BlockTally(process, damaged=f"{spool.where}/{name} {problem}")
            )
        block_tally = tally_records(loaded, records, process)
        spent = time.process_time() - started
        return msgspec.msgpack.encode(msgspec.structs.replace(block_tally, seconds=spent))


def decode_block_tally(data: bytes | bytearray) -> BlockTally:
    """The decoded tally of a block."""
    return msgspec.msgpack.decode(data, type=BlockTally)


def tally_records(
    loaded: LoadedContext, records: Iterable[SpooledReport], process: str
) -> BlockTally:
    """Tally records. Of several copies of an id, the first one that passes the checks counts."""
    total, refused = 0, Counter[tuple[str, str]]()
    frames: dict[str, list[Frame]] = defaultdict(list)
    headers: dict[bytes, bool] = {}
    for record in records:
        total += 1
        frame = _frame(record.report, headers)
        if frame is None:
            refused[record.collection, ReportError.INVALID_MESSAGE.slug] += 1
        else:
            frames[record.collection].append(frame)
    cells: dict[TallyKey, dict[bytes, bytes]] = defaultdict(dict)
    for collection, collection_frames in frames.items():
        for reason, n in _check_collection(loaded, collection, collection_frames, cells).items():
            refused[collection, reason] += n
    taken = sum(map(len, cells.values()))
    return BlockTally(
        process,
        records=total,
        repeated=total - taken - refused.total(),
        parts=[_encode_part(loaded, cell, reports) for cell, reports in cells.items()],
        refused=[(*key, n) for key, n in refused.items()],
    )


def _voucher_problem(loaded: LoadedContext, records: Iterable[SpooledReport]) -> str | None:
    """Why a block needs a consumer: only that can redeem vouchers. None without vouchers."""
    for collection in {record.collection for record in records}:
        context = loaded.contexts.get(collection)
        if context is not None and context.collection.manifest.requires:
            return (
                f"has reports of {collection} with vouchers: count it with `deniable spool drain`"
            )
    return None


def _frame(data: bytes, headers: dict[bytes, bool]) -> Frame | None:
    """The one report in `data`, or None; `headers` caches which terms are valid."""
    try:
        frame = split_report(data)
    except DecodeError:
        return None
    good = headers.get(frame.header_rest)
    if good is None:
        good = headers[frame.header_rest] = _is_header(frame)
    return frame if good else None


def _is_header(frame: Frame) -> bool:
    try:
        return bool(frame.header)
    except DecodeError:
        return False


def _check_collection(
    loaded: LoadedContext,
    collection: str,
    frames: list[Frame],
    cells: dict[TallyKey, dict[bytes, bytes]],
) -> Counter[str]:
    """Add a collection's reports to their cells; returns the rejections by reason."""
    context = loaded.contexts.get(collection)
    if context is None:
        ended = collection in loaded.ended
        return Counter({ReportError.COLLECTION_EXPIRED.slug if ended else UNKNOWN: len(frames)})
    checked = check_reports(Upload(frames), context, {})
    seen: set[tuple[int, bytes]] = set()
    for arrival in checked.accepted:
        key = (arrival.key.epoch, arrival.report_id)
        if key not in seen:
            seen.add(key)
            cells[arrival.key][arrival.report_id] = arrival.payload
    return Counter(ReportError(status.error).slug for status in checked.rejected)


def _encode_part(loaded: LoadedContext, cell: TallyKey, reports: dict[bytes, bytes]) -> PartFields:
    payloads = b"".join(reports.values())
    matrix = np.frombuffer(payloads, np.uint8).reshape(len(reports), -1)
    tally = loaded.contexts[cell.collection].collection.estimator.tally(matrix)
    key = (cell.collection, cell.epoch, cell.manifest_version, cell.cohort)
    return (*key, b"".join(reports), payloads, tally.astype("<i8", copy=False).tobytes())


@contextmanager
def _without_cycles() -> Iterator[None]:
    """Disable the cycle collector in the block: there are no cycles, and it costs 4%."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
