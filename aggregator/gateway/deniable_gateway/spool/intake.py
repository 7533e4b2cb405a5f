"""The keyless intake: takes uploads from the internet, without any key, and spools them.

It checks what can be checked without a key, as a relay does. It replies 200 once the reports are in
a durable block. As at an aggregator, a relay's token allows many reports at once. Reports that come
while a block is written go into the next one. If blocks are expensive, as in an object store, the
first report of a block waits a while for others. The spool's consumer checks whether a report opens
and whether its id is new.

granian --interface asgi --factory deniable_gateway.spool.intake:app
"""

from __future__ import annotations

import logging
import math
import time
from functools import cache
from typing import TYPE_CHECKING

from deniable_gateway.background_threads import PeriodicThread, default_sigterm, start_threads
from deniable_gateway.clock.watch import ClockWatch
from deniable_gateway.spool.address import open_spool
from deniable_gateway.spool.block_files import require_format, write_block
from deniable_gateway.spool.block_format import SpooledReport
from deniable_gateway.spool.notices import CLOSED, RELAYS, decode_closed, notices_reader
from deniable_gateway.spool.options import IntakeOptions
from deniable_gateway.spool.relay_tokens import NO_RELAYS, RelayTokens
from deniable_gateway.suspension import Suspension
from deniable_gateway.upload.front import Front
from deniable_gateway.upload.gate import UploadGate
from deniable_gateway.upload.mirror import fetch_mirror
from deniable_gateway.upload.published import PublishedPages
from deniable_gateway.upload.sealed_uploads import SealedReport, SealedUploads, UploadLimits
from deniable_gateway.upload.upload_queue import UploadQueue
from deniable_shared.errors import DeniableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.manifest.epochs import Clock

TICK_SECONDS = 5.0

logger = logging.getLogger(__name__)


class KeylessIntake:
    """A whole keyless intake over its spool. `tick` reads the consumer's notices."""

    def __init__(
        self,
        options: IntakeOptions,
        *,
        clock: Clock = time.time,
        boot_clock: Clock | None = None,
    ) -> None:
        """Open the intake. Raises SpoolError if this process can read a private key.

        A `clock` without `boot_clock` is not watched.
        """
        options.require_no_key()
        self._spool = open_spool(options.spool)
        self._format = require_format(options.block_format)
        self._read_notices = notices_reader(self._spool)
        suspension = Suspension()
        self._clock_watch = ClockWatch(clock, boot_clock, suspension=suspension)
        self._relays = NO_RELAYS
        self.uploads = SealedUploads(
            self._write,
            limits=UploadLimits(
                options.reports_per_minute_per_prefix,
                options.reports_per_minute_per_collection,
                waiting=math.inf,
            ),
            clock=self._clock_watch.now,
            anonymous=False,
        )
        self._arrivals = UploadQueue(
            self.uploads.take,
            suspension=suspension,
            window_seconds=options.wait_ms / 1_000 if self._spool.batches_uploads else 0.0,
        )
        limiter = None if options.trusted_proxy else self.uploads.limiter
        self.app = Front(
            self._arrivals,
            PublishedPages(self.uploads, suspension=suspension),
            gate=UploadGate(suspension, limiter, is_relay=self._is_relay),
            web_origins=self.uploads.web_origins,
        )

    def tick(self) -> None:
        """Check the clock and read the notices; if that fails, the previous ones stay."""
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

    def close(self) -> None:
        """Store waiting uploads."""
        self._arrivals.stop()

    def _is_relay(self, credential: str, collection: str) -> bool:
        return self._relays.accept(
            credential, self.uploads.find_id(collection), self._clock_watch.now()
        )

    def _write(self, sealed: Sequence[SealedReport]) -> list[bool]:
        records = [SpooledReport(each.collection, each.report.encode()) for each in sealed]
        write_block(self._spool, records, block_format=self._format)
        return [True] * len(records)


@cache
def app() -> Front:
    """Return the intake of this process, with the options of its parent."""
    with default_sigterm():
        intake = KeylessIntake(IntakeOptions.load())
    start_threads(PeriodicThread(intake.tick, every_seconds=TICK_SECONDS), finish=intake.close)
    return intake.app
