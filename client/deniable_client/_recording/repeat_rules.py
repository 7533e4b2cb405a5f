"""How often one device answers one collection: the rules of `repeat`, as decisions without effects.

once       one report ever.
fresh      one report an epoch, each a new toss, in as many epochs as the lifetime pays for. The
           calendar counts them from the first epoch settled here, answered or not.
memoized   one toss a hold, from the first value recorded in it. Each epoch in which the app records
           (`on_event`), or every epoch (`always`), sends it through the second round. Once the
           lifetime is spent, the last permanent answer is used on.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from deniable_client.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_client._state.collection_state import CollectionState


@dataclass(frozen=True, slots=True)
class ReportingPeriod:
    """One epoch, its hold, and the number of tosses that the effective lifetime pays for."""

    epoch: int
    hold: int
    paid: int


class RepeatRule(Protocol):
    """One rule of `repeat`."""

    def refusal(self, state: CollectionState, period: ReportingPeriod, /) -> Outcome | None:
        """Why the epoch gets no report; None if it may have one."""


class Once:
    """One report ever, one hold for all time: a copy of this device tosses the same coin."""

    def refusal(self, state: CollectionState, _period: ReportingPeriod) -> Outcome | None:
        """Refuse everything after the first answer."""
        if state.highest is None and state.hold is None:
            return None
        return _refuse_settled(state)


class Fresh:
    """One toss an epoch. Each epoch is a hold of its own."""

    def refusal(self, state: CollectionState, period: ReportingPeriod) -> Outcome | None:
        """Refuse epochs up to the highest one settled, and epochs that are not paid for."""
        if period.epoch == state.hold:
            return _refuse_settled(state)
        if _passed(state, period) or period.epoch < state.at:
            return Outcome.ALREADY_ANSWERED
        over = state.first is not None and period.epoch >= state.first + period.paid
        return Outcome.BUDGET_EXHAUSTED if over else None


class Memoized:
    """One toss a hold, one renewal an epoch."""

    def refusal(self, state: CollectionState, period: ReportingPeriod) -> Outcome | None:
        """Refuse epochs up to the highest one answered, and those without a permanent answer."""
        if period.hold == state.hold and not state.asked:
            return Outcome.NOT_SAMPLED
        if _passed(state, period) or period.epoch < (state.epoch_at or 0):
            return Outcome.ALREADY_ANSWERED
        if state.hold is None or period.hold > state.hold:
            return Outcome.ALREADY_ANSWERED if period.hold < state.at else None
        gone = period.hold < state.hold or state.permanent is None
        return Outcome.ALREADY_ANSWERED if gone else None


REPEAT_RULES: Mapping[str, RepeatRule] = MappingProxyType(
    {"once": Once(), "fresh": Fresh(), "memoized": Memoized()}
)
"""By the manifest's `repeat`."""


def _passed(state: CollectionState, period: ReportingPeriod) -> bool:
    return state.highest is not None and period.epoch <= state.highest


def _refuse_settled(state: CollectionState) -> Outcome:
    unasked = state.hold is not None and not state.asked
    return Outcome.NOT_SAMPLED if unasked else Outcome.ALREADY_ANSWERED
