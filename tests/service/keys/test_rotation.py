"""Which state follows which, as a function of time alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deniable_aggregator.keys.rotation import (
    PENDING_SECONDS,
    ListedKey,
    newest,
    next_id,
    next_states,
    overdue_suites,
)
from deniable_shared.wire.envelope import KEY_BYTES
from deniable_shared.wire.key_list import PublicKey
from deniable_shared.wire.key_succession import NEXT_STATES

NOW = 1_800_000_000


def standing(key_id: int, state: str, *, age: int = 0, suite: int = 1) -> ListedKey:
    public = bytes([key_id]) * KEY_BYTES[suite]
    return ListedKey(PublicKey(key_id, suite, public, state), NOW - age)


def states(*standings: ListedKey, at_once: int | None = None) -> dict[int, str]:
    return {key.id: key.state for key in next_states(standings, now=NOW, at_once=at_once)}


def test_a_pending_key_waits_a_day() -> None:
    old = standing(1, "active", age=10**7)
    early, due = (standing(2, "pending", age=PENDING_SECONDS - less) for less in (1, 0))
    assert states(old, early) == {1: "active", 2: "pending"}
    assert states(old, due) == {1: "expired", 2: "active"}


def test_a_key_is_used_at_once_if_told_so() -> None:
    result = states(standing(1, "active"), standing(2, "pending"), at_once=2)
    assert result == {1: "expired", 2: "active"}


def test_each_suite_has_an_active_key_of_its_own() -> None:
    hybrid = standing(2, "pending", age=PENDING_SECONDS, suite=2)
    assert states(standing(1, "active"), hybrid) == {1: "active", 2: "active"}


def test_of_two_that_are_due_the_older_one_waits_on() -> None:
    due = [standing(key_id, "pending", age=PENDING_SECONDS + 9 - key_id) for key_id in (2, 3)]
    assert states(standing(1, "active"), *due) == {1: "expired", 2: "pending", 3: "active"}


def test_an_expired_key_stays_expired() -> None:
    assert states(standing(1, "expired"), standing(2, "active"), at_once=1)[1] == "expired"


def test_without_an_active_key_the_newest_pending_one_is_used_early() -> None:
    waiting = [standing(2, "pending"), standing(3, "pending"), standing(4, "pending", suite=2)]
    assert states(standing(1, "expired"), *waiting) == {
        1: "expired",
        2: "pending",
        3: "active",
        4: "pending",
    }


keys = st.lists(
    st.builds(
        standing,
        st.integers(0, 9),
        st.sampled_from(["pending", "active", "expired"]),
        age=st.integers(0, 2 * PENDING_SECONDS),
        suite=st.sampled_from([1, 2]),
    ),
    unique_by=lambda each: each.key.id,
)


@given(keys, st.none() | st.integers(0, 9))
def test_no_key_skips_a_state_and_one_of_a_suite_is_active(
    standings: list[ListedKey], at_once: int | None
) -> None:
    after = next_states(standings, now=NOW, at_once=at_once)
    before = {each.key.id: each.key.state for each in standings}
    assert [key.id for key in after] == sorted(before)
    assert all(key.state in NEXT_STATES[before[key.id]] for key in after)
    active = [key.suite for key in after if key.state == "active"]
    assert len(active) == len(set(active))
    assert bool(active) == any(state != "expired" for state in before.values())


def test_a_key_is_outlived_by_its_time_in_use_unless_its_successor_waits() -> None:
    old, young = standing(1, "active", age=100), standing(2, "active", age=99, suite=2)
    assert overdue_suites([old, young], now=NOW, seconds=100) == [1]
    assert overdue_suites([old, young, standing(3, "pending")], now=NOW, seconds=100) == []
    assert overdue_suites([standing(1, "expired", age=100)], now=NOW, seconds=100) == []


def test_the_newest_of_a_suite_and_state() -> None:
    older, younger = standing(1, "pending", age=1), standing(2, "pending")
    assert newest([younger, older], suite=1, state="pending") == younger
    assert newest([younger, older], suite=2, state="pending") is None


def test_ids_rise_and_come_back_as_late_as_possible() -> None:
    assert next_id([1]) == 2
    assert next_id([1, 254]) == 255
    assert next_id([0, 255]) == 1
    assert next_id(range(256)) is None
