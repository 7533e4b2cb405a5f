"""From a value to a randomized payload in the queue: the only place where coins are tossed.

One transaction looks, tosses, charges, queues and overwrites the key; whatever interrupts it,
either all of that happened or nothing did. The value itself is never stored, logged or put into an
error.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import NamedTuple

from deniable_client import keychain, outbox
from deniable_client.budget import join_account, millionths
from deniable_client.ceiling import Ceiling
from deniable_client.consent import Consent
from deniable_client.installation import Gate
from deniable_client.outcome import Outcome
from deniable_client.question import Encoded, Question
from deniable_client.shelf import Shelf
from deniable_client.state import State
from deniable_shared.coins import Coins
from deniable_shared.epochs import Clock

__all__ = ["Draft", "Recorder"]

_STANDING = """
    SELECT i.consent, i.forked, n.key,
           (SELECT sum(spent) FROM name WHERE account = n.account),
           (SELECT sum(spent) FROM name),
           (SELECT max(epoch) FROM outbox WHERE collection = ?),
           (SELECT count(*) FROM outbox WHERE payload IS NOT NULL)
    FROM installation i LEFT JOIN name n ON n.name = ?
"""
_CHARGE = "UPDATE name SET spent = spent + ?, key = ? WHERE name = ?"
_QUEUE = (
    "INSERT INTO outbox"
    " (collection, epoch, manifest_version, state, report_id, payload, closes_at, send_at)"
    " VALUES (?, ?, ?, 'waiting', ?, ?, ?, ?)"
)
_SPREAD = 1 << 32


class _Standing(NamedTuple):
    """Where this installation stands towards one question. ε in millionths."""

    consent: str
    forked: str | None
    key: bytes | None
    account_spent: int | None
    spent: int | None
    highest_epoch: int | None
    waiting: int

    def refusal(self, question: Question, epoch: int, most: int) -> Outcome | None:
        """Why this answer must not be tossed, or None."""
        if self.consent != Consent.GRANTED:
            return Outcome.NO_CONSENT
        if self.forked is not None:
            return Outcome.LOG_FORKED
        refusal = question.repeat.refusal(self.highest_epoch, epoch)
        if refusal is not None:
            return refusal
        if not self._affordable(question, most):
            return Outcome.BUDGET_EXHAUSTED
        return Outcome.QUEUE_FULL if self.waiting >= outbox.MAX_WAITING else None

    def _affordable(self, question: Question, most: int) -> bool:
        account, everything = self.account_spent or 0, self.spent or 0
        return account + question.cost <= question.limit and everything + question.cost <= most


@dataclass(frozen=True, slots=True)
class Draft:
    """A value in its encoded form, on its way to the coins and no further."""

    question: Question
    encoded: Encoded
    canonical: bytes
    now: float

    @property
    def epoch(self) -> int:
        """The epoch it belongs to."""
        return self.question.epoch(self.now)


class Recorder:
    """Records answers of one installation. Every thread and process may have its own."""

    def __init__(
        self, state: State, *, gate: Gate, shelf: Shelf, ceiling: Ceiling, clock: Clock
    ) -> None:
        self._state = state
        self._gate = gate
        self._shelf = shelf
        self._clock = clock
        self._most = millionths(ceiling.epsilon_lifetime)
        self._answered: set[str] = set()

    def record(self, name_or_id: str, value: object) -> Outcome:
        """See `Client.record`. StorageError when the state cannot be used."""
        refusal = self._gate.refusal()
        if refusal is not None:
            return refusal
        examined = self.examine(name_or_id, value)
        if isinstance(examined, Outcome):
            return examined
        if examined.question.manifest.collection in self._answered:
            settled = self._settled(examined)
            if settled is not None:
                return settled
        return self._answer(examined)

    def examine(self, name_or_id: str, value: object) -> Draft | Outcome:
        """The value in its encoded form, or what is wrong with it or with the question."""
        now = self._clock()
        question = self._shelf.find(name_or_id, now)
        if isinstance(question, Outcome):
            return question
        try:
            encoded, canonical = question.encode(value)
        except Exception:  # a host's own Mapping may raise anything, with the value in its text
            return Outcome.INVALID_VALUE
        return Draft(question, encoded, canonical, now)

    def _settled(self, draft: Draft) -> Outcome | None:
        """The refusal, found without the write lock that other processes may be waiting for."""
        with self._state.reading() as db:
            standing = _stand(db, draft.question)
        return standing.refusal(draft.question, draft.epoch, self._most)

    def _answer(self, draft: Draft) -> Outcome:
        with self._state.transaction() as db:
            standing = _stand(db, draft.question)
            refusal = standing.refusal(draft.question, draft.epoch, self._most)
            if refusal is None:
                _commit_to(db, draft, standing.key or _late_key(db, draft.question))
        if refusal in (None, Outcome.ALREADY_ANSWERED):
            self._answered.add(draft.question.manifest.collection)
        return refusal or Outcome.QUEUED


def _stand(db: sqlite3.Connection, question: Question) -> _Standing:
    row = db.execute(_STANDING, (question.manifest.collection, question.manifest.name))
    return _Standing(*row.fetchone())


def _commit_to(db: sqlite3.Connection, draft: Draft, key: bytes) -> None:
    """Toss, charge, overwrite the key, queue."""
    question, epoch = draft.question, draft.epoch
    manifest = question.manifest
    hold = question.repeat.hold(epoch)
    coins = keychain.coins(key, identity=question.identity, hold=hold, value=draft.canonical)
    payload = question.mechanism.randomize(draft.encoded, coins)
    report_id = keychain.report_id(key, collection=manifest.collection, epoch=epoch)
    closes, send_at = question.closes_at(epoch), _spread(draft.now, question.latest_send(epoch))
    db.execute(_CHARGE, (question.cost, keychain.step(key), manifest.name))
    place = (manifest.collection, epoch, manifest.version)
    db.execute(_QUEUE, (*place, report_id, payload, closes, send_at))


def _late_key(db: sqlite3.Connection, question: Question) -> bytes:
    """A key for a name that has lost its row: the file was replaced under a running app."""
    join_account(db, question.manifest.name, question.manifest.ledger_group)
    return keychain.new_key()


def _spread(now: float, latest: float) -> float:
    """A moment drawn uniformly: when a report arrives does not show when it was recorded."""
    return now + max(0.0, latest - now) * Coins.system().below(_SPREAD) / _SPREAD
