"""A worker that starts while the database is away waits for it; it does not die.

The server starts a worker again that died, but one that dies within seconds of its start it takes
for a program that cannot run, and stops, with the workers that serve. A database that restarts in
such a second would end the whole service. Whoever waits here listens on no port yet: uploads go to
the others.
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
"""As often as housekeeping tries again; the pauses before are doubled until then."""

T = TypeVar("T")

logger = logging.getLogger(__name__)


def open_when_available(
    opening: Callable[[], T], *, pause: Callable[[float], object] = time.sleep
) -> T:
    """What `opening` returns as soon as the database lets it; any other error is raised at once."""
    seconds = FIRST_PAUSE_SECONDS
    while True:
        try:
            return opening()
        except StoreUnavailableError:
            logger.exception("the database is away; this process starts once it is back")
        pause(seconds)
        seconds = min(2 * seconds, LONGEST_PAUSE_SECONDS)
