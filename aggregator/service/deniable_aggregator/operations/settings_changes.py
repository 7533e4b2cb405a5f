"""Records in the audit log which settings changed since the last start of the service."""

from __future__ import annotations

import json
from dataclasses import fields
from hashlib import sha256
from typing import TYPE_CHECKING

from deniable_aggregator.access.audit import AuditEntry, parse
from deniable_aggregator.queries.access import audit_rows

if TYPE_CHECKING:
    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.store.protocols import Audit

ACTOR = "deniable serve"
_SETTINGS = "settings-changed"


def record(store: Audit, settings: Settings, at: float) -> None:
    """Append an entry if settings differ from the last entry; the first entry has all settings."""
    current = _spelled(settings)
    previous = last(store, _SETTINGS)
    if previous is not None and json.loads(previous.details["settings"]) == current:
        return
    text = json.dumps(current, sort_keys=True)
    store.record_act(AuditEntry.of(_SETTINGS, actor=ACTOR, at=at, settings=text))


def record_confirmation(store: Audit, at: float) -> None:
    """Append an entry: an operator confirmed the clock of this machine at that time."""
    store.record_act(AuditEntry.of("clock-confirmed", actor="deniable doctor confirm-clock", at=at))


def last(store: Audit, act: str) -> AuditEntry | None:
    """The newest entry of an act."""
    newest = None
    for row in audit_rows(store):
        entry = parse(row)
        newest = entry if entry.act == act else newest
    return newest


def _spelled(settings: Settings) -> dict[str, str]:
    """Each setting as text; of a secret only a hash that shows a change."""
    return {
        field.name: str(getattr(settings, field.name))
        if field.repr
        else _fingerprint(str(getattr(settings, field.name)))
        for field in fields(settings)
    }


def _fingerprint(secret: str) -> str:
    return f"sha256:{sha256(secret.encode()).hexdigest()[:8]}" if secret else ""
