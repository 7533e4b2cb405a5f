"""Turns a value into a randomized payload in the queue. The only module that randomizes.

One transaction reads, randomizes, charges, queues and overwrites the keys. After any interruption,
either all of that happened or nothing did. The value itself is never stored, logged or put into an
error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from deniable_client._recording.randomize import EpochResult, begins_hold, randomize
from deniable_client._state import collection_state, outbox
from deniable_client._state.collection_state import CollectionState
from deniable_client.budget import join_account, millionths
from deniable_client.consent import Consent
from deniable_client.outcome import Outcome
from deniable_shared.randomness.coins import Coins

if TYPE_CHECKING:
    import sqlite3

    from deniable_client._recording.known_collections import KnownCollections
    from deniable_client._recording.prepared_collection import Encoded, PreparedCollection
    from deniable_client._recording.repeat_rules import ReportingPeriod
    from deniable_client._state.installation import ConsentGate
    from deniable_client._state.state import State
    from deniable_client.ceiling import Ceiling
    from deniable_shared.manifest.epochs import Clock

_CHARGE = "UPDATE name SET spent = spent + ? WHERE name = ?"
_QUEUE = (
    "INSERT INTO outbox"
    " (collection, epoch, manifest_version, state, report_id, payload, closes_at, send_at)"
    " VALUES (?, ?, ?, 'waiting', ?, ?, ?, ?)"
)
_MOMENT_STEPS = 1 << 32
_FINAL = frozenset({Outcome.ALREADY_ANSWERED, Outcome.NOT_SAMPLED})


class _Eligibility(NamedTuple):
    """The state that decides whether this installation may answer a collection. ε in millionths."""

    consent: str
    forked: str | None
    account_spent: int | None
    spent: int | None
    waiting: int
    waiting_here: int
    collection_state: CollectionState

    def refusal(
        self, prepared: PreparedCollection, period: ReportingPeriod, lifetime_limit: int
    ) -> Outcome | None:
        """Why the epoch gets no report, or None."""
        if self.consent != Consent.GRANTED:
            return Outcome.NO_CONSENT
        if self.forked is not None:
            return Outcome.LOG_FORKED
        refusal = prepared.repeat_rule.refusal(self.collection_state, period)
        if refusal is not None:
            return refusal
        if not self.served(prepared, period, lifetime_limit):
            return Outcome.BUDGET_EXHAUSTED
        return Outcome.QUEUE_FULL if self._full() else None

    def served(
        self, prepared: PreparedCollection, period: ReportingPeriod, lifetime_limit: int
    ) -> bool:
        """Whether there is an answer to send, or budget for one."""
        free = (
            not begins_hold(self.collection_state, period)
            or self.collection_state.permanent is not None
        )
        return free or self.affordable(prepared, lifetime_limit)

    def affordable(self, prepared: PreparedCollection, lifetime_limit: int) -> bool:
        account, total_spent = self.account_spent or 0, self.spent or 0
        return (
            account + prepared.cost <= prepared.limit
            and total_spent + prepared.cost <= lifetime_limit
        )

    def _full(self) -> bool:
        return self.waiting >= outbox.MAX_WAITING or self.waiting_here >= outbox.MAX_WAITING_HERE


_COLUMNS = {
    **{name: f"c.{name}" for name in CollectionState._fields},
    "consent": "i.consent",
    "forked": "i.forked",
    "account_spent": "(SELECT sum(spent) FROM name WHERE account = n.account)",
    "spent": "(SELECT sum(spent) FROM name)",
    "waiting": "(SELECT count(*) FROM outbox WHERE payload IS NOT NULL)",
    "waiting_here": (
        "(SELECT count(*) FROM outbox WHERE payload IS NOT NULL AND collection = :collection)"
    ),
    "at": "coalesce(c.at, 0)",
    "highest": "(SELECT max(epoch) FROM outbox WHERE collection = :collection)",
}
"""Field → SQL. The fields order the statement: looking up 17 names costs 8 µs a call."""

_OWN_FIELDS = _Eligibility._fields[:-1]
_ELIGIBILITY = f"""
    SELECT {", ".join(_COLUMNS[name] for name in (*_OWN_FIELDS, *CollectionState._fields))}
    FROM installation i LEFT JOIN name n ON n.name = :name
    LEFT JOIN course c ON c.collection = :collection
