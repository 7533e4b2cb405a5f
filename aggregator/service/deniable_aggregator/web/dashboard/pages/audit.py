"""Audit: who did what that took a privilege, the newest first, and whether the chain holds."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from deniable_aggregator.access.audit import continues, verify
from deniable_aggregator.documents.fields import Arguments
from deniable_aggregator.operations.doctor.audit_view import noted_end, require_end
from deniable_aggregator.queries import access
from deniable_aggregator.web.application import service
from deniable_aggregator.web.dashboard.addresses import here
from deniable_aggregator.web.dashboard.admin_forms import administrator
from deniable_aggregator.web.dashboard.page import Context, Page
from deniable_aggregator.web.dashboard.paging import PageNumber, paginate
from deniable_shared.errors import ForkError

ROWS = 50


class AuditPageArguments(Arguments, frozen=True):
    """Which part is shown, and whether the chain is computed anew."""

    page: PageNumber = 1
    verify: Annotated[Literal["yes", "no"], Meta(description="yes or no")] = "no"
    since: Annotated[str, Meta(max_length=100, description="SIZE:HEAD, noted before")] = ""


def view(query: AuditPageArguments) -> Context:
    """Some entries; with `verify=yes` all of them are read and hashed."""
    administrator()
    size, head = service().store.audit_head()
    part = paginate(range(size, 0, -1), query.page, ROWS)
    first = part.items[-1] - 1 if part.items else 0
    entries = access.audit(service().store, first, len(part.items)).entries[::-1]
    return {
        "query": query,
        "address": here("dashboard.audit", query),
        "size": size,
        "head": head,
        "part": part,
        "entries": list(zip(part.items, entries, strict=False)),
        **(_verify_chain(query.since) if query.verify == "yes" else {}),
    }


def _verify_chain(since: str) -> Context:
    last_end = noted_end(service().settings.data)  # before the rows: both only ever grow
    rows = list(access.audit_rows(service().store))
    try:
        size, head = verify(rows)
        require_end(rows, last_end)
        if since:
            continues(rows, since)
    except ForkError as error:
        return {"broken": str(error)}
    return {"unbroken": size, "unbroken_head": head.hex()}


PAGE = Page(
    path="/audit", title="Audit", view=view, role="admin", query=AuditPageArguments, menu=90
)
