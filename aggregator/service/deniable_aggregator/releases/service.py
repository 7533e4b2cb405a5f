"""Makes releases in this order: validate without the tally, look up, charge, draw, store, return.

    made before       the stored release, free
    charged before    a crash came between charge and result: drawn again, free; only the first
                      stored result is ever returned
    otherwise         the charge is committed, then the draw happens outside any transaction

Refusals, documents and log lines depend only on the draw and on public facts. If anything fails
after the charge, the answer and the log have one fixed sentence: the exception may contain counts.
"""

from __future__ import annotations

import logging
import secrets
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.access.audit import AuditEntry, with_details
from deniable_aggregator.base.spans import NO_TRACER, Tracer
from deniable_aggregator.queries.accounts import account_of, charge_of
from deniable_aggregator.queries.pooled_tallies import cells_of
from deniable_aggregator.releases.context import (
    ReleaseEpochs,
    close_epochs,
    context_of,
    require_enough,
    select_epochs,
    tallies_of,
)
from deniable_aggregator.releases.request import (
    PrepareRelease,
    ReleaseRequest,
    opens_session,
    prepare_release,
    request_digest,
    request_terms,
    tally_digest,
)
from deniable_aggregator.releases.rollback_guard import NO_GUARD, RollbackGuard
from deniable_aggregator.releases.serialize import (
    budget_document,
    canonical_bytes,
    planned_document,
    quote_document,
    release_document,
)
from deniable_aggregator.releases.sessions import ReleaseSessions, ReleaseStore
from deniable_aggregator.store.rows import ChargeRow, ResultRow
from deniable_central.accounting import AccountError, BudgetError
from deniable_central.guarantee import at_least, at_most
from deniable_gateway.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.releases import (
        PlannedDocument,
        QuoteDocument,
        ReleaseDocument,
    )
    from deniable_aggregator.releases.kinds.contract import (
        PreparedRelease,
        ReleaseContext,
        ReleaseResult,
        Tallies,
    )
    from deniable_shared.manifest.epochs import Clock

logger = logging.getLogger(__name__)

ID_BYTES = 8
SALT_BYTES = 32
FAILED = (
    "the release was charged but could not be made; repeat the request to make it, free of charge"
)


@dataclass(frozen=True, slots=True)
class StoredRelease:
    """A release as it is stored; `new` if this request made it."""

    row: ResultRow
    new: bool


def _ignore_outcome(outcome: str) -> None:
    """Count nothing, without metrics."""


@dataclass(frozen=True, slots=True)
class Observers:
    """Counts outcomes (made, repeated, or a problem's slug) and traces releases."""

    count: Callable[[str], None] = _ignore_outcome
    tracer: Tracer = NO_TRACER


NO_OBSERVERS = Observers()


