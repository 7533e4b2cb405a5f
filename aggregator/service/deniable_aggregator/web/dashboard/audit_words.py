"""Acts of the audit log in words for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

ACT_WORDS: Mapping[str, str] = {
    "alert-ended": "alert ended",
    "alert-failed": "alert failed",
    "alert-made": "alert made",
    "alert-sent": "alert sent",
    "clock-confirmed": "clock confirmed",
    "collection-archived": "question archived",
    "collection-closed": "question closed",
    "collection-deleted": "question deleted",
    "collection-unarchived": "question put back",
    "epoch-closed": "period closed",
    "key-rotated": "report key made",
    "keys-delegated": "online key delegated",
    "ledger-reconciled": "privacy budget reconciled",
    "manifest-applied": "question signed or changed",
    "note-added": "note added",
    "note-removed": "note removed",
    "question-asked": "question put to a session",
    "read-link-ended": "read-only link ended",
    "read-link-made": "read-only link made",
    "release-asked": "release requested",
    "restored": "backup restored",
    "schema-migrated": "database migrated",
    "session-ended": "person signed out by an admin",
    "settings-changed": "settings changed",
    "sign-in": "signed in",
    "sign-in-failed": "sign-in failed",
    "sign-in-link-made": "one-time link made",
    "sign-out": "signed out",
    "token-made": "token made",
    "token-revoked": "token revoked",
    "user-added": "person added",
    "user-removed": "person removed",
    "voucher-key-replaced": "voucher key replaced",
    "voucher-key-shown": "voucher key shown",
}
