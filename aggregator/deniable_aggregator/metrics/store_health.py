"""What the housekeeping sees each time it comes round: does the store answer, how far is it behind.

Nothing that is counted carries a time, so the roll-up's lag is seen from outside: batches are
numbered, and whatever was there at an earlier look and still is has waited since that look.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from deniable_shared.epochs import Clock

if TYPE_CHECKING:
    from deniable_aggregator.store.protocols import Maintenance


class Watch:
    """`look` is called by one thread; the rest may be read from any."""

    def __init__(self, store: Maintenance, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()
        self.up = True
        self.batches = 0
        self.lag_seconds = 0.0

    def look(self) -> None:
        """Ask the store; raises what it raises."""
        self.up = False
        waiting = self._store.waiting()
        self.up = True
        now = self._clock()
        while self._seen and (not waiting.batches or self._seen[0][1] < waiting.oldest):
            self._seen.popleft()
        self.batches = waiting.batches
        self.lag_seconds = max(0.0, now - self._seen[0][0]) if self._seen else 0.0
        if waiting.batches and (not self._seen or waiting.newest > self._seen[-1][1]):
            self._seen.append((now, waiting.newest))
