"""Answers questions to open sessions. Each record is stored before its answer is returned.

A session answers the planned number of different questions. The number of records counts them, so
it is the same after a restart and in every process.

The store keeps each record number once for all processes. If another process has stored the same
number first, this process discards its answer unseen, and answers again after the newer records.
"""

from __future__ import annotations

import json
import logging
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from deniable_aggregator.queries.releases import charge_by_id
from deniable_aggregator.releases.context import context_of, tallies_of
from deniable_aggregator.releases.request import (
    PrepareRelease,
    opens_session,
    prepare_release,
    request_terms,
)
from deniable_aggregator.releases.rollback_guard import NO_GUARD, RollbackGuard
from deniable_aggregator.releases.serialize import answer_document
from deniable_aggregator.store.protocols import Ledger, Reports
from deniable_central.errors import CentralError
from deniable_gateway.problem import Problem
from deniable_shared.errors import DecodeError, DomainError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.access.audit import AuditEntry
    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.releases import AnswerDocument
    from deniable_aggregator.releases.kinds.contract import PreparedSession, ReleaseContext, Session
    from deniable_aggregator.store.rows import ChargeRow

logger = logging.getLogger(__name__)

MOST_OPEN = 8
"""Sessions held in memory; others resume from their records."""

ATTEMPTS = 20

REFUSALS = (CentralError, DecodeError, DomainError, ParameterError)
"""The exceptions of a session that refuses a question."""

UNANSWERED = "the question could not be answered; you may ask it again, free of charge"


class ReleaseStore(Ledger, Reports, Protocol):
    """The store of reports, charges and results of releases."""


class _RecordTakenError(Exception):
    """Another process stored a record of this number first."""


@dataclass
class _SessionRecords:
    """Stores the records of one session from `number` on; the next one carries the audit entry."""

    store: Ledger
    release: str
    number: int
    taken: bool = False
    audit: AuditEntry | None = None

    def __call__(self, record: bytes) -> None:
        if not self.store.add_record(self.release, self.number, record, audit=self.audit):
            self.taken = True
            raise _RecordTakenError
        self.number += 1
        self.audit = None


class ReleaseSessions:
    """The sessions of one process. It answers one question at a time."""

    def __init__(
        self, store: ReleaseStore, *, prepare: PrepareRelease, guard: RollbackGuard = NO_GUARD
    ) -> None:
        self._store = store
        self._guard = guard
        self._prepare = prepare
        self._lock = threading.Lock()
        self._open: dict[str, tuple[Session, _SessionRecords]] = {}

    def ask(
        self,
        collection: Collection,
        release: str,
        question: Mapping[str, object],
        *,
        audit: AuditEntry | None,
    ) -> AnswerDocument:
        """The answer, and the number of questions left.

        Raises not-found, conflict (also for a new question after the last one), invalid-argument,
        ledger-behind, release-failed.
        """
        self._guard.advance()
        charged = charge_by_id(self._store, collection, release)
        self._refuse_expired(collection, charged)
        context = context_of(self._store, collection, charged.epochs)
        prepared = self._prepare_again(charged, context)
        try:
            with self._lock:
                return self._answer(collection, release, question, prepared, context, audit)
        except Problem:
            raise
        except REFUSALS as error:
            raise Problem("invalid-argument", str(error)) from error
        except Exception:
            logger.error("a question to release %s of %s failed", release, collection.id)  # noqa: TRY400  (an error of a draw may quote figures)
            raise Problem("release-failed", UNANSWERED, release=release) from None

    def left(self, collection: Collection, release: str) -> int:
        """The number of new questions that it still answers. Raises not-found, conflict."""
        charged = charge_by_id(self._store, collection, release)
        self._refuse_expired(collection, charged)
        prepared = self._prepare_again(charged, context_of(self._store, collection, charged.epochs))
        return _left(prepared, len(self._store.records(release)))

    def _refuse_expired(self, collection: Collection, charged: ChargeRow) -> None:
        """Raises Problem if the session has expired, and removes it from memory."""
        rows = self._store.epochs(collection.id)
        gone = {row.epoch for row in rows if row.expired_at is not None}
        if gone.intersection(charged.epochs):
            self._open.pop(charged.release, None)
            raise Problem(
                "conflict",
                f"release {charged.release} read epochs whose tallies are deleted: it takes no "
                "more questions",
            )

    def _prepare_again(self, charged: ChargeRow, context: ReleaseContext) -> PreparedSession:
        stored = json.loads(charged.terms)
        prepared = prepare_release(
            self._prepare, stored["mechanism"], stored["parameters"], context
        )
        fewest = self._guard.records_of(charged.release)
        records = self._store.records(charged.release)
        if len(records) < fewest:
            raise Problem(
                "conflict",
                f"release {charged.release} gave answers that this copy of the database lacks"
                ": it takes no more questions",
            )
        if not opens_session(prepared) or not records:
            raise Problem(
                "conflict",
                f"release {charged.release} takes no questions: it opened no session",
            )
        if request_terms(prepared) != charged.terms:
            raise Problem(
                "conflict",
                f"release {charged.release} was opened by another version of {prepared.mechanism}: "
                "it takes no more questions",
            )
        return prepared

    def _answer(
        self,
        collection: Collection,
        release: str,
        question: Mapping[str, object],
        prepared: PreparedSession,
        context: ReleaseContext,
        audit: AuditEntry | None,
    ) -> AnswerDocument:
        for _ in range(ATTEMPTS):
            session, session_records = self._resume(collection, release, prepared, context)
            session_records.audit = audit
            if not _left(prepared, session_records.number) and not session.knows(question):
                self._remember(release, session, session_records)
                raise _exhausted(prepared, release)
            try:
                result = session.ask(question)
            except Exception:
                if not session_records.taken:
                    raise
            else:
                self._remember(release, session, session_records)
                self._guard.advance_session(release, session_records.number)
                return answer_document(
                    release, result, questions_left=_left(prepared, session_records.number)
                )
        raise Problem(
            "unavailable", f"other processes are asking release {release}: try again", retry_after=1
        )

    def _resume(
        self,
        collection: Collection,
        release: str,
        prepared: PreparedSession,
        context: ReleaseContext,
    ) -> tuple[Session, _SessionRecords]:
        """The session, removed from the cache until it has answered; resumed if outdated."""
        if release in self._open:
            session, session_records = self._open.pop(release)
            if not self._store.records(release, session_records.number):
                return session, session_records
        tallies = tallies_of(self._store, collection, context)
        records = self._store.records(release)
        session_records = _SessionRecords(self._store, release, len(records))
        return prepared.resume(tallies, records, session_records), session_records

    def _remember(self, release: str, session: Session, session_records: _SessionRecords) -> None:
        while len(self._open) >= MOST_OPEN:
            del self._open[next(iter(self._open))]
        self._open[release] = session, session_records


def _left(prepared: PreparedSession, records: int) -> int:
    """Questions left. The first record opens the session; an older version may have too many."""
    return max(0, prepared.questions + 1 - records)


def _exhausted(prepared: PreparedSession, release: str) -> Problem:
    return Problem(
        "conflict",
        f"release {release} has answered the {prepared.questions:,} questions that it was made "
        "for: ask one of them again, or make another release with more questions",
    )
