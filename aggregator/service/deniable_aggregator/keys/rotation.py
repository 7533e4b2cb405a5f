"""When a key that reports are sealed to is offered, replaced, and no longer needed.

pending     listed, not used: every replica gets its private half meanwhile
active      devices seal to the strongest suite that has one
expired     replaced by a newer active key of its suite; opens what is still under way
gone        destroyed, once the epochs that were current when it expired are closed

One list after the other takes each key at most one step further (`key_succession`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deniable_shared.wire.key_list import PublicKey

PENDING_SECONDS = 86_400
"""How long a new key is listed before it is used."""

_IDS = 256


@dataclass(frozen=True, slots=True)
class ListedKey:
    """A key in its state, and the second since when it has been in it."""

    key: PublicKey
    since: int


def next_states(
    keys: Iterable[ListedKey], *, now: float, at_once: int | None = None
) -> tuple[PublicKey, ...]:
    """Every key in the state it should have in the next list, by id.

    Pending keys become active after their time, the one of id `at_once` without waiting. Of each
    suite only the newest active key stays active. Without any active key devices could not seal at
    all: then the newest pending one of the oldest suite is used early.
    """
    ordered = sorted(keys, key=_age)
    early = {at_once, _needed_early(ordered)}
    active: dict[int, int] = {}
    for each in sorted(ordered, key=lambda each: each.key.state == "pending"):
        waited = each.since + PENDING_SECONDS <= now or each.key.id in early
        if each.key.state == "active" or (each.key.state == "pending" and waited):
            active[each.key.suite] = each.key.id
    return tuple(
        _with_state(each.key, in_use=active.get(each.key.suite) == each.key.id)
        for each in sorted(ordered, key=lambda each: each.key.id)
    )


def _needed_early(ordered: Sequence[ListedKey]) -> int | None:
    if any(each.key.state == "active" for each in ordered):
        return None
    pending = [each for each in ordered if each.key.state == "pending"]
    oldest = min((each.key.suite for each in pending), default=0)
    return max((each.key.id for each in pending if each.key.suite == oldest), default=None)


def _with_state(key: PublicKey, *, in_use: bool) -> PublicKey:
    if in_use:
        return replace(key, state="active")
    return replace(key, state="expired") if key.state == "active" else key


def newest(keys: Iterable[ListedKey], *, suite: int, state: str) -> ListedKey | None:
    """Of that suite and state, the one that has been in it for the shortest time."""
    matching = [each for each in keys if (each.key.suite, each.key.state) == (suite, state)]
    return max(matching, key=_age, default=None)


def overdue_suites(listed: Iterable[ListedKey], *, now: float, seconds: int) -> list[int]:
    """Suites whose active key has been in use for so long and has no successor on its way."""
    keys = list(listed)
    waiting = {each.key.suite for each in keys if each.key.state == "pending"}
    return sorted(
        each.key.suite
        for each in keys
        if each.key.state == "active"
        and each.key.suite not in waiting
        and each.since + seconds <= now
    )


def next_id(used: Sequence[int]) -> int | None:
    """The one after the highest, or the lowest that is free; None if all 256 are in use.

    An id comes back as late as possible: a report sealed to a key that is gone is then told so.
    """
    after = max(used, default=0) + 1
    if after < _IDS:
        return after
    return next((key_id for key_id in range(_IDS) if key_id not in used), None)


def _age(listed: ListedKey) -> tuple[int, int]:
    return listed.since, listed.key.id
