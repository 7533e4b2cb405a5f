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

from deniable_client.collection_state import CollectionState
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

    def refusal(self, state: CollectionState, turn: Turn) -> Outcome | None:
        """Why the epoch gets no report, or none any more; None if it may."""


class Once:
    """One report ever, one hold for all time: a copy of this device tosses the same coin."""

    def refusal(self, state: CollectionState, _turn: Turn) -> Outcome | None:
        """Any answer, at any time, is the last."""
        if state.highest is None and state.hold is None:
            return None
        return _settled(state)


class Fresh:
    """One toss an epoch; each epoch is a hold of its own."""

    def refusal(self, state: CollectionState, turn: Turn) -> Outcome | None:
        """None at or below the highest epoch settled, none after the calendar's last."""
        if turn.epoch == state.hold:
            return _settled(state)
        if _passed(state, turn) or turn.epoch < state.at:
            return Outcome.ALREADY_ANSWERED
        over = state.first is not None and turn.epoch >= state.first + turn.paid
        return Outcome.BUDGET_EXHAUSTED if over else None


class Memoized:
    """One toss a hold, one renewal an epoch."""

    def refusal(self, state: CollectionState, turn: Turn) -> Outcome | None:
        """None at or below the highest epoch answered, or where the permanent answer was wiped."""
        if turn.hold == state.hold and not state.asked:
            return Outcome.NOT_SAMPLED
        if _passed(state, turn) or turn.epoch < (state.epoch_at or 0):
            return Outcome.ALREADY_ANSWERED
        if state.hold is None or turn.hold > state.hold:
            return Outcome.ALREADY_ANSWERED if turn.hold < state.at else None
        gone = turn.hold < state.hold or state.permanent is None
        return Outcome.ALREADY_ANSWERED if gone else None


REPEATS: Mapping[str, Repeat] = MappingProxyType(
    {"once": Once(), "fresh": Fresh(), "memoized": Memoized()}
)
"""By the manifest's `repeat`."""


def _passed(state: CollectionState, turn: Turn) -> bool:
    return state.highest is not None and turn.epoch <= state.highest


def _settled(state: CollectionState) -> Outcome:
    unasked = state.hold is not None and not state.asked
    return Outcome.NOT_SAMPLED if unasked else Outcome.ALREADY_ANSWERED
