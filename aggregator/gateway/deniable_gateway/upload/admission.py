"""How many uploads are in hand at once, and what those beyond are told.

With a disk that answers, one of the places is free within milliseconds: a burst waits, nobody
notices. With one that does not, all places are taken by those who wait for it. Then the others are
told at once to come back later, so that threads are left for whoever asks how the service is.

Who waits gets a place in no promised order. Newest first would help if many waited here; but the
server's spare threads alone can, and a commit takes whatever is opened. Tried at three times what a
process can take, with 512 connections, it changed neither throughput nor latency.
"""

from __future__ import annotations

import threading

from deniable_gateway.problem import Problem, jittered

RETRY_SECONDS = 5.0
PATIENCE_SECONDS = 1.0


class Admission:
    """A number of places. Thread-safe."""

    def __init__(self, places: int, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._places = places
        self._free = threading.Semaphore(places)
        self._patience_seconds = patience_seconds
        self._stalled = False

    def enter(self) -> None:
        """Take a place, to be given back with `leave`; Problem("unavailable") if none gets free.

        Once one has waited in vain nobody waits, until a place is free again.
        """
        if self._free.acquire(blocking=False):
            self._stalled = False
            return
        if self._stalled or not self._free.acquire(timeout=self._patience_seconds):
            self._stalled = True
            raise Problem(
                "unavailable",
                f"{self._places} uploads wait to be stored, and no more may",
                retry_after=jittered(RETRY_SECONDS),
            )

    def leave(self) -> None:
        """Give the place back."""
        self._free.release()
