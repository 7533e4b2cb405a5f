"""The ledger: the budgets of releases, and what each release spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, Response
from msgspec import UnsetType

from deniable_aggregator.documents.releases import (
    LedgerArguments,
    LedgerDocument,
    ReconciledDocument,
)
from deniable_aggregator.queries.ledger import accounts, reconciled_charges
from deniable_aggregator.web.api.operations import caller, operation, require_collection
from deniable_aggregator.web.application import JSON, answer, service
from deniable_aggregator.web.formats import negotiated_answer, tables
from deniable_aggregator.web.table_rows import LEDGER_COLUMNS, ledger_rows

if TYPE_CHECKING:
    from deniable_aggregator.access.audit import AuditEntry

blueprint = Blueprint("ledger", __name__)


@blueprint.get("/v1/ledger")
@operation(
    tag="analysts",
    role="viewer",
    narrows=True,
    query=LedgerArguments,
    answers=tables(LedgerDocument),
    problems=("unknown-collection", "not-acceptable"),
)
def ledger(query: LedgerArguments) -> Response:
    """The spent and remaining budget of each epoch and of one installation, and who spent it.

    A token that is limited to collections sees only these. CSV, Arrow and Parquet have a row for
    each account; the list of releases says who spent it.
    """
    registry = service().registry
    if isinstance(query.collection, UnsetType):
        collections = [
            collection for collection in registry.all() if caller().may_see(collection.id)
        ]
    else:
        collections = [registry.get(query.collection)]
        require_collection(collections[0].id)
    document = LedgerDocument(accounts(service().store, collections))
    return negotiated_answer(document, lambda: ledger_rows(document), LEDGER_COLUMNS)


@blueprint.post("/v1/ledger/reconcile")
@operation(
    act="ledger-reconciled",
    tag="admin",
    role="admin",
    answers={200: {JSON: (ReconciledDocument,)}},
    problems=("unavailable",),
)
def reconcile(audit: AuditEntry) -> Response:
    """Add the charges that an older copy of the database lacks. Uploads and releases then continue.

    Charges that `heads.json` still lists are added as they were. If it no longer lists them all,
    the collection's whole budget counts as spent. If nothing is missing, nothing changes.
    """
    gap = service().reconcile(audit=audit)
    charged = reconciled_charges(gap.charged)
    return answer(ReconciledDocument(charged, list(gap.exhausted), list(gap.lost)))
