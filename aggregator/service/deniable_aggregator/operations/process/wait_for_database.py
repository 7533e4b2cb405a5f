"""Makes a starting worker wait while the database is unavailable, instead of exiting.

The server restarts a worker that exits. But if a worker exits within seconds of its start, the
server assumes that the program cannot run, and stops all workers. A short restart of the database
would then end the whole service. A waiting worker does not listen yet: uploads go to the others.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, TypeVar

from deniable_aggregator.base.errors import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 5.0
"""Longest pause in seconds, as between maintenance runs; earlier pauses double up to it."""

T = TypeVar("T")

logger = logging.getLogger(__name__)


def open_when_available(
    opening: Callable[[], T], *, pause: Callable[[float], object] = time.sleep
) -> T:
    """The result of `opening` when the database is available. Other errors propagate."""
    seconds = FIRST_PAUSE_SECONDS
    while True:
        try:
            return opening()
        except StoreUnavailableError:
            logger.exception("the database is unavailable; this process starts when it is back")
        pause(seconds)
        seconds = min(2 * seconds, LONGEST_PAUSE_SECONDS)
