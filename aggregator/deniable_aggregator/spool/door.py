"""The door: takes uploads from the internet, without any key, and spools them.

It checks what can be checked in the open, as a relay does, and answers 200 once the reports are in
a block that is durable. A relay's token lets many come at once, as before an aggregator. Reports
that come while a block is being written go into the next one; where each block is dear, as in an
object store, the first of a block also waits for others, for a while. Whether a report opens, and
whether its id is new, the opener finds out.
"""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from deniable_aggregator.clock.watch import ClockWatch
from deniable_aggregator.errors import SpoolError
from deniable_aggregator.housekeeping import (
    LOOK_SECONDS,
    Housekeeping,
    ended_at_once,
    keep_house,
)
from deniable_aggregator.ingest.commit import Gather
from deniable_aggregator.relay.app import RelayApp
from deniable_aggregator.relay.intake import Intake
from deniable_aggregator.relay.notices import fetched
from deniable_aggregator.relay.queue import Sealed
from deniable_aggregator.settings import Settings
from deniable_aggregator.spool.address import open_spool
from deniable_aggregator.spool.block import Spooled
from deniable_aggregator.spool.blocks import require_format, write_block
from deniable_aggregator.spool.notices import CLOSED, RELAYS, closed_of, reader
from deniable_aggregator.spool.relays import NOBODY, Relays
from deniable_aggregator.suspension import Suspension
from deniable_shared.epochs import Clock
from deniable_shared.errors import DeniableError

VARIABLE = "DENIABLE_SPOOL"
FACTORY = "deniable_aggregator.spool.door:app"
TICK_SECONDS = 5.0
WAIT_MS = 1_000

logger = logging.getLogger(__name__)


class Door:
    """All of a door over its spool. `tick` takes up what the opener has published."""

    def __init__(
        self,
        address: str | Path,
        settings: Settings,
        *,
        block_format: str = "block",
        wait_ms: int = WAIT_MS,
        clock: Clock = time.time,
        boot_clock: Clock | None = None,
    ) -> None:
        """SpoolError where a key of reports can be read: this is where strangers come in.

        `block_format` is "block" or "parquet". Reports for one object of an object store are
        gathered for `wait_ms`, far less than openers allow for. A `clock` that is given without
        `boot_clock` is not watched.
        """
        require_no_key(settings)
        self._spool = open_spool(address)
        self._format = require_format(block_format)
        self._opened = reader(self._spool)
        suspension = Suspension()
        self._clock_watch = ClockWatch(clock, boot_clock, suspension=suspension)
        self._relays = NOBODY
        self.intake = Intake(
            self._spooled,
            reports_per_minute=settings.reports_per_minute_per_prefix,
            reports_per_minute_of_collection=settings.reports_per_minute_per_collection,
            most_waiting=math.inf,
            clock=self._clock_watch.now,
            anonymous=False,
            # Once every thread has an upload that waits, nothing more can come.
            gather=Gather(settings.threads, wait_ms / 1_000) if self._spool.gathers else None,
        )
        self.app = RelayApp(
            self.intake,
            trusted_proxy=settings.trusted_proxy,
            suspension=suspension,
            is_relay=self._is_relay,
        )

    def tick(self) -> None:
        """Look at the clock and read the notices anew; those before stay where that fails."""
        self._clock_watch.look()
        try:
            fetch = self._opened()
            notices, relays = fetched(fetch, None), Relays.decode(fetch(RELAYS))
            closed = closed_of(fetch(CLOSED))
        except DeniableError as error:
            logger.warning("the opener's notices cannot be taken up: %s", error)
            return
        self._relays, self.intake.relays_only = relays, relays.only
        self.intake.notices, self.intake.closed = notices, closed

    def _is_relay(self, credential: str, collection: str) -> bool:
        return self._relays.admit(credential, self.intake.find(collection), self._clock_watch.now())

    def _spooled(self, sealed: Sequence[Sealed]) -> list[bool]:
        records = [Spooled(each.collection, each.report.encode()) for each in sealed]
        write_block(self._spool, records, block_format=self._format)
        return [True] * len(records)


def require_no_key(settings: Settings) -> None:
    """SpoolError where this process can read a private key in the data directory."""
    for path in sorted((settings.data / "keys").glob("*.key")):
        if os.access(path, os.R_OK):
            raise SpoolError(
                f"the door must not be able to read keys, and {path} can be read: run it on "
                "another machine or as another user, with --data elsewhere"
            )


def without_secrets(settings: Settings) -> Settings:
    """The same without what opens a database or a provider, which a door has no use for."""
    store = "postgresql://" if settings.shared else ""  # as many processes as were asked for
    return replace(
        settings,
        store=store,
        oidc_issuer="",
        oidc_client_id="",
        oidc_client_secret="",
        oidc_roles="",
    )


def environ(address: str, options: Mapping[str, object]) -> dict[str, str]:
    """The variable that gives a child process these arguments of a door."""
    return {VARIABLE: json.dumps({"address": address, **options})}


@cache
def app() -> RelayApp:
    """The door of this process, over the spool that its starter named."""
    with ended_at_once():
        door = Door(settings=Settings.load(), **json.loads(os.environ[VARIABLE]))
    keep_house(
        Housekeeping(door.tick, every_seconds=TICK_SECONDS),
        Housekeeping(door.app.bodies.cut_off, every_seconds=LOOK_SECONDS),
        finish=lambda: None,
    )
    return door.app
