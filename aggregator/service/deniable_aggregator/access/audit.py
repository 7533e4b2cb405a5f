"""The audit log: every privileged act and its actor, in a chain of hashes.

    head after an entry = SHA-256(head before ‖ "act" ‖ SHA-256(entry))      at first: 32 zero bytes

The entry is an argument of the method that does the act. The store appends it in the same
transaction as the act, so that neither exists without the other. An act that changes nothing leaves
no entry. An entry has names, ids and times, but no token, password, address or answer.

A method that does a privileged act takes `audit=` without a default. It is None for acts without a
person, as in the maintenance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from deniable_shared.errors import DecodeError, ForkError
from deniable_shared.wire.canonical import canonical_json, strict_json
from deniable_shared.wire.transparency_log import GENESIS, LogEntry, extend

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deniable_aggregator.access.rows import AuditRow

ACTS = (
    "alert-ended",
    "alert-failed",
    "alert-made",
    "alert-sent",
    "clock-confirmed",
    "collection-archived",
    "collection-closed",
    "collection-deleted",
    "collection-unarchived",
    "epoch-closed",
    "key-rotated",
    "keys-delegated",
    "ledger-reconciled",
    "manifest-applied",
    "note-added",
    "note-removed",
    "question-asked",
    "read-link-ended",
    "read-link-made",
    "release-asked",
    "restored",
    "schema-migrated",
    "session-ended",
    "settings-changed",
    "sign-in",
    "sign-in-failed",
    "sign-in-link-made",
    "sign-out",
    "token-made",
    "token-revoked",
    "user-added",
    "user-removed",
    "voucher-key-replaced",
    "voucher-key-shown",
)
"""The names of all privileged acts."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An act (one of ACTS), its actor, its time in Unix seconds, and its details."""

    act: str
    actor: str
    at: int
    details: Mapping[str, str]

    @classmethod
    def of(cls, act: str, /, *, actor: str, at: float, **details: object) -> AuditEntry:
        """A new entry. Raises ValueError unless `act` is one of ACTS."""
        if act not in ACTS:
            raise ValueError(f"act must be one of {', '.join(ACTS)}, got {act!r}")
        return cls(act, actor, int(at), _texts(details))

    def with_details(self, **details: object) -> AuditEntry:
        """The entry with more details; those that are None are left out."""
        return replace(self, details={**self.details, **_texts(details)})

    def encode(self) -> bytes:
        """The entry as canonical JSON."""
        return canonical_json(
            {"act": self.act, "actor": self.actor, "at": self.at, "details": self.details}
        )


def with_details(entry: AuditEntry | None, /, **details: object) -> AuditEntry | None:
    """The entry with more details; None if there is no entry."""
    return None if entry is None else entry.with_details(**details)


def link(head: bytes, entry: bytes) -> bytes:
    """The head after one more entry."""
    return extend(head, [LogEntry("act", sha256(entry).digest())])


def parse(row: AuditRow) -> AuditEntry:
    """The entry of a row. Raises DecodeError if this program did not write it."""
    document = strict_json(row.entry)
    if not isinstance(document, dict) or document.keys() != {"act", "actor", "at", "details"}:
        raise DecodeError("an entry of the audit log must have act, actor, at and details")
    return AuditEntry(**document)


def verify(rows: Iterable[AuditRow]) -> tuple[int, bytes]:
    """(entries, head) of the whole log. Raises ForkError if the chain is broken."""
    size, head = 0, GENESIS
    for row in rows:
        head, size = link(head, row.entry), size + 1
        if head != row.head:
            raise ForkError(
                f"entry {size:,} of the audit log differs from the one that was written: "
                "it, or an earlier one, was changed"
            )
    return size, head


def continues(rows: Sequence[AuditRow], noted: str) -> None:
    """Raises ForkError unless these rows contain SIZE:HEAD, which was noted earlier."""
    size, _, head = noted.strip().partition(":")
    heads = [GENESIS.hex(), *(row.head.hex() for row in rows)]
    if not size.isdecimal() or int(size) >= len(heads) or heads[int(size)] != head:
        raise ForkError(f"the audit log does not continue the one of {noted[:80]}")


def _texts(details: Mapping[str, object]) -> dict[str, str]:
    return {name: _text(value) for name, value in details.items() if value is not None}


def _text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
