"""From a value to a randomized payload in the queue: the only place that randomizes.

One transaction reads, randomizes, charges, queues and overwrites the keys; whatever interrupts it,
either all of that happened or nothing did. The value itself is never stored, logged or put into an
error.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import NamedTuple

from deniable_client import collection_state, outbox
from deniable_client.budget import join_account, millionths
from deniable_client.ceiling import Ceiling
from deniable_client.collection_state import CollectionState
from deniable_client.consent import Consent
from deniable_client.installation import Gate
from deniable_client.known_collections import KnownCollections
from deniable_client.outcome import Outcome
from deniable_client.prepared_collection import Encoded, PreparedCollection
from deniable_client.randomize import EpochResult, begins_hold, randomize
from deniable_client.repeat_rules import ReportingPeriod
from deniable_client.state import State
from deniable_shared.coins import Coins
from deniable_shared.epochs import Clock

__all__ = ["Draft", "Recorder"]

_CHARGE = "UPDATE name SET spent = spent + ? WHERE name = ?"
_QUEUE = (
    "INSERT INTO outbox"
    " (collection, epoch, manifest_version, state, report_id, payload, closes_at, send_at)"
    " VALUES (?, ?, ?, 'waiting', ?, ?, ?, ?)"
)
_SPREAD = 1 << 32
_FINAL = frozenset({Outcome.ALREADY_ANSWERED, Outcome.NOT_SAMPLED})


class _Standing(NamedTuple):
    """Where this installation stands towards one collection. ε in millionths."""

    consent: str
    forked: str | None
    account_spent: int | None
    spent: int | None
    waiting: int
    waiting_here: int
    collection_state: CollectionState

    def refusal(
        self, prepared: PreparedCollection, period: ReportingPeriod, most: int
    ) -> Outcome | None:
        """Why the epoch gets no report, or None."""
        if self.consent != Consent.GRANTED:
            return Outcome.NO_CONSENT
        if self.forked is not None:
            return Outcome.LOG_FORKED
        refusal = prepared.repeat_rule.refusal(self.collection_state, period)
        if refusal is not None:
            return refusal
        if not self.served(prepared, period, most):
            return Outcome.BUDGET_EXHAUSTED
        return Outcome.QUEUE_FULL if self._full() else None

    def served(self, prepared: PreparedCollection, period: ReportingPeriod, most: int) -> bool:
        """Whether there is an answer to send, or budget for one."""
        free = (
            not begins_hold(self.collection_state, period)
            or self.collection_state.permanent is not None
        )
        return free or self.affordable(prepared, most)

    def affordable(self, prepared: PreparedCollection, most: int) -> bool:
        account, everything = self.account_spent or 0, self.spent or 0
        return account + prepared.cost <= prepared.limit and everything + prepared.cost <= most

    def _full(self) -> bool:
        return self.waiting >= outbox.MAX_WAITING or self.waiting_here >= outbox.MAX_WAITING_HERE


_COLUMNS = {
    **{name: f"c.{name}" for name in CollectionState._fields},
    "consent": "i.consent",
    "forked": "i.forked",
    "account_spent": "(SELECT sum(spent) FROM name WHERE account = n.account)",
    "spent": "(SELECT sum(spent) FROM name)",
    "waiting": "(SELECT count(*) FROM outbox WHERE payload IS NOT NULL)",
    "waiting_here": "(SELECT count(*) FROM outbox WHERE payload IS NOT NULL AND collection = ?1)",
    "at": "coalesce(c.at, 0)",
    "highest": "(SELECT max(epoch) FROM outbox WHERE collection = ?1)",
}
"""Field → SQL. The fields themselves order the statement: looking 17 names up costs 8 µs a call."""

_OWN = _Standing._fields[:-1]
_STANDING = f"""
    SELECT {", ".join(_COLUMNS[name] for name in (*_OWN, *CollectionState._fields))}
    FROM installation i LEFT JOIN name n ON n.name = ?2 LEFT JOIN course c ON c.collection = ?1
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class Draft:
    """A value in its encoded form, on its way to the coins and no further."""

    prepared: PreparedCollection
    answer: tuple[Encoded, bytes]
    now: float

    @property
    def period(self) -> ReportingPeriod:
        """The epoch it belongs to."""
        return self.prepared.period(self.prepared.epoch(self.now))


