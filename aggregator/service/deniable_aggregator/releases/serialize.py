"""The documents of a release and of its price.

Every field depends only on public facts, except `result` and `error_bars`, which depend on the
draw. A release is stored, and hashed into the log, as canonical JSON.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from deniable_aggregator.documents.releases import (
    AnswerDocument,
    BarDocument,
    BudgetDocument,
    PlannedDocument,
    PromiseDocument,
    QuoteDocument,
    ReleaseDocument,
    TypicalErrorDocument,
)
from deniable_aggregator.queries.guarantees import guarantee_document, remaining_document
from deniable_aggregator.releases.request import has_typical_errors, opens_session
from deniable_central.accounting import Account, Promise, Spending, promise
from deniable_central.guarantee import at_most
from deniable_shared.wire.canonical import canonical_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deniable_aggregator.releases.kinds.contract import (
        PreparedRelease,
        ReleaseContext,
        ReleaseResult,
    )
    from deniable_central.release import ErrorBar

READERS = "readers who are not the operator"
EVERYBODY = "everybody who may read, the operator included"


def planned_document(
    prepared: PreparedRelease, context: ReleaseContext, *, too_few: Sequence[int] = ()
) -> PlannedDocument:
    """The part of a release's document that is known before the draw.

    `too_few`: requested epochs that are not read, because they have fewer than `min_batch` reports.
    """
    return PlannedDocument(
        collection=context.collection,
        mechanism=prepared.mechanism,
        version=prepared.version,
        parameters=dict(prepared.parameters),
        epochs=list(context.epochs),
        n=context.n,
        too_few_reports=list(too_few) if too_few else UNSET,
        law=prepared.law,
        unit="one report",
        adjacency=str(prepared.guarantee.adjacency),
        guarantee=guarantee_document(prepared.guarantee),
        promise=_promise_document(
            promise(prepared.guarantee, context.installation, read=context.read), context
        ),
        questions=opens_session(prepared),
        typical_errors=(
            [TypicalErrorDocument(**asdict(error)) for error in prepared.typical]
            if has_typical_errors(prepared)
            else UNSET
        ),
    )


def release_document(
    release: str, created: int, planned: PlannedDocument, result: ReleaseResult
) -> ReleaseDocument:
    """The document of a release, which is stored and answered from then on."""
    return ReleaseDocument(
        **msgspec.structs.asdict(planned),
        release=release,
        created=created,
        result=dict(result.result),
        error_bars=_bar_documents(result.error_bars),
    )


def canonical_bytes(document: PlannedDocument) -> bytes:
    """The canonical JSON that is stored and hashed. Raises ValueError if it has none."""
    return canonical_json(msgspec.to_builtins(document))


def answer_document(release: str, result: ReleaseResult, *, questions_left: int) -> AnswerDocument:
    """The answer to a question in an open session."""
    return AnswerDocument(
        release, dict(result.result), _bar_documents(result.error_bars), questions_left
    )


def quote_document(
    planned: PlannedDocument,
    expected: Iterable[ErrorBar],
    *,
    budget: BudgetDocument,
    after: BudgetDocument | None,
    stored: str | None,
    refusal: str | None,
) -> QuoteDocument:
    """The price and the error of a release that is not charged.

    `after`: the budget afterwards; unchanged if it is already paid for, None if it is refused.
    """
    return QuoteDocument(
        **msgspec.structs.asdict(planned),
        expected=_bar_documents(expected),
        budget=budget,
        after=after,
        stored=stored,
        refusal=refusal,
    )


def budget_document(account: Account, epochs: Iterable[int]) -> BudgetDocument:
    """The budget for a release of these epochs: of the epoch with least left, and of one device."""
    spent = [account.spent(epoch) for epoch in epochs]
    budget = account.budget
    return BudgetDocument(
        epoch=remaining_document(budget.of_epoch, _worst(spent)),
        installation=remaining_document(budget.of_installation, account.spent_by_installation()),
    )


def _bar_documents(bars: Iterable[ErrorBar]) -> list[BarDocument]:
    """Error bars as documents; a missing or infinite end is null."""
    return [
        BarDocument(
            quantity=bar.quantity,
            lower=_finite(bar.lower),
            upper=_finite(bar.upper),
            confidence=float(bar.confidence),
        )
        for bar in bars
    ]


def _promise_document(promised: Promise, context: ReleaseContext) -> PromiseDocument:
    """The guarantee as a document. It covers true values only if only releases may be read."""
    sealed = context.read == "releases"
    return PromiseDocument(
        protects="reports and true values" if sealed else "local only",
        against=READERS if sealed else EVERYBODY,
        reports=promised.reports,
        report=guarantee_document(promised.report),
        installation=(
            None if promised.installation is None else guarantee_document(promised.installation)
        ),
        local=at_most(promised.local),
        true_values=guarantee_document(promised.true_values) if sealed else None,
    )


def _worst(spent: Sequence[Spending]) -> Spending:
    epsilons = [each.epsilon for each in spent if each.epsilon is not None]
    return Spending(
        max(epsilons) if len(epsilons) == len(spent) else None,
        max(each.rho for each in spent),
        max(each.delta for each in spent),
    )


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
