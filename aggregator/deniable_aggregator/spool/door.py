"""The door: takes uploads from the internet, without any key, and spools them.

It checks what can be checked in the open, as a relay does, and answers 200 once the report is in a
block on disk. Whether a report opens, and whether its id is new, the opener finds out.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from functools import cache
from multiprocessing.util import Finalize
from pathlib import Path

from deniable_aggregator.errors import SpoolError
from deniable_aggregator.relay.app import RelayApp
from deniable_aggregator.relay.intake import Intake
from deniable_aggregator.relay.notices import fetched
from deniable_aggregator.relay.queue import Sealed
from deniable_aggregator.settings import Settings
from deniable_aggregator.spool.block import Spooled, write_block
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

    def __init__(self, directory: Path, settings: Settings, *, clock: Clock = time.time) -> None:
        if not directory.is_dir():
            raise SpoolError(f"there is no directory {directory} for the spool")
        self._directory = directory
        self._opened = reader(directory)
        self.intake = Intake(
            self._spooled,
            reports_per_minute=settings.reports_per_minute_per_prefix,
            clock=clock,
            anonymous=False,
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
        write_block(self._directory, records)
        return [True] * len(records)


@cache
def app() -> RelayApp:
    """The door of this process, over the spool that its starter named."""
    from deniable_aggregator.wsgi import LOOK_SECONDS, Housekeeping, ended_at_once

    with ended_at_once():
        door = Door(Path(os.environ[VARIABLE]), Settings.load())
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
