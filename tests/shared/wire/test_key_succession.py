"""The life of keys from list to list: forward only, and never exchanged under their ids."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import ForkError
from deniable_shared.wire.key_list import STATES, KeyList, PublicKey
from deniable_shared.wire.key_succession import NEXT_STATES, check_successor_keys

LIFE = ("new", "pending", "active", "expired", "gone")
OLD = KeyList(4, 100, 200, 10, "ab" * 32, (PublicKey(1, 1, bytes(32), "active"),))


def material(generation: int) -> bytes:
    return generation.to_bytes(32, "big")


def listed(version: int, keys: dict[int, tuple[int, str]]) -> KeyList:
    """The list of a version that names these keys: {id: (which key it is, its state)}."""
    named = tuple(
        PublicKey(key_id, 1, material(generation), state)
        for key_id, (generation, state) in sorted(keys.items())
        if state in STATES
    )
    keeper = PublicKey(255, 1, material(255), "active")  # a list is never empty
    return KeyList(version, 100 * version, 10_000, 10 * version, "ab" * 32, (*named, keeper))


@st.composite
def histories(draw: st.DrawFn) -> list[KeyList]:
    """Lists of an honest aggregator: each key moves by the law, free ids are used again."""
    keys = {0: (0, "active"), 1: (1, "new"), 2: (2, "new")}
    lists, generation = [listed(1, keys)], 2
    for version in range(2, draw(st.integers(3, 12))):
        for key_id, (key, state) in list(keys.items()):
            if state == "gone":
                generation += 1
                keys[key_id] = (generation, draw(st.sampled_from(["new", "pending"])))
            else:
                keys[key_id] = (key, draw(st.sampled_from(sorted(NEXT_STATES[state]))))
        lists.append(listed(version, keys))
    return lists


@pytest.mark.slow
@given(histories())
def test_every_later_list_of_an_aggregator_may_follow_every_earlier_one(
    lists: list[KeyList],
) -> None:
    for index, old in enumerate(lists):
        for new in lists[index + 1 :]:
            check_successor_keys(old, new)


@given(histories())
def test_no_earlier_list_may_follow_a_later_one(lists: list[KeyList]) -> None:
    for old, new in pairwise(lists):
        with pytest.raises(ForkError, match="the key list fell from version"):
            check_successor_keys(new, old)
        with pytest.raises(ForkError, match="the key list fell from version"):
            check_successor_keys(old, old)


@given(histories(), st.data())
def test_a_list_that_exchanges_a_key_may_not_follow(
    lists: list[KeyList], data: st.DataObject
) -> None:
    old, new = data.draw(st.sampled_from(list(pairwise(lists))))
    keys = tuple(replace(key, public_key=material(999)) for key in new.keys)
    with pytest.raises(ForkError, match="is another key than before"):
        check_successor_keys(old, replace(new, keys=keys))


@pytest.mark.parametrize("before", LIFE[:-1])
@pytest.mark.parametrize("after", LIFE[1:])
def test_in_the_next_list_a_key_is_one_step_further_at_most(before: str, after: str) -> None:
    old, new = listed(1, {7: (7, before)}), listed(2, {7: (7, after)})
    step = LIFE.index(after) - LIFE.index(before)
    unlisted = (before, after) == ("new", "gone")
    if step in (0, 1) or unlisted or (before, after) == ("pending", "gone"):
        check_successor_keys(old, new)
        return
    with pytest.raises(ForkError, match=f"key 7 went from {before} to {after} in one key list"):
        check_successor_keys(old, new)


@pytest.mark.parametrize("before", LIFE[1:-1])
@pytest.mark.parametrize("after", LIFE[1:-1])
def test_however_many_lists_were_missed_no_key_goes_back(before: str, after: str) -> None:
    old, new = listed(1, {7: (7, before)}), listed(90, {7: (7, after)})
    if LIFE.index(after) >= LIFE.index(before):
        check_successor_keys(old, new)
        return
    with pytest.raises(ForkError, match="a key is pending, then active, then expired, then gone"):
        check_successor_keys(old, new)


@pytest.mark.parametrize(("before", "lists"), [("pending", 2), ("active", 3), ("expired", 2)])
def test_an_id_is_free_again_once_its_key_is_gone(before: str, lists: int) -> None:
    old = listed(1, {7: (7, before)})
    check_successor_keys(old, listed(1 + lists, {7: (8, "pending")}))
    with pytest.raises(ForkError, match="key 7 is another key than before, which cannot be gone"):
        check_successor_keys(old, listed(lists, {7: (8, "pending")}))


def test_another_suite_under_an_id_is_another_key() -> None:
    old = listed(1, {7: (7, "active")})
    hybrid = PublicKey(7, 2, bytes(1216), "active")
    with pytest.raises(ForkError, match="key 7 is another key"):
        check_successor_keys(old, replace(listed(2, {}), keys=(hybrid, old.keys[-1])))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"version": 3}, "the key list fell from version 4 to 3"),
        ({"version": 4}, "the key list fell from version 4 to 4"),
        ({"issued": 99}, "key list 5 was issued at 99, before 100 of list 4"),
        ({"log_size": 10}, "the log must have at least 11 entries under key list 5, got 10"),
        ({"version": 7, "log_size": 12}, "must have at least 13 entries under key list 7"),
        ({"keys": (PublicKey(2, 1, bytes(32), "active"),)}, "key 1 went from active to gone"),
    ],
    ids=str,
)
def test_a_rollback_is_refused_with_the_reason(changes: dict[str, object], reason: str) -> None:
    honest: dict[str, object] = {"version": 5, "log_size": 11}
    check_successor_keys(OLD, replace(OLD, **honest))  # type: ignore[arg-type]  # one dict has values of many types
    with pytest.raises(ForkError, match=reason):
        check_successor_keys(OLD, replace(OLD, **honest | changes))  # type: ignore[arg-type]  # a wrong type is the point