class ReleaseService:
    """Releases over the collections of one store. Thread-safe."""

    def __init__(
        self,
        store: ReleaseStore,
        *,
        clock: Clock,
        prepare: PrepareRelease,
        entropy: Callable[[int], bytes] = secrets.token_bytes,
        guard: RollbackGuard = NO_GUARD,
        observers: Observers = NO_OBSERVERS,
    ) -> None:
        self._tracer = observers.tracer
        self._store = store
        self._clock = clock
        self._prepare = prepare
        self._entropy = entropy
        self._guard = guard
        self._count = observers.count
        self.sessions = ReleaseSessions(store, prepare=prepare, guard=guard)

    def quote(self, collection: Collection, request: ReleaseRequest) -> QuoteDocument:
        """The price, the error and the remaining budget. Nothing is charged."""
        with self._tracer.span("release") as span:
            span.collection = collection.id
            quote = self._quote(collection, request)
            span.outcome = "priced"
            return quote

    def _quote(self, collection: Collection, request: ReleaseRequest) -> QuoteDocument:
        epochs = select_epochs(self._store, collection, request.selection, self._clock())
        prepared, context = self._prepare_in_context(collection, request, epochs)
        planned = _planned_document(prepared, context, epochs)
        row = self._charge_row(collection, prepared, context)
        paid = self._store.charge_for(collection.id, row.request)
        account = account_of(collection, self._store.charges(collection.id))
        after, refusal = account, None
        if paid is None:
            try:
                after = account.charged(charge_of(row))
            except AccountError as error:
                refusal = str(error)
        return quote_document(
            planned,
            prepared.expected,
            budget=budget_document(account, context.epochs),
            after=None if refusal else budget_document(after, context.epochs),
            stored=None if paid is None else paid.release,
            refusal=refusal,
        )

    def release(
        self, collection: Collection, request: ReleaseRequest, *, audit: AuditEntry | None
    ) -> StoredRelease:
        """The release: a new one, or the one of the same earlier request.

        Raises invalid-argument, epoch-open, too-few-reports, budget-exhausted or ledger-behind
        before the charge, release-failed after it.
        """
        outcome = "internal"
        try:
            with self._tracer.span("release") as span:
                span.collection = collection.id
                release = self._make(collection, request, audit)
                span.outcome = outcome = "made" if release.new else "repeated"
                return release
        except Problem as problem:
            outcome = problem.slug
            raise
        finally:
            self._count(outcome)

    def _make(
        self, collection: Collection, request: ReleaseRequest, audit: AuditEntry | None
    ) -> StoredRelease:
        self._guard.advance()
        epochs = close_epochs(self._store, collection, request.selection, self._clock())
        prepared, context = self._prepare_in_context(collection, request, epochs)
        planned = _planned_document(prepared, context, epochs)
        charged = self._charge(collection, self._charge_row(collection, prepared, context), audit)
        stored = self._store.result(charged.release)
        if stored is not None:
            return StoredRelease(stored, new=False)
        self._guard.advance()  # heads.json must have the charge before the draw
        try:
            result, record = _draw(prepared, tallies_of(self._store, collection, context))
            release = self._store_release(
                release_document(charged.release, charged.created, planned, result), record
            )
            self._guard.advance()  # and the result
            return release
        except Exception:
            logger.error("release %s of %s failed", charged.release, collection.id)  # noqa: TRY400  (an error of a draw may quote figures)
            raise Problem("release-failed", FAILED, release=charged.release) from None

    def _prepare_in_context(
        self, collection: Collection, request: ReleaseRequest, epochs: ReleaseEpochs
    ) -> tuple[PreparedRelease, ReleaseContext]:
        context = context_of(self._store, collection, epochs.read)
        require_enough(collection, context)
        return prepare_release(
            self._prepare, request.mechanism, request.arguments, context
        ), context

    def _charge_row(
        self, collection: Collection, prepared: PreparedRelease, context: ReleaseContext
    ) -> ChargeRow:
        """The charge, under an id that reveals neither time nor counts."""
        tally = tally_digest(cells_of(self._store, collection, context.epochs))
        price = prepared.guarantee
        return ChargeRow(
            collection=collection.id,
            release=self._entropy(ID_BYTES).hex(),
            request=request_digest(collection, prepared, context.epochs, tally=tally),
            terms=request_terms(prepared),
            epochs=context.epochs,
            epsilon=None if price.epsilon is None else str(price.epsilon),
            rho=None if price.rho is None else str(price.rho),
            delta=str(price.delta),
            adjacency=str(price.adjacency),
            created=int(self._clock()),
        )

    def _charge(
        self, collection: Collection, row: ChargeRow, audit: AuditEntry | None
    ) -> ChargeRow:
        paid = self._store.charge_for(collection.id, row.request)
        if paid is not None:
            return paid
        decide = _BudgetCheck(collection, row)
        with suppress(AccountError):  # refused only inside: another request may pay meanwhile
            decide(self._store.charges(collection.id))
        try:
            return self._store.charge(row, decide, audit=with_details(audit, release=row.release))
        except BudgetError as error:
            raise _exhausted(error) from error
        except AccountError as error:
            raise Problem("invalid-argument", str(error)) from error

    def _store_release(self, document: ReleaseDocument, record: bytes | None) -> StoredRelease:
        row = ResultRow(document.release, self._entropy(SALT_BYTES), canonical_bytes(document))
        first = self._store.store_result(row, record)
        return StoredRelease(first, new=first.salt == row.salt)


def _planned_document(
    prepared: PreparedRelease, context: ReleaseContext, epochs: ReleaseEpochs
) -> PlannedDocument:
    """The document without the draw. If it cannot be written, nothing is charged."""
    try:
        document = planned_document(prepared, context, too_few=epochs.too_few)
    except AccountError as error:
        raise Problem("invalid-argument", str(error)) from error
    canonical_bytes(document)
    return document


def _draw(prepared: PreparedRelease, tallies: Tallies) -> tuple[ReleaseResult, bytes | None]:
    """The result and, for a session, its first record: the two are stored together."""
    if not opens_session(prepared):
        return prepared.draw(tallies), None
    records: list[bytes] = []
    _, result = prepared.open(tallies, records.append)
    [record] = records
    return result, record


def _exhausted(error: BudgetError) -> Problem:
    short = error.shortage
    return Problem(
        "budget-exhausted",
        str(error),
        currency=short.currency,
        limit=at_least(short.limit),
        spent=None if short.spent is None else at_most(short.spent),
        asked=None if short.requested is None else at_most(short.requested),
        left=at_least(short.left),
        releases=list(short.releases),
    )


class _BudgetCheck:
    """Raises BudgetError if the budget has no room for one more charge.

    A call before the writing transaction makes the call inside quick: charges are append-only, so
    as many as before are the same.
    """

    def __init__(self, collection: Collection, row: ChargeRow) -> None:
        self._collection = collection
        self._charge = charge_of(row)
        self._admitted: int | None = None

    def __call__(self, rows: Sequence[ChargeRow]) -> None:
        if len(rows) != self._admitted:
            account_of(self._collection, rows).charged(self._charge)
            self._admitted = len(rows)
