"""The door: takes uploads from the internet, without any key, and spools them.

It checks what can be checked in the open, as a relay does, and answers 200 once the report is in a
block that is durable. Reports that come while a block is being written go into the next one; where
each block is dear, as in an object store, the first of a block also waits for others, for a while.
Whether a report opens, and whether its id is new, the opener finds out.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from functools import cache
from multiprocessing.util import Finalize
from pathlib import Path

from deniable_aggregator.ingest.commit import Gather
from deniable_aggregator.relay.app import RelayApp
from deniable_aggregator.relay.intake import Intake
from deniable_aggregator.relay.notices import fetched
from deniable_aggregator.relay.queue import Sealed
from deniable_aggregator.settings import Settings
from deniable_aggregator.spool.address import open_spool
from deniable_aggregator.spool.block import Spooled
from deniable_aggregator.spool.blocks import require_format, write_block
from deniable_aggregator.spool.notices import reader
from deniable_shared.epochs import Clock
from deniable_shared.errors import DeniableError

__all__ = ["FACTORY", "VARIABLE", "Door", "app"]

VARIABLE = "DENIABLE_SPOOL"
FACTORY = "deniable_aggregator.spool.door:app"
TICK_SECONDS = 5.0

logger = logging.getLogger(__name__)


class Door:
    """All of a door over its spool. `tick` takes up what the opener has published."""

    def __init__(
        self, address: str | Path, settings: Settings, *, clock: Clock = time.time
    ) -> None:
        self._spool = open_spool(address)
        self._format = require_format(settings.spool_format)
        self._opened = reader(self._spool)
        self.intake = Intake(
            self._spooled,
            reports_per_minute=settings.reports_per_minute_per_prefix,
            clock=clock,
            anonymous=False,
            gather=_gather(settings) if self._spool.gathers else None,
        )
        self.app = RelayApp(self.intake, trusted_proxy=settings.trusted_proxy)

    def tick(self) -> None:
        """Read the notices anew; those before stay where that fails."""
        try:
            self.intake.notices = fetched(self._opened(), None)
        except DeniableError as error:
            logger.warning("the opener's notices cannot be taken up: %s", error)

    def _spooled(self, sealed: Sequence[Sealed]) -> list[bool]:
        records = [Spooled(each.collection, each.report.encode()) for each in sealed]
        write_block(self._spool, records, format=self._format)
        return [True] * len(records)


def _gather(settings: Settings) -> Gather:
    """Every thread has an upload that waits: nothing more can come."""
    return Gather(settings.threads, settings.spool_wait_ms / 1_000)


@cache
def app() -> RelayApp:
    """The door of this process, over the spool that its starter named."""
    from deniable_aggregator.wsgi import LOOK_SECONDS, Housekeeping, ended_at_once

    with ended_at_once():
        door = Door(os.environ[VARIABLE], Settings.load())
    threads = (
        Housekeeping(door.tick, every_seconds=TICK_SECONDS),
        Housekeeping(door.app.bodies.cut_off, every_seconds=LOOK_SECONDS),
    )

    def finish() -> None:
        for thread in threads:
            thread.stop()

    # Runs at exit of a worker process too, where atexit does not.
    Finalize(None, finish, exitpriority=10)
    for thread in threads:
        thread.start()
    return door.app
