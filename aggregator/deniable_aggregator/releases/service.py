"""The order of things: validate without the tally, look up, charge, draw, keep, show.

    made before       the stored release, free
    charged before    a crash lay between charge and result: drawn again, free; the first result
                      that is kept is the only one that is ever shown
    otherwise         the charge is committed, then the draw happens outside any transaction

Refusals, documents and log lines are functions of the draw and of public facts. Whatever fails
behind the charge is answered, and logged, with one fixed sentence: its own words may tell counts.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from deniable_aggregator.access.audit import AuditEntry, detailed
from deniable_aggregator.central.accounting import AccountError, BudgetError
from deniable_aggregator.central.accounting.decimals import at_least, at_most
from deniable_aggregator.documents.releases import PlannedDocument, QuoteDocument, ReleaseDocument
from deniable_aggregator.queries.accounts import account_of, charge_of
from deniable_aggregator.queries.pooled_tallies import cells_of
from deniable_aggregator.registry import Collection
from deniable_aggregator.releases.context import (
    EpochSet,
    epochs_of,
    facts_of,
    require_enough,
    settled,
    tallies_of,
)
from deniable_aggregator.releases.kinds.contract import Drawn, Facts, Plan, Tallies
from deniable_aggregator.releases.request import (
    Planner,
    Request,
    opens_session,
    planned,
    request_digest,
    tally_digest,
    terms,
)
from deniable_aggregator.releases.rollback_guard import UNWATCHED, Witness
from deniable_aggregator.releases.serialize import (
    budget_left,
    kept,
    priced,
    public,
    released,
)
from deniable_aggregator.releases.sessions import ReleaseStore, Sessions
from deniable_aggregator.spans import NO_TRACER, Tracer
from deniable_aggregator.store.rows import ChargeRow, ResultRow
from deniable_gateway.problem import Problem
from deniable_shared.epochs import Clock

logger = logging.getLogger(__name__)

ID_BYTES = 8
SALT_BYTES = 32
FAILED = (
    "the release was charged and could not be made; the same request again makes it, at no cost"
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A release as it is kept; `new` if this request made it."""

    row: ResultRow
    new: bool


def _uncounted(outcome: str) -> None:
    """Where there are no metrics."""


