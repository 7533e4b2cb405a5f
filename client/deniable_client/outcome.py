"""What became of one answer, and of one run of `flush`, `upload_due` or `refresh`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable_client.errors import ClientError

__all__ = ["FlushResult", "Outcome", "RefreshResult"]


class Outcome(StrEnum):
    """The result of `Client.record`; QUEUED, HELD and REPEATED made a report."""

    QUEUED = "queued"
    """Randomized, charged and waiting to be sent."""
    ALREADY_ANSWERED = "already-answered"
    """This collection has this device's answer for this epoch, or for good, or none can follow."""
    HELD = "held"
    """The hold's permanent answer was renewed and waits; the value was not used (memoized)."""
    REPEATED = "repeated"
    """The same with the last answer that was paid for: it serves on, for nothing (memoized)."""
    NOT_SAMPLED = "not-sampled"
    """The collection asks some devices only, and this one is not among them in this hold."""
    BUDGET_EXHAUSTED = "budget-exhausted"
    """The answer would cost more ε than this device may still spend."""
    OVER_CEILING = "over-ceiling"
    """The collection asks for more ε than the app was built to give."""
    NO_CONSENT = "no-consent"
    """The person has not agreed, or has said no."""
    DISABLED = "disabled"
    """DO_NOT_TRACK, DENIABLE_DISABLE or a policy file denies, or the state file is beyond use."""
    UNKNOWN_COLLECTION = "unknown-collection"
    """No manifest of that name or id is here, or it has not started yet."""
    EXPIRED = "expired"
    """The collection is over."""
    INVALID_VALUE = "invalid-value"
    """The value is outside the collection's domain."""
    QUEUE_FULL = "queue-full"
    """As many answers wait to be sent as the state file takes."""
    STORAGE_BUSY = "storage-busy"
    """The state file was locked, full or unreachable; nothing was tossed, the app may try again."""
    LOG_FORKED = "log-forked"
    """The aggregator contradicted itself, so nothing is recorded or sent any more."""
    CLOSED = "closed"
    """This client was closed, or is a forked copy of one that lives in memory only."""


@dataclass(frozen=True, slots=True)
class FlushResult:
    """What one run did.

    `sent` counts requests with a report, `accepted` those the aggregator has for good, `dropped`
    the reports it will never take, `waiting` what is left. `problems` says why, and tells whatever
    `record()` met since the last run.
    """

    sent: int
    accepted: int
    dropped: int
    waiting: int
    problems: tuple[ClientError, ...] = ()


@dataclass(frozen=True, slots=True)
class RefreshResult:
    """`collections` are the names known now, `problems` tells what was asked for and not got."""

    collections: tuple[str, ...]
    problems: tuple[ClientError, ...] = ()
