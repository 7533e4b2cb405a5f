"""Reports of one batch, by epoch and by cell; and blocks that were tallied elsewhere.

What of a block was counted before is taken off its tally again:

    tally(new) = tally(part) − tally(reports of the part whose ids were known)

One transaction counts many blocks: random ids touch a page of the index each, and pages are
written once a transaction. Of an id that several of its blocks hold the first block counts.

A voucher is for one report. Its serial is redeemed in the transaction that inserts the report's id:

    insert ids, on conflict nothing        an id that was there is a duplicate, whatever it carries
    insert serials of the new ones, too    on conflict: another report has redeemed that voucher
    take back the ids of those refused     and count the others

So a serial is there if and only if a report that carried it was counted, and the same report again
is a duplicate. Which report a serial came with is not kept.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store.rows import (
    AcceptedReport,
    BlockId,
    CommitStatus,
    Counts,
    PartialTally,
    TallyKernel,
    TallyKey,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Mapping, Sequence

    from deniable_aggregator.store.statements import Statements


def group_by_epoch(reports: Sequence[AcceptedReport]) -> dict[tuple[str, int], list[int]]:
    """(collection, epoch) → positions in the batch, rising."""
    positions: dict[tuple[str, int], list[int]] = {}
    for position, report in enumerate(reports):
        key = report.key
        positions.setdefault((key.collection, key.epoch), []).append(position)
    return positions


def tally_payloads(key: TallyKey, payloads: Sequence[bytes], tally: TallyKernel) -> Counts:
    """The kernel over payloads of one cell."""
    joined = np.frombuffer(b"".join(payloads), np.uint8)
    return tally(key, joined.reshape(len(payloads), -1))


def length_error(key: TallyKey, length: int) -> StoreError:
    """A cell's tally has one length for good."""
    return StoreError(f"the tally of {key} has changed its length to {length}")


EpochKey = tuple[int, int]
"""(number of a collection, epoch): ids are unique in it, and it closes as a whole."""

_TAKE = "insert into counted_blocks (job, block) values (?, ?) on conflict do nothing"
_DONE = "select block from counted_blocks where job = ?"


def counted_names(db: Statements, job: str) -> frozenset[str]:
    """Names of the blocks that a job has counted."""
    return frozenset(name for (name,) in db.execute(_DONE, (job,)).fetchall())


class BlockBatch:
    """The blocks of one transaction: `status_counts` of each, `new_tallies` by key."""

    def __init__(
        self,
        db: Statements,
        numbers: Mapping[str, int],
        blocks: Sequence[tuple[BlockId, Sequence[PartialTally]]],
    ) -> None:
        """Note the blocks as counted. One that was counted before has None as its status counts."""
        self.status_counts: list[Counter[tuple[str, CommitStatus]] | None] = []
        self.new_tallies: dict[TallyKey, tuple[int, Counts]] = {}
        self._partials: dict[
            EpochKey, list[tuple[Counter[tuple[str, CommitStatus]], PartialTally]]
        ] = {}
        for block, parts in blocks:
            if not db.execute(_TAKE, (block.job, block.name)).rowcount:
                self.status_counts.append(None)
                continue
            counts: Counter[tuple[str, CommitStatus]] = Counter()
            self.status_counts.append(counts)
            for part in parts:
                epoch_key = (numbers[part.key.collection], part.key.epoch)
                self._partials.setdefault(epoch_key, []).append((counts, part))

    @property
    def epoch_keys(self) -> list[EpochKey]:
        """Epochs of the reports, in the one order in which all transactions lock them."""
        return sorted(self._partials)

    def ids(self, epoch_key: EpochKey) -> list[bytes]:
        """Ids of its reports, rising, each once."""
        return sorted(set(chain.from_iterable(part.ids for _, part in self._partials[epoch_key])))

    def refuse(self, epoch_key: EpochKey) -> None:
        """Count every report of a closed epoch as CLOSED."""
        for counts, part in self._partials[epoch_key]:
            counts[part.key.collection, CommitStatus.CLOSED] += len(part.ids)

    def admit(self, epoch_key: EpochKey, new: Collection[bytes], tally: TallyKernel) -> None:
        """Count the reports with these ids, which the transaction has just inserted."""
        parts = self._partials[epoch_key]
        all_new = len(new) == sum(len(part.ids) for _, part in parts)
        remaining = set() if all_new else set(new)
        for counts, part in parts:
            n, delta = (len(part.ids), part.tally) if all_new else _new_of(part, remaining, tally)
            remaining.difference_update(() if all_new else part.ids)
            counts[part.key.collection, CommitStatus.COUNTED] += n
            counts[part.key.collection, CommitStatus.DUPLICATE] += len(part.ids) - n
            self._add(part.key, n, delta)

    def _add(self, key: TallyKey, n: int, delta: Counts) -> None:
        if n:
            total = self.new_tallies.get(key)
            self.new_tallies[key] = (
                (n, delta) if total is None else (total[0] + n, total[1] + delta)
            )


def _new_of(part: PartialTally, new: Container[bytes], tally: TallyKernel) -> tuple[int, Counts]:
    """How many of the part's reports have an id that is new, and their tally."""
    duplicates = [position for position, report_id in enumerate(part.ids) if report_id not in new]
    if not duplicates:
        return len(part.ids), part.tally
    return len(part.ids) - len(duplicates), part.tally - tally(part.key, part.payloads[duplicates])


ScopedId = tuple[int, int, bytes]
"""(collection number, epoch, id or serial)."""


def find_spent(
    reports: Sequence[AcceptedReport],
    new: Mapping[ScopedId, int],
    redeem: Callable[[list[ScopedId]], Collection[ScopedId]],
) -> list[ScopedId]:
    """Those of the new ids, given with their positions, whose voucher is another report's.

    Of two in one batch the first has it. `redeem` inserts serials, which come in order, and returns
    those that were not there.
    """
    if all(reports[position].serial is None for position in new.values()):
        return []
    position_of: dict[ScopedId, int] = {}
    for (number, epoch, _), position in sorted(new.items(), key=lambda item: item[1]):
        serial = reports[position].serial
        if serial is not None:
            position_of.setdefault((number, epoch, serial), position)
    redeemed = {position_of[key] for key in redeem(sorted(position_of))}
    return sorted(
        key
        for key, position in new.items()
        if reports[position].serial is not None and position not in redeemed
    )


def mark_spent(
    statuses: list[CommitStatus],
    reports: Sequence[AcceptedReport],
    positions: Sequence[int],
    refused: Sequence[ScopedId],
) -> None:
    """SPENT for these reports, wherever in the batch they are: none of them is counted."""
    spent = {report_id for _, _, report_id in refused}
    for position in positions:
        if reports[position].report_id in spent:
            statuses[position] = CommitStatus.SPENT
