"""One report a voucher: its serial is redeemed in the transaction that inserts the report's id.

    insert ids, on conflict nothing        an id that was there is a duplicate, whatever it carries
    insert serials of the new ones, too    on conflict: another report has redeemed that voucher
    take back the ids of those refused     and count the others

So a serial is there if and only if a report that carried it was counted, and the same report again
is a duplicate. Which report a serial came with is not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from deniable_aggregator.store.rows import AcceptedReport, CommitStatus

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
