"""What an ingest measures, as a seam: `metrics.Metrics` does it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol


class IngestMetrics(Protocol):
    """Counts and times what happens to uploads. Thread-safe."""

    def commit(self, reports: int) -> AbstractContextManager[None]:
        """Times the commit in the block; counts it as failed if the block raises."""
        ...

    def count_reports(self, collection: str, outcome: str, reports: int) -> None:
        """`collection` is the id of a registered one; `outcome` a verdict or a code's slug."""
        ...

    def count_upload(self, status: str, seconds: float) -> None:
        """An upload that was answered with this status in so many seconds."""
        ...

    def count_request(self, operation: str | None, status: int) -> None:
        """Another request; `operation` is None if none takes it."""
        ...
