"""A tally job: opens the remaining blocks of a spool and commits each once.

    block ─▶ engine: open, check, tally ─▶ partial ─▶ store: ids that are new, their sums, the mark

The mark (job, block) avoids repeated work. The ids keep counts correct if another job or an upload
has counted a report first. Blocks are committed in the order of their names, so if two different
reports have one id, every engine counts the same one.

A transaction writes each page of the index that it touches, and random ids touch almost all pages.
So a transaction has an eighth as many reports as the job has counted before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from deniable_aggregator.base.errors import ScaleError
from deniable_aggregator.spool.block_tally import (
    UNKNOWN,
    BlockTally,
    decode_block_tally,
    tally_block,
)
from deniable_aggregator.spool.worker_context import make_worker_context
from deniable_aggregator.store.rows import BlockId, CommitStatus
from deniable_gateway.spool import Spool, blocks, open_spool
from deniable_shared.wire.problems import ReportError

if TYPE_CHECKING:
    from pathlib import Path

    from deniable_aggregator.operations.service import Service

_UNRELAYED = (
    "relay_batch must be 0 to tally a spool: a block does not show whether its reports came "
    "through a relay. Use `deniable spool drain`, whose notices make the intake refuse all "
    "others"
)
"""The refusal: without a relay token anyone may have written the blocks."""

Engine: TypeAlias = Callable[[Callable[[str], bytes], Sequence[str]], Iterator[bytes]]
"""Runs a function on every name, on any machine, and returns the results in order."""

LONGEST_JOB = 100
SHARE = 8
LARGEST_GROUP = 32 * 1024 * 1024
"""Bytes of partials in one transaction: two million reports of eight bits, five times as much
while they are ids in memory."""


@dataclass(slots=True)
class TallySummary:
    """The result of a job: `blocks` counted now, and `before` in an earlier run of the job.

    `processes` opened reports in `seconds` of processor time; `refused` by (collection, reason);
    `damaged`: the blocks that were not counted, and why.
    """

    job: str
    blocks: int = 0
    before: int = 0
    records: int = 0
    counted: int = 0
    duplicates: int = 0
    seconds: float = 0.0
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    processes: set[str] = field(default_factory=set)
    damaged: list[str] = field(default_factory=list)


def tally_spool(  # noqa: PLR0913  (published: notebooks call it)
    service: Service,
    spool: str | Path,
    engine: Engine,
    *,
    job: str = "tally",
    keys: Path | None = None,
    remove: bool = False,
    progress: Callable[[int, int], None],
) -> TallySummary:
    """Count the reports of a spool. Its address and `keys`, a directory, must work on the workers.

    `remove`: delete each block after it is counted. `progress` gets the number of blocks done.
    Raises SpoolError if there is no spool, ScaleError if the engine fails: committed blocks stay,
    and the same call continues.
    """
    _check_job(job)
    service.database.require()
    service.registry.require_nothing_lost()  # else its reports would be lost
    if service.settings.relay_batch:
        raise ScaleError(_UNRELAYED)
    place = open_spool(spool)
    names = [block.name for block in blocks(place)]
    done = service.store.blocks(job)
    pending = [name for name in names if name not in done]
    summary = TallySummary(job, before=len(names) - len(pending))
    if remove:
        _remove(place, (name for name in names if name in done))
    context = make_worker_context(service, keys or service.settings.data / "keys")
    work = partial(tally_block, context, str(spool))
    results = engine(work, pending) if pending else iter(())
    waiting: list[tuple[str, bytes]] = []
    size = counted = 0
    for number, (name, data) in enumerate(zip(pending, results, strict=True), start=1):
        waiting.append((name, data))
        size += len(data)
        if number == len(pending) or size >= min(LARGEST_GROUP, counted // SHARE):
            intact = _commit(service, job, waiting, summary)
            _remove(place, intact if remove else ())
            waiting, size, counted = [], 0, counted + size
            progress(number, len(pending))
    service.store.flush()
    return summary


def _commit(
    service: Service, job: str, waiting: Iterable[tuple[str, bytes]], summary: TallySummary
) -> list[str]:
    """Commit blocks in one transaction; returns those counted now or by another process."""
    intact: list[tuple[str, BlockTally]] = []
    for name, data in waiting:
        block_tally = decode_block_tally(data)
        summary.processes.add(block_tally.process)
        if block_tally.damaged is None:
            intact.append((name, block_tally))
        else:
            summary.damaged.append(block_tally.damaged)
    block_parts = [(BlockId(job, name), each.partial_tallies()) for name, each in intact]
    statuses = service.store.commit_blocks(block_parts, service.registry.tally)
    refused: Counter[tuple[str, str]] = Counter()
    for (_, block_tally), counts in zip(intact, statuses, strict=True):
        if counts is None:
            summary.before += 1
        else:
            refused.update(_add_block(summary, block_tally, counts))
    for (collection, reason), n in refused.items():
        if reason != UNKNOWN:
            service.store.count_rejections(collection, {reason: n})
    return [name for name, _ in intact]


def _add_block(
    summary: TallySummary, block_tally: BlockTally, statuses: Mapping[tuple[str, CommitStatus], int]
) -> Counter[tuple[str, str]]:
    """Add the tally of one block to the summary; returns its refused reports."""
    summary.blocks += 1
    summary.records += block_tally.records
    summary.seconds += block_tally.seconds
    summary.duplicates += block_tally.repeated
    refused = Counter({(collection, reason): n for collection, reason, n in block_tally.refused})
    for (collection, status), n in statuses.items():
        summary.counted += n if status is CommitStatus.COUNTED else 0
        summary.duplicates += n if status is CommitStatus.DUPLICATE else 0
        if status is CommitStatus.CLOSED:
            refused[collection, ReportError.EPOCH_CLOSED.slug] += n
    summary.refused.update(refused)
    return refused


def _remove(spool: Spool, counted: Iterable[str]) -> None:
    for name in counted:
        spool.remove(name)


def _check_job(job: str) -> None:
    if not (1 <= len(job) <= LONGEST_JOB and job.isprintable()):
        raise ScaleError(f"job must be 1…{LONGEST_JOB} printable characters, got {job!r}")
