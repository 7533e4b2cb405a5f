"""The audit log: every privileged act, in a chain of hashes."""

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
    """Who did what that took a privilege: at most 1,000 entries from index `from` on.

    The head after an entry is SHA-256(head before ‖ "act" ‖ SHA-256(entry)), at first 32 zero
    bytes. Size and head, kept elsewhere, show later that nothing before them was changed.
    Of a table the header `Link` leads to the next page.
    """
    document = access.audit(service().store, query.first)
    response = negotiated_answer(document, lambda: audit_rows(document.entries), AUDIT_COLUMNS)
    after = query.first + len(document.entries)
    return with_next_link(response, after if document.entries and after < document.size else None)
