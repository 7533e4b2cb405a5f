"""The coins of one epoch's report: from a state and a value to the next state and a payload.

A pure function: nothing is read or written here, and the same state, collection and value give the
same report, on this device, its clone or its restored backup.
"""

from __future__ import annotations

from typing import NamedTuple, cast

from deniable_client import keychain
from deniable_client.collection_state import CollectionState
from deniable_client.outcome import Outcome
from deniable_client.prepared_collection import Encoded, PreparedCollection
from deniable_client.repeats import Turn
from deniable_shared.coins import Coins
from deniable_shared.mechanisms import Chain

__all__ = ["Tossed", "toss", "tosses"]


class Tossed(NamedTuple):
    """What one epoch came to: `paid` if there was a toss, a report unless the outcome says so."""

    outcome: Outcome
    state: CollectionState
    paid: bool = False
    payload: bytes | None = None
    report_id: bytes = b""


def tosses(state: CollectionState, turn: Turn) -> bool:
    """Whether the turn begins a hold; otherwise its permanent answer is there."""
    return state.permanent is None or state.hold != turn.hold


def toss(
    prepared: PreparedCollection,
    state: CollectionState,
    turn: Turn,
    answer: tuple[Encoded, bytes],
    *,
    pays: bool,
) -> Tossed:
    """The report of an epoch that the rule of repetition does not refuse.

    Where the budget does not pay (`pays`), the last permanent answer serves.
    """
    if not tosses(state, turn):
        outcome = Outcome.HELD if state.tossed == turn.hold else Outcome.REPEATED
        return _renewed(prepared, state, turn, outcome)
    key = keychain.advance(state.key or b"", turn.hold - state.at)
    settled = state._replace(
        key=keychain.step(key),
        at=turn.hold + 1,
        first=turn.epoch if state.first is None else state.first,
        hold=turn.hold,
        asked=int(_asked(prepared, key, turn)),
    )
    if not settled.asked:
        return Tossed(Outcome.NOT_SAMPLED, settled)
    if prepared.manifest.repeat != "memoized":
        return _tossed(prepared, settled, turn, answer, key)
    if not pays:
        return _renewed(prepared, settled, turn, Outcome.REPEATED)
    return _permanent(prepared, settled, turn, answer, key)


def _asked(prepared: PreparedCollection, key: bytes, turn: Turn) -> bool:
    if prepared.sampling is None:
        return True
    coins = keychain.sampling_coins(key, identity=prepared.identity, hold=turn.hold)
    return coins.bernoulli(prepared.sampling)


def _tossed(
    prepared: PreparedCollection,
    state: CollectionState,
    turn: Turn,
    answer: tuple[Encoded, bytes],
    key: bytes,
) -> Tossed:
    encoded, canonical = answer
    payload = prepared.mechanism.randomize(encoded, *_coins(prepared, key, turn, canonical))
    report_id = keychain.report_id(key, collection=prepared.manifest.collection, epoch=turn.epoch)
    return Tossed(Outcome.QUEUED, state, True, payload, report_id)


def _permanent(
    prepared: PreparedCollection,
    state: CollectionState,
    turn: Turn,
    answer: tuple[Encoded, bytes],
    key: bytes,
) -> Tossed:
    encoded, canonical = answer
    chain = cast(Chain, prepared.mechanism)
    permanent = chain.permanent(encoded, *_coins(prepared, key, turn, canonical))
    state = state._replace(tossed=turn.hold, permanent=permanent)
    return _renewed(prepared, state, turn, Outcome.QUEUED)._replace(paid=True)


def _coins(
    prepared: PreparedCollection, key: bytes, turn: Turn, canonical: bytes
) -> tuple[Coins, Coins | None]:
    """Those of the value, and those of what is told openly if anything is."""
    identity, hold = prepared.identity, turn.hold
    coins = keychain.coins(key, identity=identity, hold=hold, value=canonical)
    if not prepared.open:
        return coins, None
    return coins, keychain.public_coins(key, identity=identity, hold=hold)


def _renewed(
    prepared: PreparedCollection, state: CollectionState, turn: Turn, outcome: Outcome
) -> Tossed:
    epoch, permanent = turn.epoch, state.permanent or b""
    begun = epoch if state.epoch_at is None else state.epoch_at
    key = keychain.advance(state.epoch_key or b"", epoch - begun)
    coins = keychain.renewal_coins(
        key, identity=prepared.identity, epoch=epoch, permanent=permanent
    )
    payload = cast(Chain, prepared.mechanism).renew(permanent, coins)
    report_id = keychain.report_id(key, collection=prepared.manifest.collection, epoch=epoch)
    state = state._replace(epoch_key=keychain.step(key), epoch_at=epoch + 1)
    return Tossed(outcome, state, False, payload, report_id)
