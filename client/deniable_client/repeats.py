"""How often one device answers one collection: the rules of `repeat`, as decisions without effects.

once       one report ever.
fresh      one report an epoch, each a new toss, in the first epochs that the lifetime pays. They
           are counted by the calendar from the first one settled here, answered or not.
memoized   one toss a hold, from the first value recorded in it; each epoch in which the app records
           (`on_event`), or every epoch (`always`), sends it through the second round. When the
           lifetime pays no more, the last permanent answer serves on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from deniable_client.course import Course
from deniable_client.outcome import Outcome

__all__ = ["REPEATS", "Fresh", "Memoized", "Once", "Repeat", "Turn"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One epoch, the hold it lies in, and how many tosses the effective lifetime pays."""

    epoch: int
    hold: int
    paid: int


class Repeat(Protocol):
    """One rule of repetition."""

    def refusal(self, course: Course, turn: Turn) -> Outcome | None:
        """Why the epoch gets no report, or none any more; None if it may."""


class Once:
    """One report ever, one hold for all time: a copy of this device tosses the same coin."""

    def refusal(self, course: Course, _turn: Turn) -> Outcome | None:
        """Any answer, at any time, is the last."""
        if course.highest is None and course.hold is None:
            return None
        return _settled(course)


class Fresh:
    """One toss an epoch; each epoch is a hold of its own."""

    def refusal(self, course: Course, turn: Turn) -> Outcome | None:
        """None at or below the highest epoch settled, none after the calendar's last."""
        if turn.epoch == course.hold:
            return _settled(course)
        if _passed(course, turn) or turn.epoch < course.at:
            return Outcome.ALREADY_ANSWERED
        over = course.first is not None and turn.epoch >= course.first + turn.paid
        return Outcome.BUDGET_EXHAUSTED if over else None


class Memoized:
    """One toss a hold, one renewal an epoch."""

    def refusal(self, course: Course, turn: Turn) -> Outcome | None:
        """None at or below the highest epoch answered, or where the permanent answer was wiped."""
        if turn.hold == course.hold and not course.asked:
            return Outcome.NOT_SAMPLED
        if _passed(course, turn) or turn.epoch < (course.epoch_at or 0):
            return Outcome.ALREADY_ANSWERED
        if course.hold is None or turn.hold > course.hold:
            return Outcome.ALREADY_ANSWERED if turn.hold < course.at else None
        gone = turn.hold < course.hold or course.permanent is None
        return Outcome.ALREADY_ANSWERED if gone else None


REPEATS: Mapping[str, Repeat] = MappingProxyType(
    {"once": Once(), "fresh": Fresh(), "memoized": Memoized()}
)
"""By the manifest's `repeat`."""


def _passed(course: Course, turn: Turn) -> bool:
    return course.highest is not None and turn.epoch <= course.highest


def _settled(course: Course) -> Outcome:
    unasked = course.hold is not None and not course.asked
    return Outcome.NOT_SAMPLED if unasked else Outcome.ALREADY_ANSWERED
