"""How far each spool is counted: reports that it took until then are in the store.

Maintenance closes no epoch that a report in a spool may still be for. A moment never goes
back, so several openers of one spool may each write theirs.
"""

from __future__ import annotations

from collections.abc import Mapping

from deniable_aggregator.store.statements import Row, Statements, read_rows

_NOTE = """
insert into spools (place, counted_until) values (?, ?)
on conflict (place) do update set counted_until = excluded.counted_until
where excluded.counted_until > spools.counted_until"""
_COUNTED = "select place, counted_until from spools order by place"
_FORGET = "delete from spools where place = ?"


def counted_time(now: float, spools: Mapping[str, int]) -> float:
    """Now, or the time until which the slowest spool is counted: later epochs are not over."""
    return min((now, *spools.values()))


def set_counted_until(db: Statements, place: str, until: int) -> None:
    """All reports taken before `until` are counted; 0 if nothing is known yet."""
    db.execute(_NOTE, (place, until))


def counted_until(db: Statements) -> dict[str, int]:
    """Place → moment, of every spool there is."""
    return {row["place"]: row["counted_until"] for row in read_rows(Row, db.execute(_COUNTED))}


def remove(db: Statements, place: str) -> bool:
    """No epoch waits for this spool any more. False if the place is unknown."""
    return bool(db.execute(_FORGET, (place,)).rowcount)
