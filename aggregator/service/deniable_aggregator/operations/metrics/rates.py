"""Rates of reports by outcome, from two samples of the counters.

Counters have no time, and the database stores no time of a report. These values are only in memory:
rates of the last two minutes, and totals every ten minutes of the last day.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.operations.metrics.metrics import Metrics
    from deniable_shared.manifest.epochs import Clock

WINDOW_SECONDS = 120.0
SLOT_SECONDS = 600
HISTORY_SECONDS = 86_400

ReportOutcome = tuple[str, str]
"""Collection id, and the outcome of a report: "counted", "duplicate" or a rejection's reason."""


@dataclass(frozen=True, slots=True)
class CounterTotals:
    """The counters at a moment: reports by outcome, upload requests by status."""

    at: float
    reports: Mapping[ReportOutcome, float]
    uploads: Mapping[str, float]


class ReportRates:
    """Only one thread may call `sample`; any thread may read."""

    def __init__(self, metrics: Metrics, *, clock: Clock) -> None:
        self._metrics = metrics
        self._clock = clock
        self._samples: deque[tuple[float, Mapping[ReportOutcome, float]]] = deque()
        self._history: deque[CounterTotals] = deque()
        self._lock = threading.Lock()

    def sample(self) -> None:
        """Take a sample of all counters."""
        now, totals = self._clock(), self._metrics.reports_so_far()
        with self._lock:
            if not self._history or now // SLOT_SECONDS > self._history[-1].at // SLOT_SECONDS:
                uploads = self._metrics.uploads_so_far()
                self._history.append(CounterTotals(now, totals, uploads))
                while self._history[0].at < now - HISTORY_SECONDS:
                    self._history.popleft()
            self._samples.append((now, totals))
            while self._samples[0][0] < now - WINDOW_SECONDS:
                self._samples.popleft()

    def history(self) -> list[CounterTotals]:
        """Totals at the start of each ten minutes, oldest first, then now; empty at first."""
        with self._lock:
            kept = list(self._history)
        if not kept:
            return []
        now = CounterTotals(
            self._clock(), self._metrics.reports_so_far(), self._metrics.uploads_so_far()
        )
        return [*kept, now]

    def per_minute(self) -> Mapping[ReportOutcome, float] | None:
        """Reports a minute for each outcome that occurred; None before the second sample."""
        with self._lock:
            if len(self._samples) < 2:
                return None
            (started, before), (ended, after) = self._samples[0], self._samples[-1]
        minutes = (ended - started) / 60
        if minutes <= 0:
            return None
        gained = {outcome: n - before.get(outcome, 0.0) for outcome, n in after.items()}
        return {outcome: n / minutes for outcome, n in gained.items() if n > 0}
