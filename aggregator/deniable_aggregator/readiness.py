"""Whether the service can take reports and keep them: database, keys, disk, clock.

Each check says one thing in words that hold no secret: anybody may read the answer.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deniable_aggregator.clock.watch import REASON as CLOCK
from deniable_aggregator.documents.collections import ReadyDocument
from deniable_aggregator.heads.guard import NAME as DATABASE
from deniable_aggregator.problem import Problem

if TYPE_CHECKING:
    from deniable_aggregator.service import Service
    from deniable_aggregator.settings import Settings

__all__ = [
    "CHECKS",
    "LEAST_FREE_BYTES",
    "Finding",
    "can_be_written",
    "free_bytes",
    "look",
    "places",
    "ready",
]

LEAST_FREE_BYTES = 32 * 1024 * 1024
"""Below that the next checkpoint or key list may not fit."""

RETRY_SECONDS = 5

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found: "ok", or what is wrong."""

    check: str
    said: str

    @property
    def ok(self) -> bool:
        return self.said == "ok"


def look(service: Service) -> Iterator[Finding]:
    """Every check, one after the other."""
    for name, check in CHECKS.items():
        yield Finding(name, check(service))


def free_bytes(place: Path) -> int:
    """Space left on the file system that holds it."""
    return shutil.disk_usage(place).free


def places(settings: Settings) -> set[Path]:
    """The directories that this process writes into."""
    return {settings.data} if settings.shared else {settings.data, settings.database.parent}


def can_be_written(place: Path) -> bool:
    """Whether files can be made there; a file system that is read-only says no to root, too."""
    return os.access(place, os.W_OK | os.X_OK)


def _database(service: Service) -> str:
    reason = service.suspension.reason(DATABASE)
    if reason is not None:
        return reason.removeprefix("the database ")
    try:
        service.store.ping()
    except Exception:  # whatever is wrong with the store, nothing can be served
        logger.exception("the store does not answer")
        return "does not answer"
    return "ok"


def _keys(service: Service) -> str:
    active = [each.key for each in service.keys.standings if each.key.state == "active"]
    if not active:
        return "no key is in use: devices cannot seal reports"
    if not any(service.keys.opener(key.id) for key in active):
        return "the file of the key in use is missing"
    if service.clock_watch.look() and service.keys.listed_until <= service.clock():
        return "the key list has expired"
    return "ok"


def _disk(service: Service) -> str:
    for place in places(service.settings):
        if not can_be_written(place):
            return "cannot be written"
        if free_bytes(place) < LEAST_FREE_BYTES:
            return "is full"
    return "ok"


def _clock(service: Service) -> str:
    service.clock_watch.look()
    said = service.suspension.reason(CLOCK)
    return "ok" if said is None else said.removeprefix("the clock ")


CHECKS: dict[str, Callable[[Service], str]] = {
    "database": _database,
    "keys": _keys,
    "disk": _disk,
    "clock": _clock,
}


def ready(findings: Iterable[Finding], suspended: Sequence[str]) -> ReadyDocument:
    """What each check found; raises Problem("unavailable") where one of them is not ok.

    `suspended` has the reasons for which uploads wait.
    """
    known = tuple(findings)
    checks = {finding.check: finding.said for finding in known}
    wrong = [f"{finding.check} {finding.said}" for finding in known if not finding.ok]
    if wrong:
        raise Problem(
            "unavailable",
            f"not ready: {'; '.join(wrong)}",
            retry_after=RETRY_SECONDS,
            checks=checks,
            suspended=suspended,
        )
    return ReadyDocument("ready", checks)