class Releases:
    """Releases over the collections of one store. Thread-safe."""

    def __init__(
        self,
        store: ReleaseStore,
        *,
        clock: Clock,
        plan: Planner,
        entropy: Callable[[int], bytes] = secrets.token_bytes,
        heads: Witness = UNWATCHED,
        count: Callable[[str], None] = _uncounted,
        tracer: Tracer = NO_TRACER,
    ) -> None:
        """`count` takes the outcome of each release: made, repeated, or a problem's slug."""
        self._tracer = tracer
        self._store = store
        self._clock = clock
        self._planner = plan
        self._entropy = entropy
        self._heads = heads
        self._count = count
        self.sessions = Sessions(store, plan=plan, heads=heads)

    def quote(self, collection: Collection, request: Request) -> QuoteDocument:
        """What it would cost, how far off it may be, what is left. Nothing is charged."""
        with self._tracer.span("release") as span:
            span.collection = collection.id
            priced = self._priced(collection, request)
            span.outcome = "priced"
            return priced

    def _priced(self, collection: Collection, request: Request) -> QuoteDocument:
        epochs = epochs_of(self._store, collection, request.selection, self._clock())
        plan, facts = self._valid(collection, request, epochs)
        known = _sayable(plan, facts, epochs)
        row = self._row(collection, plan, facts)
        paid = self._store.charge_for(collection.id, row.request)
        account = account_of(collection, self._store.charges(collection.id))
        after, refusal = account, None
        if paid is None:
            try:
                after = account.charged(charge_of(row))
            except AccountError as error:
                refusal = str(error)
        return priced(
            known,
            plan.expected,
            budget=budget_left(account, facts.epochs),
            after=None if refusal else budget_left(after, facts.epochs),
            stored=None if paid is None else paid.release,
            refusal=refusal,
        )

    def release(
        self, collection: Collection, request: Request, *, audit: AuditEntry | None
    ) -> Shown:
        """Problem: invalid-argument, epoch-open, too-few-reports, budget-exhausted, ledger-behind
        before the charge, release-failed behind it."""
        outcome = "internal"
        try:
            with self._tracer.span("release") as span:
                span.collection = collection.id
                shown = self._made(collection, request, audit)
                span.outcome = outcome = "made" if shown.new else "repeated"
                return shown
        except Problem as problem:
            outcome = problem.slug
            raise
        finally:
            self._count(outcome)

    def _made(self, collection: Collection, request: Request, audit: AuditEntry | None) -> Shown:
        self._heads.keep()
        epochs = settled(self._store, collection, request.selection, self._clock())
        plan, facts = self._valid(collection, request, epochs)
        known = _sayable(plan, facts, epochs)
        charged = self._charged(collection, self._row(collection, plan, facts), audit)
        stored = self._store.result(charged.release)
        if stored is not None:
            return Shown(stored, new=False)
        self._heads.keep()  # what is drawn must be known as charged outside of the database too
        try:
            drawn, record = _draw(plan, tallies_of(self._store, collection, facts))
            shown = self._kept(released(charged.release, charged.created, known, drawn), record)
            self._heads.keep()  # and what is shown as drawn
            return shown
        except Exception:
            logger.error("release %s of %s failed", charged.release, collection.id)
            raise Problem("release-failed", FAILED, release=charged.release) from None

    def _valid(
        self, collection: Collection, request: Request, epochs: EpochSet
    ) -> tuple[Plan, Facts]:
        facts = facts_of(self._store, collection, epochs.read)
        require_enough(collection, facts)
        return planned(self._planner, request.mechanism, request.arguments, facts), facts

    def _row(self, collection: Collection, plan: Plan, facts: Facts) -> ChargeRow:
        """The charge, under an id that tells neither time nor counts."""
        tally = tally_digest(cells_of(self._store, collection, facts.epochs))
        price = plan.guarantee
        return ChargeRow(
            collection=collection.id,
            release=self._entropy(ID_BYTES).hex(),
            request=request_digest(collection, plan, facts.epochs, tally=tally),
            terms=terms(plan),
            epochs=facts.epochs,
            epsilon=None if price.epsilon is None else str(price.epsilon),
            rho=None if price.rho is None else str(price.rho),
            delta=str(price.delta),
            adjacency=str(price.adjacency),
            created=int(self._clock()),
        )

    def _charged(
        self, collection: Collection, row: ChargeRow, audit: AuditEntry | None
    ) -> ChargeRow:
        known = self._store.charge_for(collection.id, row.request)
        if known is not None:
            return known
        decide = _Decider(collection, row)
        with suppress(AccountError):  # refused inside only: the same request may pay meanwhile
            decide(self._store.charges(collection.id))
        try:
            return self._store.charge(row, decide, audit=detailed(audit, release=row.release))
        except BudgetError as error:
            raise _exhausted(error) from error
        except AccountError as error:
            raise Problem("invalid-argument", str(error)) from error

    def _kept(self, document: ReleaseDocument, record: bytes | None) -> Shown:
        row = ResultRow(document.release, self._entropy(SALT_BYTES), kept(document))
        first = self._store.store_result(row, record)
        return Shown(first, new=first.salt == row.salt)


def _sayable(plan: Plan, facts: Facts, epochs: EpochSet) -> PlannedDocument:
    """What will be said of the release whatever is drawn: what cannot be said is not charged."""
    try:
        known = public(plan, facts, too_few=epochs.too_few)
    except AccountError as error:
        raise Problem("invalid-argument", str(error)) from error
    kept(known)
    return known


def _draw(plan: Plan, tallies: Tallies) -> tuple[Drawn, bytes | None]:
    """The answer and, of a session, the record it stands on: the two are kept together."""
    if not opens_session(plan):
        return plan.draw(tallies), None
    records: list[bytes] = []
    _, drawn = plan.open(tallies, records.append)
    [record] = records
    return drawn, record


def _exhausted(error: BudgetError) -> Problem:
    short = error.shortage
    return Problem(
        "budget-exhausted",
        str(error),
        currency=short.currency,
        limit=at_least(short.limit),
        spent=None if short.spent is None else at_most(short.spent),
        asked=None if short.asked is None else at_most(short.asked),
        left=at_least(short.left),
        releases=list(short.releases),
    )


class _Decider:
    """Raises BudgetError where the charges leave no room for one more.

    Called before the writing transaction, it is quick inside: charges are append-only, so as many
    as before are the same.
    """

    def __init__(self, collection: Collection, row: ChargeRow) -> None:
        self._collection = collection
        self._charge = charge_of(row)
        self._admitted: int | None = None

    def __call__(self, rows: Sequence[ChargeRow]) -> None:
        if len(rows) != self._admitted:
            account_of(self._collection, rows).charged(self._charge)
            self._admitted = len(rows)
