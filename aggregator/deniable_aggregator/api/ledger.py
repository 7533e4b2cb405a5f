"""The ledger: budgets of releases, what was spent of them and by which."""

from __future__ import annotations

import msgspec
from flask import Blueprint, Response
from msgspec import UnsetType

from deniable_aggregator.api.operations import JSON, answer, operation, service
from deniable_aggregator.api.release_documents import (
    AccountDocument,
    LedgerArguments,
    LedgerDocument,
)
from deniable_aggregator.releases import archive

blueprint = Blueprint("ledger", __name__)


@blueprint.get("/v1/ledger")
@operation(
    tag="analysts",
    role="viewer",
    query=LedgerArguments,
    answers={200: {JSON: (LedgerDocument,)}},
    problems=("unknown-collection",),
)
def ledger(query: LedgerArguments) -> Response:
    """What releases have cost and what is left, an epoch and an installation, and who spent it."""
    registry = service().registry
    wanted = (
        registry.all()
        if isinstance(query.collection, UnsetType)
        else [registry.get(query.collection)]
    )
    accounts = [archive.ledger(service().store, found) for found in wanted]
    return answer(LedgerDocument(msgspec.convert(accounts, list[AccountDocument])))
