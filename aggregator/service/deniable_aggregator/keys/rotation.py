"""The life of a key for reports: when it is listed, used, replaced and destroyed.

pending     listed, not used: every replica gets its private half in this time
active      devices encrypt to the strongest suite that has one
expired     replaced by a newer active key of its suite; opens reports on their way
gone        destroyed, after the epochs that were current when it expired are closed

Each list moves a key at most one step further (`key_succession`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deniable_shared.wire.key_list import PublicKey

PENDING_SECONDS = 86_400
"""Seconds that a new key is listed before it is used."""

_IDS = 256


@dataclass(frozen=True, slots=True)
class ListedKey:
    """A key with its state, and Unix seconds since when it has this state."""

    key: PublicKey
    since: int


def next_states(
    keys: Iterable[ListedKey], *, now: float, at_once: int | None = None
) -> tuple[PublicKey, ...]:
    """Every key with its state in the next list, by id.

    Pending keys become active after their time, the one with id `at_once` at once. Of each suite
    only the newest active key stays active. Without an active key devices could not encrypt, so
    then the newest pending key of the oldest suite is used early.
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
    """The key of that suite that has had that state for the shortest time."""
    matching = [each for each in keys if (each.key.suite, each.key.state) == (suite, state)]
    return max(matching, key=_age, default=None)


def overdue_suites(listed: Iterable[ListedKey], *, now: float, seconds: int) -> list[int]:
    """Suites whose active key is older than `seconds` and has no pending successor."""
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
    """The next id after the highest, or the lowest free one; None if all 256 are in use.

    An id is reused as late as possible, so that a report to a destroyed key gets a clear refusal.
    """
    after = max(used, default=0) + 1
    if after < _IDS:
        return after
    return next((key_id for key_id in range(_IDS) if key_id not in used), None)


def _age(listed: ListedKey) -> tuple[int, int]:
    return listed.since, listed.key.id
