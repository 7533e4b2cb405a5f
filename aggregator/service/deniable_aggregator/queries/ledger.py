"""Documents of the ledger: the budgets of releases, and what each release spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.documents.releases import (
    AccountDocument,
    ReconciledCharge,
    SpentEpochsDocument,
)
from deniable_aggregator.queries.accounts import account_of, guarantee_of
from deniable_aggregator.queries.guarantees import (
    guarantee_document,
    limit_document,
    remaining_document,
)
from deniable_aggregator.queries.releases import summaries

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.store.protocols import Ledger
    from deniable_aggregator.store.rows import ChargeRow
    from deniable_central.accounting import Account, Spending


def accounts(store: Ledger, collections: Iterable[Collection]) -> list[AccountDocument]:
    """The ledger of each collection."""
    return [_account(store, collection) for collection in collections]


def reconciled_charges(rows: Iterable[ChargeRow]) -> list[ReconciledCharge]:
    """The charges that replace lost ones."""
    return [
        ReconciledCharge(
            collection=row.collection,
            release=row.release,
            epochs=list(row.epochs),
            adjacency=row.adjacency,
            guarantee=guarantee_document(guarantee_of(row)),
        )
        for row in rows
    ]


def _account(store: Ledger, collection: Collection) -> AccountDocument:
    rows = store.charges(collection.id)
    account = account_of(collection, rows)
    budget = account.budget
    return AccountDocument(
        collection=collection.id,
        name=collection.name,
        per_epoch=limit_document(budget.of_epoch),
        reports=budget.reports,
        installation=remaining_document(budget.of_installation, account.spent_by_installation()),
        epochs=_charged_epochs(account),
        releases=summaries(store, collection, rows),
    )


def _charged_epochs(account: Account) -> list[SpentEpochsDocument]:
    """Charged epochs; consecutive epochs with equal spending form one entry."""
    runs: list[tuple[int, int, Spending]] = []
    for epoch in sorted({epoch for charge in account.charges for epoch in charge.epochs}):
        spent = account.spent(epoch)
        if runs and runs[-1][1] == epoch - 1 and runs[-1][2] == spent:
            runs[-1] = (runs[-1][0], epoch, spent)
        else:
            runs.append((epoch, epoch, spent))
    return [_run(account, first, last, spent) for first, last, spent in runs]


def _run(account: Account, first: int, last: int, spent: Spending) -> SpentEpochsDocument:
    row = remaining_document(account.budget.of_epoch, spent)
    return SpentEpochsDocument(first, last, limit=row.limit, spent=row.spent, left=row.left)
