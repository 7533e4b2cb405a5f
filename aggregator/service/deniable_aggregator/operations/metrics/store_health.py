"""What the housekeeping sees each time it comes round: does the store answer, how far is it behind.

Nothing that is counted carries a time, so the roll-up's lag is seen from outside: batches are
numbered, and whatever was there at an earlier look and still is has waited since that look.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from deniable_shared.manifest.epochs import Clock

if TYPE_CHECKING:
    from deniable_aggregator.store.protocols import Maintenance


class StoreHealth:
    """`check` is called by one thread; the rest may be read from any."""

    def __init__(self, store: Maintenance, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._earlier: deque[tuple[float, int]] = deque()
        self.up = True
        self.batches = 0
        self.lag_seconds = 0.0

    def check(self) -> None:
        """Ask the store; raises what it raises."""
        self.up = False
        waiting = self._store.rollup_backlog()
        self.up = True
        now = self._clock()
        while self._earlier and (not waiting.batches or self._earlier[0][1] < waiting.oldest):
            self._earlier.popleft()
        self.batches = waiting.batches
        self.lag_seconds = max(0.0, now - self._earlier[0][0]) if self._earlier else 0.0
        if waiting.batches and (not self._earlier or waiting.newest > self._earlier[-1][1]):
            self._earlier.append((now, waiting.newest))
