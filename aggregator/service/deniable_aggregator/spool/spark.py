"""Apache Spark (extra `spark`, and Java 17): executors open whole blocks, the driver gets sums.

Only paths go out: executors open the files themselves, so the spool and the keys must be there
under the same paths, and this package must be installed. No shuffle, no function a row.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import ScaleError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyarrow import RecordBatch
    from pyspark.sql import SparkSession

AHEAD = 2
"""Spark jobs that run at a time, so that the last task of one leaves no executor idle."""

TASKS_A_SLOT = 2


class SparkEngine:
    """`master`: Spark's master URL; by default that of Spark's configuration."""

    def __init__(self, master: str | None = None) -> None:
        self._master = master

    def __call__(self, work: Callable[[str], bytes], paths: Sequence[str]) -> Iterator[bytes]:
        """The result of `work` for every path, in order. Raises ScaleError if Spark fails."""
        with _session(self._master) as spark, ThreadPoolExecutor(AHEAD) as pool:
            size = TASKS_A_SLOT * spark.sparkContext.defaultParallelism
            waiting: deque[Future[list[bytes]]] = deque()
            for start in range(0, len(paths), size):
                waiting.append(pool.submit(_collect, spark, work, paths[start : start + size]))
                if len(waiting) > AHEAD:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()


def _collect(
    spark: SparkSession, work: Callable[[str], bytes], paths: Sequence[str]
) -> list[bytes]:
    """Run one Spark job with a task for each path."""
    from pyspark.errors import PySparkException

    def run_batches(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
        from pyarrow import binary, record_batch, schema

        for batch in batches:
            results = [work(paths[number]) for number in batch["id"].to_pylist()]
            yield record_batch([results], schema=schema([("partial", binary())]))

    tasks = spark.range(0, len(paths), 1, len(paths))
    try:
        rows = tasks.mapInArrow(run_batches, "partial binary").collect()
    except PySparkException as error:
        raise ScaleError(f"Spark failed: {_reason(error)}") from error
    return [bytes(row.partial) for row in rows]


def _reason(error: Exception) -> str:
    """The message of our exception on the executor, or the first line of Spark's."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith("deniable_aggregator.base.errors.")]
    return ours[-1].partition(": ")[2] if ours else (lines or ["without a reason"])[0]


@contextmanager
def _session(master: str | None) -> Iterator[SparkSession]:
    """The present Spark session, or a new one that ends with the block."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise ScaleError(
            'Spark is not installed: pip install "deniable-aggregator[spark]", and Java 17'
        ) from error
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("deniable spool tally")
    spark = (builder if master is None else builder.master(master)).getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()
