"""What became of the requests: counted, timed, and said in one document."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

STATUS_BYTES = 17
ACCEPTED = 200


@dataclass(slots=True)
class LoadResult:
    """Latencies in seconds from when a request was due to its answer's last byte."""

    reports_per_request: int
    latencies: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    refused: int = 0
    failed: int = 0
    seconds: float = 0.0

    def add(self, status: int, body: bytes, latency: float) -> None:
        """One answer."""
        self.statuses[status] += 1
        self.latencies.append(latency)
        if status == ACCEPTED:
            self.refused += len(body) // STATUS_BYTES

    @property
    def accepted(self) -> int:
        """Reports that the service says it keeps."""
        return self.statuses[ACCEPTED] * self.reports_per_request - self.refused

    def document(self) -> dict[str, object]:
        """For `--json`."""
        taken = max(self.seconds, 1e-9)
        return {
            "requests": len(self.latencies),
            "failed": self.failed,
            "seconds": round(self.seconds, 3),
            "statuses": {str(status): n for status, n in sorted(self.statuses.items())},
            "accepted": self.accepted,
            "refused": self.refused,
            "requests_per_second": round(len(self.latencies) / taken, 1),
            "reports_per_second": round(self.accepted / taken, 1),
            "p50_ms": _milliseconds(self.latencies, 0.5),
            "p99_ms": _milliseconds(self.latencies, 0.99),
        }


def percentile(samples: Sequence[float], share: float) -> float:
    """The sample below which `share` of them lie (nearest rank)."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _milliseconds(latencies: Sequence[float], share: float) -> float | None:
    return round(percentile(latencies, share) * 1e3, 3) if latencies else None
