"""Alerts of a collection: list, make, end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, Response

from deniable_aggregator.documents.alerts import AlertsDocument, CreatedAlertDocument, NewAlert
from deniable_aggregator.operations import alerts as changes
from deniable_aggregator.queries import alerts as queries
from deniable_aggregator.web.api.operations import caller, operation
from deniable_aggregator.web.application import JSON, answer, service

if TYPE_CHECKING:
    from deniable_aggregator.access.audit import AuditEntry

blueprint = Blueprint("alerts", __name__)


@blueprint.get("/v1/collections/<collection>/alerts")
@operation(
    tag="admin",
    role="admin",
    answers={200: {JSON: (AlertsDocument,)}},
    problems=("unknown-collection",),
)
def alerts(collection: str) -> Response:
    """Every alert of the collection, without the keys of their signatures."""
    running = service()
    return answer(queries.alerts(running.store, running.registry.get(collection)))


@blueprint.post("/v1/collections/<collection>/alerts")
@operation(
    act="alert-made",
    tag="admin",
    role="admin",
    body=NewAlert,
    answers={201: {JSON: (CreatedAlertDocument,)}},
    problems=("unknown-collection", "read-refused", "conflict"),
)
def make_alert(collection: str, body: NewAlert, audit: AuditEntry) -> Response:
    """Call a webhook when a finished period differs from the one before.

    The probability of any false alert, over all checks together, is at most `risk`. Each call is
    signed: `Deniable-Signature` has `t`, unix seconds, and `v1`, the HMAC-SHA256 of `t`, a dot and
    the body under `secret`, in hex. Only this answer contains the secret.
    """
    running = service()
    target = running.registry.get(collection)
    author = caller().name
    made = changes.make_alert(running.store, target, body, author=author, audit=audit)
    return answer(made, 201)


@blueprint.delete("/v1/collections/<collection>/alerts/<alert_id>")
@operation(
    act="alert-ended",
    tag="admin",
    role="admin",
    answers={204: {}},
    problems=("unknown-collection", "not-found"),
)
def end_alert(collection: str, alert_id: str, audit: AuditEntry) -> Response:
    """End an alert: it checks no more, and waiting calls are dropped."""
    running = service()
    target = running.registry.get(collection)
    changes.end_alert(running.store, target.id, alert_id, now=running.clock(), audit=audit)
    return Response(status=204)
