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
from deniable_aggregator.scale.order import order_of
from deniable_aggregator.scale.partials import UNKNOWN, Partial, open_block, read_partial
from deniable_aggregator.spool import UNRELAYED, blocks
from deniable_aggregator.store.contract import Block, Verdict
from deniable_shared.problems import ReportError

if TYPE_CHECKING:
    from deniable_aggregator.service import Service

__all__ = ["Engine", "Summary", "tally_spool"]

Engine: TypeAlias = Callable[[Callable[[str], bytes], Sequence[str]], Iterator[bytes]]
"""Runs a function on every path, anywhere, and gives the results in the order of the paths."""

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
    spool: Path,
    engine: Engine,
    *,
    job: str = "tally",
    keys: Path | None = None,
    remove: bool = False,
    watch: Callable[[int, int], None],
) -> Summary:
    """Count what is in the spool; `keys` is the directory of keys as the workers see it.

    `remove`: delete each block once it is counted. ScaleError where the spool is no directory or
    the engine gives up: what was committed until then stays, and the same call goes on. `watch`
    hears how many of the blocks are done.
    """
    _check(spool, job)
    if service.settings.relay_batch:
        raise ScaleError(UNRELAYED)
    found = blocks(spool)
    done = service.store.blocks(job)
    left = [path for path in found if path.name not in done]
    summary = Summary(job, before=len(found) - len(left))
    if remove:
        _remove(path for path in found if path.name in done)
    work = partial(open_block, order_of(service, keys or service.settings.data / "keys"))
    results = engine(work, [str(path) for path in left]) if left else iter(())
    waiting: list[tuple[Path, bytes]] = []
    size = counted = 0
    for number, (path, data) in enumerate(zip(left, results, strict=True), start=1):
        waiting.append((path, data))
        size += len(data)
        if number == len(left) or size >= min(LARGEST_GROUP, counted // SHARE):
            whole = _commit(service, job, waiting, summary)
            _remove(whole if remove else ())
            waiting, size, counted = [], 0, counted + size
            watch(number, len(left))
    service.store.flush()
    return summary


def _commit(
    service: Service, job: str, waiting: Iterable[tuple[Path, bytes]], summary: Summary
) -> list[Path]:
    """Blocks that are counted, now or by somebody else in the meantime; one transaction."""
    whole: list[tuple[Path, Partial]] = []
    for path, data in waiting:
        came = read_partial(data)
        summary.processes.add(came.process)
        if came.damaged is None:
            whole.append((path, came))
        else:
            summary.damaged.append(came.damaged)
    found = [(Block(job, path.name), came.in_cells()) for path, came in whole]
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
    return [path for path, _ in whole]


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


def _remove(counted: Iterable[Path]) -> None:
    for path in counted:
        path.unlink(missing_ok=True)


def _check(spool: Path, job: str) -> None:
    if not spool.is_dir():
        raise ScaleError(f"spool must be a directory of blocks, there is none at {spool}")
    if not (1 <= len(job) <= LONGEST_JOB and job.isprintable()):
        raise ScaleError(f"job must be 1…{LONGEST_JOB} printable characters, got {job!r}")
