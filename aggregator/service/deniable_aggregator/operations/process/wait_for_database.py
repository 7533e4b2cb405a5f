"""Makes a starting worker wait while the database is unavailable or in use, instead of exiting.

The server restarts a worker that exits. But if a worker exits within seconds of its start, the
server assumes that the program cannot run, and stops all workers. A short restart of the database
would then end the whole service. A waiting worker does not listen yet: uploads go to the others.

A command that runs at the start has the directory for a moment; another service has it for longer.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, TypeVar

from deniable_aggregator.base.errors import StoreUnavailableError
from deniable_gateway.errors import LockedError

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 5.0
"""Longest pause in seconds, as between maintenance runs; earlier pauses double up to it."""

LOCKED_SECONDS = 15.0
"""How long a worker waits for a command that has the directory open, in seconds of pauses."""

T = TypeVar("T")

logger = logging.getLogger(__name__)


def open_when_available(
    opening: Callable[[], T], *, pause: Callable[[float], object] = time.sleep
) -> T:
    """The result of `opening` when the database is available. Other errors propagate.

    Raises LockedError if another process has the directory open for LOCKED_SECONDS.
    """
    seconds, locked = FIRST_PAUSE_SECONDS, 0.0
    while True:
        try:
            return opening()
        except StoreUnavailableError:
            logger.exception("the database is unavailable; this process starts when it is back")
        except LockedError as error:
            if locked >= LOCKED_SECONDS:
                raise
            logger.warning("%s. This process waits for it", error)
            locked += seconds
        pause(seconds)
        seconds = min(2 * seconds, LONGEST_PAUSE_SECONDS)
