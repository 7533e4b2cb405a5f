"""One report a voucher: its serial is redeemed in the transaction that inserts the report's id.

    insert ids, on conflict nothing        an id that was there is a duplicate, whatever it carries
    insert serials of the new ones, too    on conflict: another report has redeemed that voucher
    take back the ids of those refused     and count the others

So a serial is there if and only if a report that carried it was counted, and the same report again
is a duplicate. Which report a serial came with is not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from deniable_aggregator.store.rows import Arrival, Verdict

Key = tuple[int, int, bytes]
"""(collection number, epoch, id or serial)."""


def turned_away(
    arrivals: Sequence[Arrival],
    new: Mapping[Key, int],
    redeem: Callable[[list[Key]], Collection[Key]],
) -> list[Key]:
    """Those of the new ids, given with their places, whose voucher is another report's.

    Of two in one batch the first has it. `redeem` inserts serials, which come in order, and returns
    those that were not there.
    """
    if all(arrivals[place].serial is None for place in new.values()):
        return []
    bearers: dict[Key, int] = {}
    for (number, epoch, _), place in sorted(new.items(), key=lambda item: item[1]):
        serial = arrivals[place].serial
        if serial is not None:
            bearers.setdefault((number, epoch, serial), place)
    honoured = {bearers[key] for key in redeem(sorted(bearers))}
    return sorted(
        key
        for key, place in new.items()
        if arrivals[place].serial is not None and place not in honoured
    )


def refuse_spent(
    verdicts: list[Verdict],
    arrivals: Sequence[Arrival],
    places: Sequence[int],
    refused: Sequence[Key],
) -> None:
    """SPENT for these reports, wherever in the batch they stand: none of them is counted."""
    spent = {report_id for _, _, report_id in refused}
    for place in places:
        if arrivals[place].report_id in spent:
            verdicts[place] = Verdict.SPENT
