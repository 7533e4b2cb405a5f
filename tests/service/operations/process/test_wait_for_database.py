"""A process that starts while the database is away waits for it, and for nothing else."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from deniable_aggregator.base.errors import StoreError, StoreUnavailableError
from deniable_aggregator.operations.process.wait_for_database import (
    FIRST_PAUSE_SECONDS,
    LOCKED_SECONDS,
    LONGEST_PAUSE_SECONDS,
    open_when_available,
)
from deniable_gateway.errors import LockedError


def opening(*errors: Exception) -> Callable[[], str]:
    """Fails once with each error, then opens."""
    left = list(errors)

    def act() -> str:
        if left:
            raise left.pop(0)
        return "open"

    return act


def test_what_opens_at_once_waits_for_nothing() -> None:
    pauses: list[float] = []
    assert open_when_available(opening(), pause=pauses.append) == "open"
    assert pauses == []


def test_a_database_that_comes_back_is_found_by_the_next_attempt(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pauses: list[float] = []
    away = StoreUnavailableError("the database refuses: connection failed")
    with caplog.at_level(logging.ERROR):
        assert open_when_available(opening(away, away), pause=pauses.append) == "open"
    assert pauses == [FIRST_PAUSE_SECONDS, 2 * FIRST_PAUSE_SECONDS]
    assert [record.getMessage() for record in caplog.records] == [
        "the database is unavailable; this process starts when it is back"
    ] * 2


def test_pauses_grow_to_a_longest_one_and_waiting_never_ends_by_itself() -> None:
    pauses: list[float] = []
    away = [StoreUnavailableError("the database refuses: shutting down") for _ in range(100)]
    assert open_when_available(opening(*away), pause=pauses.append) == "open"
    assert pauses == sorted(pauses)
    assert pauses[-90:] == [LONGEST_PAUSE_SECONDS] * 90


def test_a_command_that_has_the_directory_for_a_moment_is_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pauses: list[float] = []
    locked = LockedError("process 7 has data open")
    assert open_when_available(opening(locked, locked), pause=pauses.append) == "open"
    assert pauses == [FIRST_PAUSE_SECONDS, 2 * FIRST_PAUSE_SECONDS]
    assert caplog.messages == ["process 7 has data open. This process waits for it"] * 2


def test_a_service_that_keeps_the_directory_is_not_waited_for_long() -> None:
    pauses: list[float] = []
    with pytest.raises(LockedError):
        open_when_available(opening(*[LockedError("in use")] * 100), pause=pauses.append)
    assert LOCKED_SECONDS <= sum(pauses) <= LOCKED_SECONDS + LONGEST_PAUSE_SECONDS


@pytest.mark.parametrize("error", [StoreError("of a newer program"), OSError("read-only")])
def test_what_waiting_does_not_mend_is_raised_at_once(error: Exception) -> None:
    pauses: list[float] = []
    with pytest.raises(type(error)) as caught:
        open_when_available(opening(error), pause=pauses.append)
    assert caught.value is error
    assert pauses == []
