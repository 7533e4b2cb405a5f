"""The audit log: who did what that took a privilege, in a chain of hashes.

    head after an entry = SHA-256(head before ‖ "act" ‖ SHA-256(entry))      at first: 32 zero bytes

An act is announced before it is done (`acting`); the store appends its entry in the very
transaction that does it, so that neither is ever there without the other. What changes nothing
leaves no entry. An entry holds names, ids and times: no token, no password, no address, no answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import sha256

from deniable_aggregator.access.rows import AuditRow
from deniable_shared.canonical import canonical_json, strict_json
from deniable_shared.errors import DecodeError, ForkError
from deniable_shared.journal import GENESIS, LogEntry, extend

__all__ = [
    "ACTS",
    "ALONE",
    "Act",
    "Entry",
    "acting",
    "announced",
    "continues",
    "link",
    "nothing_done",
    "parse",
    "tell",
    "verify",
]

ACTS = (
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
    "question-asked",
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
"""Every privileged act there is."""

ALONE = (
    *("ledger-reconciled", "schema-migrated", "settings-changed", "sign-in-failed"),
    *("clock-confirmed", "voucher-key-replaced", "voucher-key-shown"),
)
"""Acts that change, or may change, nothing in the database beside their entry."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Who did what, when (unix seconds)."""

    at: int
    act: str
    actor: str
    details: Mapping[str, str]


@dataclass(slots=True)
class Act:
    """What is about to be done; `kept` once an entry says so.

    `idle` while a transaction that could have done it did nothing.
    """

    name: str
    actor: str
    at: float
    details: dict[str, str] = field(default_factory=dict)
    kept: bool = False
    idle: bool = False

    def __post_init__(self) -> None:
        if self.name not in ACTS:
            raise ValueError(f"act must be one of {', '.join(ACTS)}, got {self.name!r}")

    def entry(self) -> bytes:
        """As canonical JSON."""
        return canonical_json(
            {"act": self.name, "actor": self.actor, "at": int(self.at), "details": self.details}
        )


_ACT: ContextVar[Act | None] = ContextVar("act", default=None)


@contextmanager
def acting(name: str, /, *, actor: str, at: float, **details: object) -> Iterator[Act]:
    """Within the block the first transaction that does such an act has the entry in it."""
    act = Act(name, actor, at)
    before = _ACT.set(act)
    try:
        tell(**details)
        yield act
    finally:
        _ACT.reset(before)


def tell(**details: object) -> None:
    """Say more of the act under way, if there is one and its entry is not written yet."""
    act = _ACT.get()
    if act is not None:
        act.details |= {name: _text(value) for name, value in details.items() if value is not None}


def announced(*names: str) -> Act | None:
    """The act under way whose entry is still to be written, if it is one of these."""
    act = _ACT.get()
    return act if act is not None and act.name in names and not act.kept else None


def nothing_done(*names: str) -> None:
    """The transaction under way did none of these acts after all: it carries no entry."""
    act = announced(*names)
    if act is not None:
        act.idle = True


def link(head: bytes, entry: bytes) -> bytes:
    """The head after one more entry."""
    return extend(head, [LogEntry("act", sha256(entry).digest())])


def parse(row: AuditRow) -> Entry:
    """The entry of a row; DecodeError for what this program never wrote."""
    document = strict_json(row.entry)
    if not isinstance(document, dict) or document.keys() != {"act", "actor", "at", "details"}:
        raise DecodeError("an entry of the audit log must have act, actor, at and details")
    return Entry(document["at"], document["act"], document["actor"], document["details"])


def verify(rows: Iterable[AuditRow]) -> tuple[int, bytes]:
    """(entries, head) of the whole log; ForkError where the chain is broken."""
    size, head = 0, GENESIS
    for row in rows:
        head, size = link(head, row.entry), size + 1
        if head != row.head:
            raise ForkError(
                f"entry {size:,} of the audit log is not the one that was written: "
                "it, or one before it, was changed"
            )
    return size, head


def continues(rows: Sequence[AuditRow], noted: str) -> None:
    """ForkError unless SIZE:HEAD, noted before, is on the way to the end of these rows."""
    size, _, head = noted.strip().partition(":")
    heads = [GENESIS.hex(), *(row.head.hex() for row in rows)]
    if not size.isdecimal() or int(size) >= len(heads) or heads[int(size)] != head:
        raise ForkError(f"the audit log is not the one of {noted[:80]}, continued")


def _text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
