"""The audit log: every privileged action, in a chain of hashes."""

from __future__ import annotations

from flask import Blueprint, Response

from deniable_aggregator.documents.access import AuditArguments, AuditDocument
from deniable_aggregator.queries import access
from deniable_aggregator.web.api.operations import operation
from deniable_aggregator.web.application import service
from deniable_aggregator.web.formats import negotiated_answer, tables, with_next_link
from deniable_aggregator.web.table_rows import AUDIT_COLUMNS, audit_rows

blueprint = Blueprint("audit", __name__)


@blueprint.get("/v1/audit")
@operation(
    tag="admin",
    role="admin",
    query=AuditArguments,
    answers=tables(AuditDocument),
    problems=("not-acceptable",),
)
def audit(query: AuditArguments) -> Response:
    """The privileged actions: at most 1,000 entries from index `from` on.

    `act`, `who`, `collection`, `first_day` and `last_day` choose entries. Each then has its
    `index`, and `next` is where the next page begins. Of a table the header `Link` leads there.
    Without them the entries are a part of the chain. The head after an entry is
    SHA-256(head before ‖ "act" ‖ SHA-256(entry)), at first 32 zero bytes. Keep size and head
    elsewhere: they show later that nothing before them was changed.
    """
    store, wanted = service().store, access.audit_filter(query, service().registry)
    document = access.audit(store, query.first, wanted=wanted)
    response = negotiated_answer(
        document, lambda: audit_rows(document.entries, query.first), AUDIT_COLUMNS
    )
    return with_next_link(response, document.following(query.first))
