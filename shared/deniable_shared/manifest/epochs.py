"""Epochs: the only time a report carries. Boundaries are unix seconds, UTC, half open.

A hold is a run of epochs behind which stands one permanent answer. Holds are counted from the
collection's first epoch; the last one may be cut short by the collection's end.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime

Clock = Callable[[], float]
"""Returns unix seconds, UTC; injected wherever time is read."""

EARLY_SECONDS = 300
"""A report is too early when its epoch starts more than this after the server's clock."""


def epoch_at(now: float, epoch_seconds: int) -> int:
    """Index of the epoch that holds `now`."""
    return int(now // epoch_seconds)


def epoch_start(epoch: int, epoch_seconds: int) -> int:
    """First second of the epoch."""
    return epoch * epoch_seconds


def epoch_end(epoch: int, epoch_seconds: int) -> int:
    """First second after the epoch."""
    return (epoch + 1) * epoch_seconds


def closes_at(epoch: int, epoch_seconds: int, grace_seconds: int) -> int:
    """The epoch closes once the clock is past this second."""
    return epoch_end(epoch, epoch_seconds) + grace_seconds


def starts_too_early(epoch: int, epoch_seconds: int, now: float) -> bool:
    """Whether a report of this epoch comes from a clock that runs ahead."""
    return epoch_start(epoch, epoch_seconds) > now + EARLY_SECONDS


def day_start(day: date) -> int:
    """Unix second of 00:00 UTC of a date."""
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())


def hold_at(epoch: int, *, first_epoch: int, hold_epochs: int) -> int:
    """Index of the hold an epoch lies in; negative before the collection's first epoch."""
    return (epoch - first_epoch) // hold_epochs


def hold_start(hold: int, *, first_epoch: int, hold_epochs: int) -> int:
    """First epoch of the hold."""
    return first_epoch + hold * hold_epochs


def hold_end(hold: int, *, first_epoch: int, hold_epochs: int) -> int:
    """First epoch after the hold."""
    return hold_start(hold + 1, first_epoch=first_epoch, hold_epochs=hold_epochs)


def holds_in(epochs: int, hold_epochs: int) -> int:
    """How many holds so many epochs begin, the last one counted even if it is cut short."""
    return -(-epochs // hold_epochs)
