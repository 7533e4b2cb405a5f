"""Groups reports of one batch by epoch and cell, and blocks that were tallied elsewhere.

Reports of a block that were counted before are subtracted from its tally:

    tally(new) = tally(part) − tally(reports of the part whose ids were known)

One transaction counts many blocks, because each random id touches one page of the index, and pages
are written once for each transaction. If several blocks have the same id, the first one counts it.

A voucher is for one report. Its serial is redeemed in the transaction that inserts the report's id:

    insert ids, on conflict nothing        a known id is a duplicate, with any serial
    insert serials of the new ones, too    on conflict: another report has redeemed that voucher
    delete the ids of refused reports      and count the others

So a serial is stored if and only if a report with it was counted, and the same report again
is a duplicate. The connection of serial and report is not stored.
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
    """(collection, epoch) → ascending positions in the batch."""
    positions: dict[tuple[str, int], list[int]] = {}
    for position, report in enumerate(reports):
        key = report.key
        positions.setdefault((key.collection, key.epoch), []).append(position)
    return positions


def tally_payloads(key: TallyKey, payloads: Sequence[bytes], tally: TallyKernel) -> Counts:
    """The tally of the payloads of one cell: int64[tally_size]."""
    joined = np.frombuffer(b"".join(payloads), np.uint8)
    return tally(key, joined.reshape(len(payloads), -1))


def length_error(key: TallyKey, length: int) -> StoreError:
    """The error of a cell whose tally has another length than before."""
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
        """Note the blocks as counted. One that was counted before gets None as status counts."""
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
        """Epochs of the reports, in the order in which all transactions lock them."""
        return sorted(self._partials)

    def ids(self, epoch_key: EpochKey) -> list[bytes]:
        """Ids of the epoch's reports, ascending, without duplicates."""
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
    """The number of the part's reports with a new id, and their tally."""
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
    """The new ids whose voucher another report has already used.

    Of two reports in one batch the first gets the voucher. `redeem` inserts ordered serials, and
    returns the new ones.
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
    """Set the status of these reports to SPENT: none of them is counted."""
    spent = {report_id for _, _, report_id in refused}
    for position in positions:
        if reports[position].report_id in spent:
            statuses[position] = CommitStatus.SPENT
