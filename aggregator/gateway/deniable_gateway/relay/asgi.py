"""A relay as a process: its queue, its maintenance thread, its application.

granian --interface asgi --factory deniable_gateway.relay.asgi:app
"""

from __future__ import annotations

import logging
import math
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from deniable_gateway.background_threads import PeriodicThread, default_sigterm, start_threads
from deniable_gateway.clock.watch import ClockWatch
from deniable_gateway.directory_lock import DirectoryLock
from deniable_gateway.errors import DataDirectoryError
from deniable_gateway.relay.forwarder import Forwarder
from deniable_gateway.relay.options import RelayOptions
from deniable_gateway.relay.queue import NAME, ReportQueue
from deniable_gateway.relay.upstream import Send, Upstream
from deniable_gateway.suspension import Suspension
from deniable_gateway.upload.front import Front
from deniable_gateway.upload.gate import UploadGate
from deniable_gateway.upload.mirror import fetch_mirror
from deniable_gateway.upload.published import PublishedPages
from deniable_gateway.upload.sealed_uploads import SealedUploads, UploadLimits
from deniable_gateway.upload.upload_queue import UploadQueue
from deniable_shared.errors import DeniableError

if TYPE_CHECKING:
    from deniable_shared.manifest.epochs import Clock

TICK_SECONDS = 30.0
MIRROR_SECONDS = 60.0

logger = logging.getLogger(__name__)


class Relay:
    """A whole relay over its directory.

    Call `tick` often, from one thread, and `close` at the end.
    """

    def __init__(
        self,
        options: RelayOptions,
        *,
        clock: Clock = time.time,
        boot_clock: Clock | None = None,
        send: Send | None = None,
    ) -> None:
        """Open the relay.

        `send` is passed to Upstream. Raises LockedError if another relay runs here.

        A `clock` without `boot_clock` is not watched.
        """
        folder = options.directory
        if not folder.is_dir():
            raise DataDirectoryError(f"there is no directory {folder}: make one for the relay")
        self._lock = DirectoryLock.acquire(folder)
        self._clock = clock
        self._fetched_at = -math.inf
        suspension = Suspension()
        self._clock_watch = ClockWatch(clock, boot_clock, suspension=suspension, folder=folder)
        self.queue = ReportQueue(folder / NAME)
        self.uploads = SealedUploads(
            self.queue.accept,
            limits=UploadLimits(options.reports_per_minute),
            clock=self._clock_watch.now,
            waiting=self.queue.waiting(),
        )
        self._upstream = Upstream(options.to, token_file=Path(options.token_file), send=send)
        self._forwarder = Forwarder(
            self.queue, self._upstream.post, min_batch=options.batch, clock=clock
        )
        limiter = None if options.trusted_proxy else self.uploads.limiter
        self._arrivals = UploadQueue(self.uploads.take, suspension=suspension)
        self.app = Front(
            self._arrivals,
            PublishedPages(self.uploads, suspension=suspension),
            gate=UploadGate(suspension, limiter),
            web_origins=self.uploads.web_origins,
        )

    def tick(self) -> None:
        """Copy what the aggregator publishes, if that is due, and pass on closed batches.

        Does nothing while the clock is in doubt: it would forget reports of epochs that are not
        over.
        """
        if not self._clock_watch.tick():
            return
        self._refresh_mirror()
        if self.uploads.mirror is not None:
            self._forwarder.run(self.uploads.mirror)
            self.uploads.waiting = self.queue.waiting()

    def close(self) -> None:
        """Store waiting uploads, close the file, free the directory."""
        self._arrivals.stop()
        self.queue.close()
        self._lock.release()

    def _refresh_mirror(self) -> None:
        if self._clock() < self._fetched_at + MIRROR_SECONDS:
            return
        try:
            self.uploads.mirror = fetch_mirror(self._upstream.get, self.uploads.mirror)
        except DeniableError as error:
            logger.warning("what the aggregator publishes cannot be read: %s", error)
            return
        self._fetched_at = self._clock()


@cache
def app() -> Front:
    """Return the relay of this process, with the options of its parent."""
    with default_sigterm():
        relay = Relay(RelayOptions.load())
    start_threads(
        PeriodicThread(relay.tick, every_seconds=TICK_SECONDS),
        finish=relay.close,
    )
    return relay.app
