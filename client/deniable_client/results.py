"""What `flush`, `upload_due` and `refresh` tell the host application."""

from __future__ import annotations

from dataclasses import dataclass

from deniable_client.errors import ClientError

__all__ = ["FlushResult", "RefreshResult"]


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
