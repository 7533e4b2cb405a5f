"""A tally job: which blocks are left, what came of them, each committed once.

    block ─▶ engine: open, check, tally ─▶ partial ─▶ store: ids that are new, their sums, the mark

The mark (job, block) spares the work; the ids keep the counts right, whoever counted them first:
another job, a repeated one, or an upload. Blocks are committed in the order of their names, so
that of two different reports under one id every engine counts the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
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
    for number, (path, data) in enumerate(zip(left, results, strict=True), start=1):
        counted = _commit(service, Block(job, path.name), read_partial(data), summary)
        if remove and counted:
            _remove([path])
        watch(number, len(left))
    service.store.flush()
    return summary


def _commit(service: Service, block: Block, came: Partial, summary: Summary) -> bool:
    """Whether the block is counted, now or by somebody else in the meantime."""
    summary.processes.add(came.process)
    if came.damaged is not None:
        summary.damaged.append(came.damaged)
        return False
    verdicts = service.store.commit_block(block, came.in_cells(), service.registry.tally)
    if verdicts is None:
        summary.before += 1
        return True
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
    for (collection, reason), n in refused.items():
        if reason != UNKNOWN:
            service.store.count_rejections(collection, {reason: n})
    return True


def _remove(counted: Iterable[Path]) -> None:
    for path in counted:
        path.unlink(missing_ok=True)


def _check(spool: Path, job: str) -> None:
    if not spool.is_dir():
        raise ScaleError(f"spool must be a directory of blocks, there is none at {spool}")
    if not (1 <= len(job) <= LONGEST_JOB and job.isprintable()):
        raise ScaleError(f"job must be 1…{LONGEST_JOB} printable characters, got {job!r}")