"""  # noqa: S608  (the names in it are fixed)


@dataclass(frozen=True, slots=True)
class EncodedAnswer:
    """A value in its encoded form, which is only ever passed to the randomizer."""

    prepared: PreparedCollection
    answer: tuple[Encoded, bytes]
    now: float

    @property
    def period(self) -> ReportingPeriod:
        """The epoch that the answer belongs to."""
        return self.prepared.period(self.prepared.epoch(self.now))


class Recorder:
    """Records answers of one installation. Each thread and process may have its own Recorder."""

    def __init__(
        self,
        state: State,
        *,
        gate: ConsentGate,
        collections: KnownCollections,
        ceiling: Ceiling,
        clock: Clock,
    ) -> None:
        self._state = state
        self._gate = gate
        self._collections = collections
        self._clock = clock
        self._lifetime_limit = millionths(ceiling.epsilon_lifetime)
        self._settled_scopes: dict[str, int] = {}

    def record(self, name_or_id: str, value: object) -> Outcome:
        """See `Client.record`. Raises StorageError if the state cannot be used."""
        refusal = self._gate.refusal()
        if refusal is not None:
            return refusal
        encoded = self.examine(name_or_id, value)
        if isinstance(encoded, Outcome):
            return encoded
        collection = encoded.prepared.manifest.collection
        if self._settled_scopes.get(collection) == _refusal_scope(encoded.prepared, encoded.period):
            refusal = self._standing_refusal(encoded)
            if refusal is not None:
                return refusal
        return self._answer(encoded)

    def examine(self, name_or_id: str, value: object) -> EncodedAnswer | Outcome:
        """Return the encoded value, or the outcome if the value or the collection is wrong."""
        now = self._clock()
        prepared = self._collections.find(name_or_id, now)
        if isinstance(prepared, Outcome):
            return prepared
        try:
            answer = prepared.encode(value)
        except Exception:  # a host's own Mapping may raise anything, with the value in its text
            return Outcome.INVALID_VALUE
        return EncodedAnswer(prepared, answer, now)

    def record_defaults(self) -> None:
        """Record the default for each epoch of an `always` collection without an answer."""
        for prepared in self._collections.always(self._clock()):
            if self._overdue(prepared):
                with self._state.transaction() as db:
                    self._record_defaults(
                        db, prepared, _read_eligibility(db, prepared), self._clock()
                    )

    def _standing_refusal(self, encoded: EncodedAnswer) -> Outcome | None:
        """Return the refusal, read without the write lock that other processes may hold."""
        with self._state.reading() as db:
            eligibility = _read_eligibility(db, encoded.prepared)
        refusal = eligibility.refusal(encoded.prepared, encoded.period, self._lifetime_limit)
        if refusal is Outcome.QUEUE_FULL or (encoded.prepared.always and refusal not in _FINAL):
            return None
        return refusal

    def _overdue(self, prepared: PreparedCollection) -> bool:
        with self._state.reading() as db:
            eligibility = _read_eligibility(db, prepared)
        now, state = self._clock(), eligibility.collection_state
        if state.joined is None:
            return prepared.live(now)
        periods = map(prepared.period, prepared.overdue(state.joined, state.highest, now=now))
        return any(
            eligibility.refusal(prepared, period, self._lifetime_limit) is None
            for period in periods
        )

    def _answer(self, encoded: EncodedAnswer) -> Outcome:
        prepared, period = encoded.prepared, encoded.period
        with self._state.transaction() as db:
            eligibility = _read_eligibility(db, prepared)
            if eligibility.collection_state.key is None and eligibility.consent == Consent.GRANTED:
                eligibility = _join_late(db, prepared, encoded.now)
            if prepared.always:
                eligibility = self._record_defaults(db, prepared, eligibility, encoded.now)
            if eligibility.refusal(prepared, period, self._lifetime_limit) is Outcome.QUEUE_FULL:
                outbox.drop_closed(db, encoded.now)
                eligibility = _read_eligibility(db, prepared)
            outcome = self._report_epoch(
                db, prepared, eligibility, period, encoded.answer, encoded.now
            )
        if outcome is not Outcome.QUEUE_FULL:
            self._settled_scopes[prepared.manifest.collection] = _refusal_scope(prepared, period)
        return outcome

    def _record_defaults(
        self,
        db: sqlite3.Connection,
        prepared: PreparedCollection,
        eligibility: _Eligibility,
        now: float,
    ) -> _Eligibility:
        """Record the default for past epochs without an answer. Returns the new eligibility."""
        if eligibility.consent != Consent.GRANTED or eligibility.forked or prepared.default is None:
            return eligibility
        state = eligibility.collection_state
        if state.joined is None:
            joined = state._replace(joined=prepared.epoch(now))
            collection_state.save(db, prepared.manifest.collection, joined)
            return eligibility._replace(collection_state=joined)
        for epoch in prepared.overdue(state.joined, state.highest, now=now):
            self._report_epoch(
                db, prepared, eligibility, prepared.period(epoch), prepared.default, now
            )
            eligibility = _read_eligibility(db, prepared)
        return eligibility

    def _report_epoch(
        self,
        db: sqlite3.Connection,
        prepared: PreparedCollection,
        eligibility: _Eligibility,
        period: ReportingPeriod,
        answer: tuple[Encoded, bytes],
        now: float,
    ) -> Outcome:
        refusal = eligibility.refusal(prepared, period, self._lifetime_limit)
        if refusal is not None:
            return refusal
        pays = eligibility.affordable(prepared, self._lifetime_limit)
        result = randomize(prepared, eligibility.collection_state, period, answer, pays=pays)
        _save(db, prepared, period, result, now)
        return result.outcome


def _read_eligibility(db: sqlite3.Connection, prepared: PreparedCollection) -> _Eligibility:
    manifest = prepared.manifest
    named = {"collection": manifest.collection, "name": manifest.name}
    row = db.execute(_ELIGIBILITY, named).fetchone()
    state = CollectionState(*row[len(_OWN_FIELDS) :])
    return _Eligibility._make((*row[: len(_OWN_FIELDS)], state))


def _save(
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
        times = (
            prepared.closes_at(period.epoch),
            _random_moment(*prepared.window(period.epoch, now)),
        )
        db.execute(_QUEUE, (*place, result.report_id, result.payload, *times))


def _join_late(db: sqlite3.Connection, prepared: PreparedCollection, now: float) -> _Eligibility:
    """Make keys for a collection without a row: the file was replaced while the app ran."""
    join_account(db, prepared.manifest.name, prepared.manifest.ledger_group)
    collection_state.join(db, prepared.manifest, now)
    return _read_eligibility(db, prepared)


def _refusal_scope(prepared: PreparedCollection, period: ReportingPeriod) -> int:
    """Return what a refusal applies to: one epoch, or all."""
    return 0 if prepared.manifest.repeat == "once" else period.epoch


def _random_moment(earliest: float, latest: float) -> float:
    """Return a random moment: arrival must not reveal when a report was recorded."""
    return earliest + (latest - earliest) * Coins.system().below(_MOMENT_STEPS) / _MOMENT_STEPS
