"""Randomizes one epoch's report: from a state and a value to the next state and a payload.

Pure functions: nothing is read or written. The same state, collection and value give the same
report on this device, on its clone and on its restored backup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from deniable_client._state import keychain
from deniable_client.outcome import Outcome

if TYPE_CHECKING:
    from deniable_client._recording.prepared_collection import Encoded, PreparedCollection
    from deniable_client._recording.repeat_rules import ReportingPeriod
    from deniable_client._state.collection_state import CollectionState
    from deniable_shared.mechanisms import Chain
    from deniable_shared.randomness.coins import Coins


class EpochResult(NamedTuple):
    """The result of one epoch. `paid`: ε was charged. `outcome` says whether there is a report."""

    outcome: Outcome
    state: CollectionState
    paid: bool = False
    payload: bytes | None = None
    report_id: bytes = b""


def begins_hold(state: CollectionState, period: ReportingPeriod) -> bool:
    """Whether the period starts a hold. Otherwise its permanent answer exists."""
    return state.permanent is None or state.hold != period.hold


def randomize(
    prepared: PreparedCollection,
    state: CollectionState,
    period: ReportingPeriod,
    answer: tuple[Encoded, bytes],
    *,
    pays: bool,
) -> EpochResult:
    """Return the report of an epoch that the rule of repetition admits.

    If the budget does not pay for a new toss (`pays`), the last permanent answer is used.
    """
    if not begins_hold(state, period):
        outcome = Outcome.HELD if state.tossed == period.hold else Outcome.REPEATED
        return _rerandomize(prepared, state, period, outcome)
    key = keychain.advance(state.key or b"", period.hold - state.at)
    state_after = state._replace(
        key=keychain.step(key),
        at=period.hold + 1,
        first=period.epoch if state.first is None else state.first,
        hold=period.hold,
        asked=int(_is_sampled(prepared, key, period)),
    )
    if not state_after.asked:
        return EpochResult(Outcome.NOT_SAMPLED, state_after)
    if prepared.manifest.repeat != "memoized":
        return _randomize_answer(prepared, state_after, period, answer, key)
    if not pays:
        return _rerandomize(prepared, state_after, period, Outcome.REPEATED)
    return _memoize(prepared, state_after, period, answer, key)


def _is_sampled(prepared: PreparedCollection, key: bytes, period: ReportingPeriod) -> bool:
    if prepared.sampling is None:
        return True
    coins = keychain.sampling_coins(key, identity=prepared.identity, hold=period.hold)
    return coins.bernoulli(prepared.sampling)


def _randomize_answer(
    prepared: PreparedCollection,
    state: CollectionState,
    period: ReportingPeriod,
    answer: tuple[Encoded, bytes],
    key: bytes,
) -> EpochResult:
    encoded, canonical = answer
    payload = prepared.mechanism.randomize(
        encoded, *_derive_coins(prepared, key, period, canonical)
    )
    report_id = keychain.report_id(key, collection=prepared.manifest.collection, epoch=period.epoch)
    return EpochResult(Outcome.QUEUED, state, True, payload, report_id)


def _memoize(
    prepared: PreparedCollection,
    state: CollectionState,
    period: ReportingPeriod,
    answer: tuple[Encoded, bytes],
    key: bytes,
) -> EpochResult:
    encoded, canonical = answer
    chain = cast("Chain", prepared.mechanism)
    permanent = chain.memoize(encoded, *_derive_coins(prepared, key, period, canonical))
    state = state._replace(tossed=period.hold, permanent=permanent)
    return _rerandomize(prepared, state, period, Outcome.QUEUED)._replace(paid=True)


def _derive_coins(
    prepared: PreparedCollection, key: bytes, period: ReportingPeriod, canonical: bytes
) -> tuple[Coins, Coins | None]:
    """Return the coins of the value, and those of the public part of an answer if it has one."""
    identity, hold = prepared.identity, period.hold
    coins = keychain.coins(key, identity=identity, hold=hold, value=canonical)
    if not prepared.open:
        return coins, None
    return coins, keychain.public_coins(key, identity=identity, hold=hold)


def _rerandomize(
    prepared: PreparedCollection, state: CollectionState, period: ReportingPeriod, outcome: Outcome
) -> EpochResult:
    epoch, permanent = period.epoch, state.permanent or b""
    begun = epoch if state.epoch_at is None else state.epoch_at
    key = keychain.advance(state.epoch_key or b"", epoch - begun)
    coins = keychain.renewal_coins(
        key, identity=prepared.identity, epoch=epoch, permanent=permanent
    )
    payload = cast("Chain", prepared.mechanism).rerandomize(permanent, coins)
    report_id = keychain.report_id(key, collection=prepared.manifest.collection, epoch=epoch)
    state = state._replace(epoch_key=keychain.step(key), epoch_at=epoch + 1)
    return EpochResult(outcome, state, False, payload, report_id)
