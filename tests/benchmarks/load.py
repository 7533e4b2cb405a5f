"""The load generator: a few worker processes with the same orders at the same time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.measure import percentile
from benchmarks.worker import Plan

PACKAGE_PARENT = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of load reached, all workers together."""

    requests: int
    per_second: float
    p50_ms: float
    p99_ms: float
    statuses: dict[int, int]
    refused_bytes: int


class Load:
    """`processes` workers, each with its own reports; a context manager."""

    def __init__(self, processes: int) -> None:
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE_PARENT)}
        self._workers = [
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
            )
            for _ in range(processes)
        ]

    def __enter__(self) -> Load:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self._workers:
            worker.kill() if kind else None
            worker.communicate()

    def prepare(self, count: int, target: dict[str, str | int]) -> None:
        """Seal `count` reports in all."""
        share = -(-count // len(self._workers))
        self._ask({"verb": "prepare", "count": share, "target": target})

    def drive(self, plan: Plan, *, batch: int, spend: str) -> Outcome:
        """Run a plan whose connections are those of all workers together.

        `spend`: the store that takes each report once; "" for a limit that takes any.
        """
        share = max(1, plan.connections // len(self._workers))
        result = {**asdict(plan), "connections": share}
        return _merged(self._ask({"verb": "drive", "plan": result, "batch": batch, "spend": spend}))

    def _ask(self, command: dict[str, object]) -> list[dict[str, Any]]:
        for worker in self._workers:
            assert worker.stdin is not None
            worker.stdin.write(json.dumps(command) + "\n")
            worker.stdin.flush()
        answers = [worker.stdout.readline() for worker in self._workers if worker.stdout]
        if not all(answers):
            raise RuntimeError("a process of the load generator ended; its traceback is above")
        return [json.loads(answer) for answer in answers]


def _merged(answers: list[dict[str, Any]]) -> Outcome:
    statuses: Counter[int] = Counter()
    latencies: list[float] = []
    rate = 0.0
    for answer in answers:
        statuses.update({int(code): count for code, count in answer["statuses"].items()})
        latencies += answer["latencies"]
        rate += answer["requests"] / answer["seconds"]
    return Outcome(
        requests=len(latencies),
        per_second=rate,
        p50_ms=percentile(latencies, 0.5) * 1e3 if latencies else 0.0,
        p99_ms=percentile(latencies, 0.99) * 1e3 if latencies else 0.0,
        statuses=dict(statuses),
        refused_bytes=sum(answer["refused_bytes"] for answer in answers),
    )
