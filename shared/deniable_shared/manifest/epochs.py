"""Epochs: the only time in a report. Boundaries are unix seconds, UTC, half open.

A hold is a run of epochs that share one permanent answer. Holds are counted from the collection's
first epoch. The collection's end may cut the last one short.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime

Clock = Callable[[], float]
"""A function that returns unix seconds, UTC. All code that reads the time takes one."""

EARLY_SECONDS = 300
"""A report is too early when its epoch starts more than this after the server's clock."""


def epoch_at(now: float, epoch_seconds: int) -> int:
    """Return the index of the epoch that contains `now`."""
    return int(now // epoch_seconds)


def epoch_start(epoch: int, epoch_seconds: int) -> int:
    """Return the first second of the epoch."""
    return epoch * epoch_seconds


def epoch_end(epoch: int, epoch_seconds: int) -> int:
    """Return the first second after the epoch."""
    return (epoch + 1) * epoch_seconds


def period_name(epoch_seconds: int) -> str:
    """Return what people call an epoch of this length: a day, a week, an hour, else a period."""
    return {3_600: "hour", 86_400: "day", 604_800: "week"}.get(epoch_seconds, "period")


def closes_at(epoch: int, epoch_seconds: int, grace_seconds: int) -> int:
    """Return the last second at which the epoch takes reports."""
    return epoch_end(epoch, epoch_seconds) + grace_seconds


def starts_too_early(epoch: int, epoch_seconds: int, now: float) -> bool:
    """Whether a report of this epoch comes from a clock that runs ahead."""
    return epoch_start(epoch, epoch_seconds) > now + EARLY_SECONDS


def day_start(day: date) -> int:
    """Return the unix second of 00:00 UTC of a date."""
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())


def hold_at(epoch: int, *, first_epoch: int, hold_epochs: int) -> int:
    """Return the index of an epoch's hold; negative before the collection's first epoch."""
    return (epoch - first_epoch) // hold_epochs


def hold_start(hold: int, *, first_epoch: int, hold_epochs: int) -> int:
    """Return the first epoch of the hold."""
    return first_epoch + hold * hold_epochs


def hold_end(hold: int, *, first_epoch: int, hold_epochs: int) -> int:
    """Return the first epoch after the hold."""
    return hold_start(hold + 1, first_epoch=first_epoch, hold_epochs=hold_epochs)


def holds_in(epochs: int, hold_epochs: int) -> int:
    """Return how many holds `epochs` epochs begin, including one that is cut short."""
    return -(-epochs // hold_epochs)
