"""How one key list may follow another: keys are announced, used, retired, and never exchanged.

    new → pending → active → expired → gone        pending → gone: withdrawn before use

A key is pending while the replicas of an aggregator load it, active while devices seal to it, and
expired while late reports may still come. Then its private half is destroyed and it is gone.
Another key may use its id from then on: there are 256 ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_shared.errors import ForkError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_shared.wire.key_list import KeyList, PublicKey

NEXT_STATES: Mapping[str, frozenset[str]] = {
    "new": frozenset({"new", "pending"}),
    "pending": frozenset({"pending", "active", "gone"}),
    "active": frozenset({"active", "expired"}),
    "expired": frozenset({"expired", "gone"}),
    "gone": frozenset({"gone"}),
}
"""The states a key may have in the next list. A list contains no key that is new or gone."""

_SETTLED = 2 * len(NEXT_STATES)
"""After so many lists a key can be gone, and its replacement can be in any state."""


def check_successor_keys(old: KeyList, new: KeyList) -> None:
    """Raises ForkError, saying why, unless `new` may follow `old`.

    The reader may have missed lists. So a key may have gone several steps forward, but none back.
    The log has grown by at least one entry for each list, as each list is an entry.
    """
    steps = new.version - old.version
    if steps < 1:
        raise ForkError(f"the key list fell from version {old.version} to {new.version}")
    if new.issued < old.issued:
        raise ForkError(
            f"key list {new.version} was issued at {new.issued}, before {old.issued} of list "
            f"{old.version}"
        )
    if new.log_size < old.log_size + steps:
        raise ForkError(
            f"the log must have at least {old.log_size + steps:,} entries under key list "
            f"{new.version}, got {new.log_size:,}"
        )
    before, after = ({key.id: key for key in each.keys} for each in (old, new))
    for key_id in sorted(before.keys() | after.keys()):
        _check_key(key_id, before.get(key_id), after.get(key_id), steps)


def _check_key(key_id: int, old: PublicKey | None, new: PublicKey | None, steps: int) -> None:
    before, after = old.state if old else "new", new.state if new else "gone"
    if old and new and (old.suite, old.public_key) != (new.suite, new.public_key):
        if not _replaced(before, after, steps):
            raise ForkError(
                f"key {key_id} is another key than before, which cannot be gone yet: "
                "a new key takes an id of its own"
            )
    elif after not in _reached(before, steps):
        lists = "one key list" if steps == 1 else f"{steps} key lists"
        raise ForkError(
            f"key {key_id} went from {before} to {after} in {lists}: "
            "a key is pending, then active, then expired, then gone"
        )


def _replaced(before: str, after: str, steps: int) -> bool:
    """Whether a key can be gone after `steps` lists, with another key in its place."""
    return any(
        "gone" in _reached(before, gone) and after in _reached("new", steps - gone)
        for gone in range(1, min(steps, _SETTLED))
    )


def _reached(state: str, steps: int) -> frozenset[str]:
    """Return the states that a key may have `steps` lists later."""
    reached = frozenset({state})
    for _ in range(min(steps, _SETTLED)):
        reached = frozenset(after for before in reached for after in NEXT_STATES[before])
    return reached
