"""The keyless intake: takes uploads from the internet, without any key, and spools them.

It checks what can be checked in the open, as a relay does, and answers 200 once the reports are in
a block that is durable. A relay's token lets many come at once, as before an aggregator. Reports
that come while a block is being written go into the next one; where each block is dear, as in an
object store, the first of a block also waits for others, for a while. Whether a report opens, and
whether its id is new, the consumer of the spool checks.
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

from deniable_aggregator.background_threads import (
    LOOK_SECONDS,
    PeriodicThread,
    default_sigterm,
    start_threads,
)
from deniable_aggregator.clock.watch import ClockWatch
from deniable_aggregator.errors import SpoolError
from deniable_aggregator.ingest.group_commit import BatchWindow
from deniable_aggregator.relay.app import RelayApp
from deniable_aggregator.relay.mirror import fetch_mirror
from deniable_aggregator.relay.queue import SealedReport
from deniable_aggregator.relay.sealed_uploads import SealedUploads
from deniable_aggregator.settings import Settings
from deniable_aggregator.spool.address import open_spool
from deniable_aggregator.spool.block_files import require_format, write_block
from deniable_aggregator.spool.block_format import SpooledReport
from deniable_aggregator.spool.notices import CLOSED, RELAYS, decode_closed, notices_reader
from deniable_aggregator.spool.relay_tokens import NO_RELAYS, RelayTokens
from deniable_aggregator.suspension import Suspension
from deniable_shared.epochs import Clock
from deniable_shared.errors import DeniableError

VARIABLE = "DENIABLE_SPOOL"
FACTORY = "deniable_aggregator.spool.intake:app"
TICK_SECONDS = 5.0
WAIT_MS = 1_000

logger = logging.getLogger(__name__)


class KeylessIntake:
    """All of a keyless intake over its spool. `tick` reads the notices of the consumer."""

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
        self._read_notices = notices_reader(self._spool)
        # Once every thread has an upload that waits, nothing more can come.
        window = BatchWindow(settings.threads, wait_ms / 1_000)
        suspension = Suspension()
        self._clock_watch = ClockWatch(clock, boot_clock, suspension=suspension)
        self._relays = NO_RELAYS
        self.uploads = SealedUploads(
            self._write,
            reports_per_minute=settings.reports_per_minute_per_prefix,
            reports_per_minute_of_collection=settings.reports_per_minute_per_collection,
            max_waiting=math.inf,
            clock=self._clock_watch.now,
            anonymous=False,
            window=window if self._spool.batches_uploads else None,
        )
        self.app = RelayApp(
            self.uploads,
            trusted_proxy=settings.trusted_proxy,
            suspension=suspension,
            is_relay=self._is_relay,
        )

    def tick(self) -> None:
        """Check the clock and read the notices again; the previous ones stay where that fails."""
        self._clock_watch.look()
        try:
            fetch = self._read_notices()
            mirror, relays = fetch_mirror(fetch, None), RelayTokens.decode(fetch(RELAYS))
            closed = decode_closed(fetch(CLOSED))
        except DeniableError as error:
            logger.warning("the notices of the spool's consumer cannot be read: %s", error)
            return
        self._relays, self.uploads.relays_only = relays, relays.relays_only
        self.uploads.mirror, self.uploads.closed = mirror, closed

    def _is_relay(self, credential: str, collection: str) -> bool:
        return self._relays.accept(
            credential, self.uploads.find_id(collection), self._clock_watch.now()
        )

    def _write(self, sealed: Sequence[SealedReport]) -> list[bool]:
        records = [SpooledReport(each.collection, each.report.encode()) for each in sealed]
        write_block(self._spool, records, block_format=self._format)
        return [True] * len(records)


def require_no_key(settings: Settings) -> None:
    """SpoolError where this process can read a private key in the data directory."""
    for path in sorted((settings.data / "keys").glob("*.key")):
        if os.access(path, os.R_OK):
            raise SpoolError(
                f"the intake must not be able to read keys, and {path} can be read: run it on "
                "another machine or as another user, with --data elsewhere"
            )


def without_secrets(settings: Settings) -> Settings:
    """The same without what opens a database or a provider, which an intake does not use."""
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
    """The variable that gives a child process these arguments of an intake."""
    return {VARIABLE: json.dumps({"address": address, **options})}


@cache
def app() -> RelayApp:
    """The intake of this process, over the spool that its starter named."""
    with default_sigterm():
        intake = KeylessIntake(settings=Settings.load(), **json.loads(os.environ[VARIABLE]))
    start_threads(
        PeriodicThread(intake.tick, every_seconds=TICK_SECONDS),
        PeriodicThread(intake.app.body_guard.cut_off, every_seconds=LOOK_SECONDS),
        finish=lambda: None,
    )
    return intake.app
