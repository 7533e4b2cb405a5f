"""The ledger: what releases have cost every collection, what is left, and who spent it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from deniable_aggregator.access.guard import current_identity
from deniable_aggregator.api.documents import Arguments
from deniable_aggregator.api.ledger import accounts_of
from deniable_aggregator.api.operations import service
from deniable_aggregator.api.release_documents import AccountDocument
from deniable_aggregator.dashboard.about import collection_of
from deniable_aggregator.dashboard.addresses import here
from deniable_aggregator.dashboard.ledger_charts import left_of_installation, left_over_time
from deniable_aggregator.dashboard.page import Context, Page
from deniable_aggregator.dashboard.paging import PageNumber, paged

ROWS = 25


class LedgerPageArguments(Arguments, frozen=True):
    """Whose ledger; all of them if no collection is named."""

    collection: Annotated[
        str, Meta(pattern="^[a-z0-9-]{1,64}$", description="id or name of a collection")
    ] = ""
    page: PageNumber = 1


def view(query: LedgerPageArguments) -> Context:
    """One account with its releases, or a line for each."""
    address = here("dashboard.ledger", query)
    if query.collection:
        found = collection_of(query.collection)
        [account] = accounts_of([found])
        return {
            "found": found,
            "account": account,
            "chart": left_over_time(found, account),
            "part": paged(account.releases[::-1], query.page, ROWS),
            "address": address,
        }
    return {"found": None, **_all(query), "address": address}


def _all(query: LedgerPageArguments) -> Context:
    visitor = current_identity()
    known = [
        found
        for found in service().registry.all()
        if visitor is not None and visitor.may_see(found.id)
    ]
    part = paged(known, query.page, ROWS)
    accounts = accounts_of(part.items)
    return {
        "part": part,
        "accounts": accounts,
        "released": sum(len(account.releases) for account in accounts),
        "chart": left_of_installation(accounts) if _spent(accounts) else None,
    }


def _spent(accounts: list[AccountDocument]) -> bool:
    return any(account.releases for account in accounts)


PAGE = Page(path="/ledger", title="Budgets", view=view, query=LedgerPageArguments, menu=30)
