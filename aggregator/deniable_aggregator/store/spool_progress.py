"""How far each spool is counted: what was taken at its door until then is in the store.

Whoever keeps house closes no epoch that a report in a spool may still be for. A moment never goes
back, so several openers of one spool may each write theirs.
"""

from __future__ import annotations

from collections.abc import Mapping

from deniable_aggregator.store.statements import Row, Statements, named

_NOTE = """
insert into spools (place, counted_until) values (?, ?)
on conflict (place) do update set counted_until = excluded.counted_until
where excluded.counted_until > spools.counted_until"""
_COUNTED = "select place, counted_until from spools order by place"
_FORGET = "delete from spools where place = ?"


def counted_at(now: float, spools: Mapping[str, int]) -> float:
    """Now, or the moment until which the slowest spool is counted: the later nothing is over."""
    return min((now, *spools.values()))


def note(db: Statements, place: str, until: int) -> None:
    """All that was taken before is counted; 0 where nothing is known yet."""
    db.execute(_NOTE, (place, until))


def counted_until(db: Statements) -> dict[str, int]:
    """Place → moment, of every spool there is."""
    return {row["place"]: row["counted_until"] for row in named(Row, db.execute(_COUNTED))}


def forget(db: Statements, place: str) -> bool:
    """Nothing waits for this spool any more; False where nothing did."""
    return bool(db.execute(_FORGET, (place,)).rowcount)
