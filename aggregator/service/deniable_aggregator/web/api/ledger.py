"""The ledger: budgets of releases, what was spent of them and by which."""

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
    """What releases have cost and what is left, an epoch and an installation, and who spent it.

    A token that is limited to collections is shown these. CSV, Arrow and Parquet have a row for
    each account; who spent it stands in the list of releases.
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
    """Charge what an older copy of the database has forgotten; uploads and releases go on then.

    What the file `heads.json` still knows is charged as it was, what it does not know costs the
    collection its whole budget. Where nothing is missing nothing happens.
    """
    gap = service().reconcile(audit=audit)
    charged = reconciled_charges(gap.charged)
    return answer(ReconciledDocument(charged, list(gap.exhausted), list(gap.lost)))
