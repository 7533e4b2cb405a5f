"""A tally job: which blocks are left, what came of them, each committed once.

    block ─▶ engine: open, check, tally ─▶ partial ─▶ store: ids that are new, their sums, the mark

The mark (job, block) spares the work; the ids keep the counts right, whoever counted them first:
another job, a repeated one, or an upload. Blocks are committed in the order of their names, so
that of two different reports under one id every engine counts the same.

A transaction writes each page of the index that it touches, and random ids touch about all of
them: so it holds as many blocks as make it an eighth of what the job has counted before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from deniable_aggregator.errors import ScaleError
from deniable_aggregator.scale.block_tally import UNKNOWN, Partial, open_block, read_partial
from deniable_aggregator.scale.worker_context import order_of
from deniable_aggregator.spool import UNRELAYED, Spool, blocks, open_spool
from deniable_aggregator.store.rows import Block, Verdict
from deniable_shared.problems import ReportError

if TYPE_CHECKING:
    from deniable_aggregator.service import Service

Engine: TypeAlias = Callable[[Callable[[str], bytes], Sequence[str]], Iterator[bytes]]
"""Runs a function on every name, anywhere, and gives the results in the order of the names."""

LONGEST_JOB = 100
SHARE = 8
LARGEST_GROUP = 32 * 1024 * 1024
"""Bytes of partials in one transaction: two million reports of eight bits, five times as much
while they are ids in memory."""


@dataclass(slots=True)
class Summary:
    """What a job did; `blocks` were counted now, `before` in an earlier run of the same job.

    `processes` opened reports in `seconds` of their time; `refused` by (collection, reason);
    `damaged` says of which blocks nothing was counted, and why.
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


def tally_spool(
    service: Service,
    spool: str | Path,
    engine: Engine,
    *,
    job: str = "tally",
    keys: Path | None = None,
    remove: bool = False,
    watch: Callable[[int, int], None],
) -> Summary:
    """Count what is in the spool; that address and `keys`, a directory, are as workers see them.

    `remove`: delete each block once it is counted. SpoolError where there is no spool, ScaleError
    where the engine gives up: what was committed until then stays, and the same call goes on.
    `watch` hears how many of the blocks are done.
    """
    _check(job)
    service.database.require()
    service.registry.require_nothing_lost()  # its reports would be done with, and not counted
    if service.settings.relay_batch:
        raise ScaleError(UNRELAYED)
    place = open_spool(spool)
    found = [block.name for block in blocks(place)]
    done = service.store.blocks(job)
    left = [name for name in found if name not in done]
    summary = Summary(job, before=len(found) - len(left))
    if remove:
        _remove(place, (name for name in found if name in done))
    order = order_of(service, keys or service.settings.data / "keys")
    work = partial(open_block, order, str(spool))
    results = engine(work, left) if left else iter(())
    waiting: list[tuple[str, bytes]] = []
    size = counted = 0
    for number, (name, data) in enumerate(zip(left, results, strict=True), start=1):
        waiting.append((name, data))
        size += len(data)
        if number == len(left) or size >= min(LARGEST_GROUP, counted // SHARE):
            whole = _commit(service, job, waiting, summary)
            _remove(place, whole if remove else ())
            waiting, size, counted = [], 0, counted + size
            watch(number, len(left))
    service.store.flush()
    return summary


def _commit(
    service: Service, job: str, waiting: Iterable[tuple[str, bytes]], summary: Summary
) -> list[str]:
    """Blocks that are counted, now or by somebody else in the meantime; one transaction."""
    whole: list[tuple[str, Partial]] = []
    for name, data in waiting:
        came = read_partial(data)
        summary.processes.add(came.process)
        if came.damaged is None:
            whole.append((name, came))
        else:
            summary.damaged.append(came.damaged)
    found = [(Block(job, name), came.in_cells()) for name, came in whole]
    verdicts = service.store.commit_blocks(found, service.registry.tally)
    refused: Counter[tuple[str, str]] = Counter()
    for (_, came), counts in zip(whole, verdicts, strict=True):
        if counts is None:
            summary.before += 1
        else:
            refused.update(_add(summary, came, counts))
    for (collection, reason), n in refused.items():
        if reason != UNKNOWN:
            service.store.count_rejections(collection, {reason: n})
    return [name for name, _ in whole]


def _add(
    summary: Summary, came: Partial, verdicts: Mapping[tuple[str, Verdict], int]
) -> Counter[tuple[str, str]]:
    """To the summary what one block came to; returns what was refused."""
    summary.blocks += 1
    summary.records += came.records
    summary.seconds += came.seconds
    summary.duplicates += came.repeated
    refused = Counter({(collection, reason): n for collection, reason, n in came.refused})
    for (collection, verdict), n in verdicts.items():
        summary.counted += n if verdict is Verdict.COUNTED else 0
        summary.duplicates += n if verdict is Verdict.DUPLICATE else 0
        if verdict is Verdict.CLOSED:
            refused[collection, ReportError.EPOCH_CLOSED.slug] += n
    summary.refused.update(refused)
    return refused


def _remove(spool: Spool, counted: Iterable[str]) -> None:
    for name in counted:
        spool.remove(name)


def _check(job: str) -> None:
    if not (1 <= len(job) <= LONGEST_JOB and job.isprintable()):
        raise ScaleError(f"job must be 1…{LONGEST_JOB} printable characters, got {job!r}")
