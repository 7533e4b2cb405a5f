"""How fast reports come, by what became of them: two looks at the counters, and the time between.

Counters have no time, and the database keeps none of any report. What is here is in memory alone
and covers the last two minutes.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING

from deniable_shared.manifest.epochs import Clock

if TYPE_CHECKING:
    from deniable_aggregator.operations.metrics.metrics import Metrics

WINDOW_SECONDS = 120.0

ReportOutcome = tuple[str, str]
"""Collection id, and what became of a report: "counted", "duplicate", or why it was rejected."""


class ReportRates:
    """`sample` is called by one thread; the rest may be read from any."""

    def __init__(self, metrics: Metrics, *, clock: Clock) -> None:
        self._metrics = metrics
        self._clock = clock
        self._samples: deque[tuple[float, Mapping[ReportOutcome, float]]] = deque()
        self._lock = threading.Lock()

    def sample(self) -> None:
        """Note how many there are of each."""
        now, totals = self._clock(), self._metrics.reports_so_far()
        with self._lock:
            self._samples.append((now, totals))
            while self._samples[0][0] < now - WINDOW_SECONDS:
                self._samples.popleft()

    def per_minute(self) -> Mapping[ReportOutcome, float] | None:
        """Reports a minute of each outcome that there was; None before there were two looks."""
        with self._lock:
            if len(self._samples) < 2:
                return None
            (started, before), (ended, after) = self._samples[0], self._samples[-1]
        minutes = (ended - started) / 60
        if minutes <= 0:
            return None
        gained = {outcome: n - before.get(outcome, 0.0) for outcome, n in after.items()}
        return {outcome: n / minutes for outcome, n in gained.items() if n > 0}
