"""Checks that the service can accept and keep reports: database, keys, disk, clock.

Each check has one short message without secrets, because anyone may read the answer.
"""

from __future__ import annotations

import logging
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.releases.rollback_guard.database_check import NAME as DATABASE
from deniable_gateway.clock.watch import REASON as CLOCK
from deniable_gateway.upload.upload_queue import REASON as UPLOADS

if TYPE_CHECKING:
    from pathlib import Path

    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.keys import Keys
    from deniable_aggregator.store.protocols import Maintenance
    from deniable_gateway.clock.watch import ClockWatch
    from deniable_gateway.suspension import Suspension
    from deniable_shared.manifest.epochs import Clock

LEAST_FREE_BYTES = 32 * 1024 * 1024
"""Bytes. With less free space the next checkpoint or key list may not fit."""

FULL = f"is full: less than {LEAST_FREE_BYTES >> 20} MiB are free"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Readiness:
    """The parts of one service that its readiness depends on."""

    settings: Settings
    store: Maintenance
    keys: Keys
    clock: Clock
    clock_watch: ClockWatch
    suspension: Suspension

    def check(self) -> dict[str, str]:
        """Every check by name: "ok", or the fault."""
        return {
            "database": self._database(),
            "keys": self._keys(),
            "disk": _disk(self.settings),
            "clock": self._clock(),
            **self._uploads(),
        }

    def _uploads(self) -> dict[str, str]:
        """The fault of the thread that stores uploads; empty while it runs."""
        reason = self.suspension.reason(UPLOADS)
        return {} if reason is None else {"uploads": f"are refused: {reason}"}

    def _database(self) -> str:
        reason = self.suspension.reason(DATABASE)
        if reason is not None:
            return reason.removeprefix("the database ")
        try:
            self.store.ping()
        except Exception:  # a store that fails in any way can serve nothing
            logger.exception("the store does not answer")
            return "does not answer"
        return "ok"

    def _keys(self) -> str:
        active = [each.key for each in self.keys.listed_keys if each.key.state == "active"]
        if not active:
            return "no key is in use: devices cannot encrypt reports"
        if not any(self.keys.opener(key.id) for key in active):
            return "the file of the key in use is missing"
        if self.clock_watch.look() and self.keys.listed_until <= self.clock():
            return "the key list has expired"
        return "ok"

    def _clock(self) -> str:
        self.clock_watch.look()
        reason = self.suspension.reason(CLOCK)
        return "ok" if reason is None else reason.removeprefix("the clock ")


def free_bytes(place: Path) -> int:
    """Free bytes on the file system of `place`."""
    return shutil.disk_usage(place).free


def data_directories(settings: Settings) -> set[Path]:
    """The directories that this process writes into."""
    return {settings.data} if settings.shared else {settings.data, settings.database.parent}


def is_writable(place: Path) -> bool:
    """Whether files can be created there; a read-only file system refuses even root."""
    return os.access(place, os.W_OK | os.X_OK)


def _disk(settings: Settings) -> str:
    for place in data_directories(settings):
        if not is_writable(place):
            return "cannot be written"
        if free_bytes(place) < LEAST_FREE_BYTES:
            return FULL
    return "ok"