class Recorder:
    """Records answers of one installation. Every thread and process may have its own."""

    def __init__(
        self,
        state: State,
        *,
        gate: Gate,
        collections: KnownCollections,
        ceiling: Ceiling,
        clock: Clock,
    ) -> None:
        self._state = state
        self._gate = gate
        self._collections = collections
        self._clock = clock
        self._most = millionths(ceiling.epsilon_lifetime)
        self._settled_in: dict[str, int] = {}

    def record(self, name_or_id: str, value: object) -> Outcome:
        """See `Client.record`. StorageError when the state cannot be used."""
        refusal = self._gate.refusal()
        if refusal is not None:
            return refusal
        examined = self.examine(name_or_id, value)
        if isinstance(examined, Outcome):
            return examined
        collection = examined.prepared.manifest.collection
        if self._settled_in.get(collection) == _when(examined.prepared, examined.period):
            settled = self._settled(examined)
            if settled is not None:
                return settled
        return self._answer(examined)

    def examine(self, name_or_id: str, value: object) -> Draft | Outcome:
        """The value in its encoded form, or what is wrong with it or with the collection."""
        now = self._clock()
        prepared = self._collections.find(name_or_id, now)
        if isinstance(prepared, Outcome):
            return prepared
        try:
            answer = prepared.encode(value)
        except Exception:  # a host's own Mapping may raise anything, with the value in its text
            return Outcome.INVALID_VALUE
        return Draft(prepared, answer, now)

    def speak_for_the_silent(self) -> None:
        """Answer by default what `presence = "always"` asks of those who recorded nothing."""
        for prepared in self._collections.always(self._clock()):
            if self._overdue(prepared):
                with self._state.transaction() as db:
                    self._fill(db, prepared, _stand(db, prepared), self._clock())

    def _settled(self, draft: Draft) -> Outcome | None:
        """The refusal, found without the write lock that other processes may be waiting for."""
        with self._state.reading() as db:
            standing = _stand(db, draft.prepared)
        refusal = standing.refusal(draft.prepared, draft.period, self._most)
        if refusal is Outcome.QUEUE_FULL or (draft.prepared.always and refusal not in _FINAL):
            return None
        return refusal

    def _overdue(self, prepared: PreparedCollection) -> bool:
        with self._state.reading() as db:
            standing = _stand(db, prepared)
        now, begun = self._clock(), standing.collection_state
        if begun.joined is None:
            return prepared.live(now)
        periods = map(prepared.period, prepared.overdue(begun, now))
        return any(standing.refusal(prepared, period, self._most) is None for period in periods)

    def _answer(self, draft: Draft) -> Outcome:
        prepared, period = draft.prepared, draft.period
        with self._state.transaction() as db:
            standing = _stand(db, prepared)
            if standing.collection_state.key is None and standing.consent == Consent.GRANTED:
                standing = _late(db, prepared, draft.now)
            if prepared.always:
                standing = self._fill(db, prepared, standing, draft.now)
            if standing.refusal(prepared, period, self._most) is Outcome.QUEUE_FULL:
                outbox.drop_closed(db, draft.now)
                standing = _stand(db, prepared)
            outcome = self._report_epoch(db, prepared, standing, period, draft.answer, draft.now)
        if outcome is not Outcome.QUEUE_FULL:
            self._settled_in[prepared.manifest.collection] = _when(prepared, period)
        return outcome

    def _fill(
        self, db: sqlite3.Connection, prepared: PreparedCollection, standing: _Standing, now: float
    ) -> _Standing:
        """Let the default speak for epochs that ended in silence; where that leaves us."""
        if standing.consent != Consent.GRANTED or standing.forked or prepared.default is None:
            return standing
        if standing.collection_state.joined is None:
            joined = standing.collection_state._replace(joined=prepared.epoch(now))
            collection_state.save(db, prepared.manifest.collection, joined)
            return standing._replace(collection_state=joined)
        for epoch in prepared.overdue(standing.collection_state, now):
            self._report_epoch(
                db, prepared, standing, prepared.period(epoch), prepared.default, now
            )
            standing = _stand(db, prepared)
        return standing

    def _report_epoch(
        self,
        db: sqlite3.Connection,
        prepared: PreparedCollection,
        standing: _Standing,
        period: ReportingPeriod,
        answer: tuple[Encoded, bytes],
        now: float,
    ) -> Outcome:
        refusal = standing.refusal(prepared, period, self._most)
        if refusal is not None:
            return refusal
        pays = standing.affordable(prepared, self._most)
        result = randomize(prepared, standing.collection_state, period, answer, pays=pays)
        _write(db, prepared, period, result, now)
        return result.outcome


def _stand(db: sqlite3.Connection, prepared: PreparedCollection) -> _Standing:
    manifest = prepared.manifest
    row = db.execute(_STANDING, (manifest.collection, manifest.name)).fetchone()
    begun = CollectionState(*row[len(_OWN) :])
    return _Standing._make((*row[: len(_OWN)], begun))


def _write(
    db: sqlite3.Connection,
    prepared: PreparedCollection,
    period: ReportingPeriod,
    result: EpochResult,
    now: float,
) -> None:
    """Charge, queue, overwrite the keys."""
    manifest = prepared.manifest
    collection_state.save(db, manifest.collection, result.state)
    if result.paid:
        db.execute(_CHARGE, (prepared.cost, manifest.name))
    if result.payload is not None:
        place = (manifest.collection, period.epoch, manifest.version)
        times = (prepared.closes_at(period.epoch), _spread(*prepared.window(period.epoch, now)))
        db.execute(_QUEUE, (*place, result.report_id, result.payload, *times))


def _late(db: sqlite3.Connection, prepared: PreparedCollection, now: float) -> _Standing:
    """Keys for a collection that lost its row: the file was replaced under a running app."""
    join_account(db, prepared.manifest.name, prepared.manifest.ledger_group)
    collection_state.join(db, prepared.manifest, now)
    return _stand(db, prepared)


def _when(prepared: PreparedCollection, period: ReportingPeriod) -> int:
    """What a refusal holds for: an epoch, or for ever."""
    return 0 if prepared.manifest.repeat == "once" else period.epoch


def _spread(earliest: float, latest: float) -> float:
    """A moment drawn uniformly: when a report arrives does not show when it was recorded."""
    return earliest + (latest - earliest) * Coins.system().below(_SPREAD) / _SPREAD
