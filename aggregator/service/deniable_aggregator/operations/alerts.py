"""Checks for changes when a period is finished, and calls webhooks.

`queries.alerts` has the comparison and its guarantee. This module makes and ends alerts, and has
the work of the leading process at each tick. A call is stored in the same transaction as the check
that caused it. It is tried six times within 15 hours, with the same `id`. An attempt that
raises any exception is logged and counts as failed, so that one call never blocks another. Each
tick makes only one call, so that a hanging webhook delays little else.
"""

from __future__ import annotations

import logging
import secrets
from typing import TYPE_CHECKING

import msgspec

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.base.errors import DamagedError
from deniable_aggregator.documents.alerts import AlertCall, CreatedAlertDocument
from deniable_aggregator.operations.webhooks import WebhookError, WebhookSender, place_of
from deniable_aggregator.queries.alerts import (
    Look,
    most_looks,
    newest_finished,
    next_look,
    require_comparable,
)
from deniable_aggregator.store.rows import AlertRow, DeliveryRow
from deniable_gateway.problem import Problem, refuse

if TYPE_CHECKING:
    from deniable_aggregator.collections.registry import Collection, Registry
    from deniable_aggregator.documents.alerts import NewAlert
    from deniable_aggregator.store.protocols import Store

logger = logging.getLogger(__name__)

MOST_ALERTS = 20
"""Most alerts of one collection that have not ended."""

PAUSES_SECONDS = (60, 300, 1_800, 7_200, 43_200)
"""Seconds before the second attempt, the third, …; after the last one a call is given up."""

MOST_CHANGES = 50
"""Most differences in one call, in the order of the answers."""

ACTOR = "alerts (deniable serve)"


def make_alert(
    store: Store, collection: Collection, new: NewAlert, *, author: str, audit: AuditEntry
) -> CreatedAlertDocument:
    """Call the webhook when a comparison finds a change, from the next finished period on.

    Raises invalid-argument for an address that is not https, read-refused and conflict.
    """
    require_comparable(collection)
    try:
        place_of(new.url)
    except ValueError as error:
        raise refuse("url", accepted=str(error).removeprefix("must be "), given=new.url) from error
    if sum(row.ended is None for row in store.alerts(collection.id)) >= MOST_ALERTS:
        raise Problem("conflict", f"{collection.id} has {MOST_ALERTS} alerts: end one first")
    compared = newest_finished(store, collection)
    row = AlertRow(
        id=secrets.token_hex(6),
        url=new.url,
        secret=secrets.token_bytes(32),
        author=author,
        created=audit.at,
        periods=new.periods,
        risk=f"{new.risk:.6g}",
        looks=most_looks(collection, compared),
        compared=compared,
    )
    store.add_alert(collection.id, row, audit=audit.with_details(alert=row.id, url=row.url))
    plain = {name: getattr(row, name) for name in CreatedAlertDocument.__struct_fields__}
    return CreatedAlertDocument(**{**plain, "secret": row.secret.hex()})


def end_alert(
    store: Store, collection: str, alert_id: str, *, now: float, audit: AuditEntry | None
) -> None:
    """End an alert: it checks no more, and waiting calls are dropped. Raises not-found."""
    if not store.end_alert(collection, alert_id, now, audit=audit):
        raise Problem(
            "not-found",
            f"{collection} has no active alert {alert_id[:64]!r}; "
            f"GET /v1/collections/{collection}/alerts lists them",
        )


class AlertWatch:
    """Call `run` often, in the leading process."""

    def __init__(self, store: Store, *, registry: Registry, public_url: str) -> None:
        self._store = store
        self._registry = registry
        self._public_url = public_url.rstrip("/")
        self.sender: WebhookSender | None = None

    def run(self, now: float) -> None:
        """Check finished periods, and make the call that is most overdue."""
        for collection in self._registry.all():
            for alert in self._store.alerts(collection.id):
                if alert.ended is None and collection.manifest.read != "releases":
                    self._look(collection, alert, now)
        for call in self._store.due_deliveries(now, 1):
            self._attempt(call, now)

    def _look(self, collection: Collection, alert: AlertRow, now: float) -> None:
        try:
            look = next_look(self._store, collection, alert)
        except DamagedError:
            return  # readiness and every page of the collection show it
        if look is not None:
            self._store.record_look(alert.id, look.epoch, self._call(collection, alert, look, now))

    def _call(
        self, collection: Collection, alert: AlertRow, look: Look, now: float
    ) -> DeliveryRow | None:
        """The call that follows from a check, or None."""
        document = look.document
        if document is None or not document.changed:
            return None
        before, after = document.before, document.after
        call_id = secrets.token_hex(6)
        query = (
            f"before_from={before.epochs[0]}&before_to={before.epochs[-1]}"
            f"&from={after.epochs[0]}&to={after.epochs[-1]}"
        )
        body = AlertCall(
            id=call_id,
            alert=alert.id,
            collection=collection.id,
            name=collection.name,
            purpose=collection.manifest.purpose,
            created=int(now),
            confidence=document.confidence,
            unit=document.unit,
            before=before,
            after=after,
            changes=[row for row in document.differences if row.changed][:MOST_CHANGES],
            page=f"{self._public_url}/collections/{collection.id}/compare?{query}",
        )
        encoded = msgspec.json.encode(body)
        return DeliveryRow(call_id, alert.id, alert.url, alert.secret, encoded, int(now))

    def _attempt(self, call: DeliveryRow, now: float) -> None:
        details = {"alert": call.alert, "call": call.id}
        try:
            self._send(call, now)
        except WebhookError as error:
            logger.warning("alert %s: %s", call.alert, error)
            self._failed(call, now, {**details, "reason": str(error)})
            return
        except Exception as error:  # this call would stay the most overdue and block all others
            logger.exception("alert %s: the call failed", call.alert)
            self._failed(call, now, {**details, "reason": type(error).__name__})
            return
        entry = AuditEntry.of("alert-sent", actor=ACTOR, at=now, **details)
        self._store.record_attempt(call, following=None, sent=int(now), audit=entry)

    def _send(self, call: DeliveryRow, now: float) -> None:
        if self.sender is None:
            self.sender = WebhookSender()
        self.sender.send(call.url, call.body, secret=call.secret, now=now)

    def _failed(self, call: DeliveryRow, now: float, details: dict[str, str]) -> None:
        if call.attempts < len(PAUSES_SECONDS):
            following = int(now) + PAUSES_SECONDS[call.attempts]
            self._store.record_attempt(call, following=following, sent=None, audit=None)
            return
        entry = AuditEntry.of("alert-failed", actor=ACTOR, at=now, **details)
        self._store.record_attempt(call, following=None, sent=None, audit=entry)
