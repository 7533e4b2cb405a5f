"""The ledger: what releases have cost every collection, what is left, and who spent it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from deniable_aggregator.documents.fields import Arguments
from deniable_aggregator.documents.releases import AccountDocument, LedgerDocument
from deniable_aggregator.queries.ledger import accounts
from deniable_aggregator.web.application import CSV, answer, service
from deniable_aggregator.web.auth.guard import collection_of, visible_collections
from deniable_aggregator.web.dashboard.addresses import (
    Address,
    Format,
    as_attachment,
    download_links,
    here,
)
from deniable_aggregator.web.dashboard.ledger_charts import epoch_budgets, installation_budgets
from deniable_aggregator.web.dashboard.page import Context, Page
from deniable_aggregator.web.dashboard.paging import PageNumber, paginate
from deniable_aggregator.web.dashboard.release_questions import release_title
from deniable_aggregator.web.formats import as_table
from deniable_aggregator.web.table_rows import LEDGER_COLUMNS, ledger_rows

if TYPE_CHECKING:
    from flask import Response


ROWS = 25


class LedgerPageArguments(Arguments, frozen=True):
    """Whose ledger; all of them if no collection is named."""

    collection: Annotated[
        str, Meta(pattern="^[a-z0-9-]{1,64}$", description="id or name of a question")
    ] = ""
    page: PageNumber = 1
    format: Format = "html"


def view(query: LedgerPageArguments) -> Context | Response:
    """One account with its releases, or a line for each; with `format` what the API answers."""
    address = here("dashboard.ledger", query)
    if query.format != "html":
        return _file(query)
    if query.collection:
        collection = collection_of(query.collection)
        [account] = accounts(service().store, [collection])
        return {
            "collection": collection,
            "account": account,
            "chart": epoch_budgets(collection, account, download_links(address)),
            "part": paginate(account.releases[::-1], query.page, ROWS),
            "release_title": release_title,
            "address": address,
        }
    return {"collection": None, **_all_accounts(query, address), "address": address}


def _file(query: LedgerPageArguments) -> Response:
    """The whole ledger of one collection, or of all that the visitor may see."""
    wanted = [collection_of(query.collection)] if query.collection else visible_collections()
    document, kind = LedgerDocument(accounts(service().store, wanted)), query.format
    rows = ledger_rows(document)
    response = answer(document) if kind == "json" else as_table(CSV, rows, LEDGER_COLUMNS, {})
    name = f"{wanted[0].name}-budget" if query.collection else "budgets"
    return as_attachment(response, f"{name}.{kind}")


def _all_accounts(query: LedgerPageArguments, address: Address) -> Context:
    part = paginate(visible_collections(), query.page, ROWS)
    listed = accounts(service().store, part.items)
    return {
        "part": part,
        "accounts": listed,
        "released": sum(len(account.releases) for account in listed),
        "chart": (
            installation_budgets(listed, download_links(address)) if _any_release(listed) else None
        ),
    }


def _any_release(accounts: list[AccountDocument]) -> bool:
    return any(account.releases for account in accounts)


PAGE = Page(path="/ledger", title="Budgets", view=view, query=LedgerPageArguments, menu=30)
