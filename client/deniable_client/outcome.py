"""Results of `record`, and of a run of `flush`, `upload_due` or `refresh`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable_client.errors import ClientError

__all__ = ["FlushResult", "Outcome", "RefreshResult"]


class Outcome(StrEnum):
    """The result of `Client.record`. QUEUED, HELD and REPEATED made a report."""

    QUEUED = "queued"
    """Randomized, charged and waiting to be sent."""
    ALREADY_ANSWERED = "already-answered"
    """This device has answered for this epoch, or permanently, or no further answer is possible."""
    HELD = "held"
    """The hold's permanent answer was renewed and waits; the value was not used (memoized)."""
    REPEATED = "repeated"
    """Like HELD, with the last permanent answer that was paid for: it costs nothing (memoized)."""
    NOT_SAMPLED = "not-sampled"
    """Sampling did not choose this device in this hold."""
    BUDGET_EXHAUSTED = "budget-exhausted"
    """The answer would cost more ε than this device may still spend."""
    OVER_CEILING = "over-ceiling"
    """The collection costs more ε than the app's Ceiling allows."""
    NO_CONSENT = "no-consent"
    """The person has not agreed, or has said no."""
    DISABLED = "disabled"
    """An opt-out pauses, the app is configured wrongly, or the state file cannot be used.

    `Client.status()` says which."""
    UNKNOWN_COLLECTION = "unknown-collection"
    """No manifest has that name or id, or its collection has not started yet."""
    EXPIRED = "expired"
    """The collection has ended."""
    INVALID_VALUE = "invalid-value"
    """The value is outside the collection's domain."""
    QUEUE_FULL = "queue-full"
    """The queue of waiting answers is full."""
    STORAGE_BUSY = "storage-busy"
    """The state file was locked, full or unreachable. Nothing was recorded; try again later."""
    LOG_FORKED = "log-forked"
    """The aggregator contradicted itself, so nothing is recorded or sent any more."""
    CLOSED = "closed"
    """This client was closed, or is a forked copy of one that lives in memory only."""

    @property
    def mistake(self) -> bool:
        """Whether the app's developer must correct something. The log says what, once."""
        return self in _MISTAKES


_MISTAKES = frozenset({Outcome.UNKNOWN_COLLECTION, Outcome.INVALID_VALUE, Outcome.OVER_CEILING})


@dataclass(frozen=True, slots=True)
class FlushResult:
    """The result of one run.

    `sent` counts requests with a report, `accepted` the reports that the aggregator accepted,
    `dropped` those it rejected permanently, `waiting` those that are left. `why` says in words why
    they wait, and `next_due` until when (unix seconds; None if unknown). `problems` lists what went
    wrong in this run and in `record()` since the last one.
    """

    sent: int
    accepted: int
    dropped: int
    waiting: int
    problems: tuple[ClientError, ...] = ()
    next_due: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class RefreshResult:
    """`collections` are the known names.

    `problems` says which requested manifests are missing, and why.
    """

    collections: tuple[str, ...]
    problems: tuple[ClientError, ...] = ()
