"""Contenders race in interleaved rounds, so that a neighbour's load falls on all of them alike."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Run = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Effort:
    """How long a benchmark may take: rounds, the seconds of one slice, and the size of its data."""

    rounds: int = 7
    slice_seconds: float = 0.04
    scale: float = 1.0
    peers: bool = True
    ids: int = 1_000_000  # report ids on disk while the aggregator's memory is looked at
    sealed: int = 1_200_000  # reports that both engines open and count

    def sized(self, count: int, *, least: int = 1) -> int:
        """`count` scaled to this effort, never below `least`."""
        return max(least, int(count * self.scale))


FULL = Effort()
QUICK = Effort(rounds=3, slice_seconds=0.01, scale=0.1, ids=20_000)


@dataclass(frozen=True, slots=True)
class Contender:
    """One way of doing the job; a call of `run` does it `operations` times."""

    name: str
    role: str  # "ours", "peer" or "limit"
    run: Run
    operations: int = 1
    note: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """What one contender reached: a figure a round, in `unit`."""

    name: str
    role: str
    unit: str
    values: tuple[float, ...]
    note: str = ""
    higher_is_better: bool = False

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def speed_over(self, other: Line) -> tuple[float, float, float]:
        """How many times as fast (or small) as `other`: median, least and greatest round."""
        pairs = zip(self.values, other.values, strict=True)
        ratios = [ours / its if self.higher_is_better else its / ours for ours, its in pairs]
        return statistics.median(ratios), min(ratios), max(ratios)


def race(
    contenders: Sequence[Contender], effort: Effort, *, unit: str = "µs", per_second: float = 1e6
) -> tuple[Line, ...]:
    """Time all contenders in turn, `effort.rounds` times; figures are per operation."""
    loops = [_loops(contender.run, effort.slice_seconds) for contender in contenders]
    figures: list[list[float]] = [[] for _ in contenders]
    for turn in range(effort.rounds):
        for offset in range(len(contenders)):
            index = (offset + turn) % len(contenders)  # no library always runs after the same one
            seconds = _slice(contenders[index].run, loops[index])
            operations = loops[index] * contenders[index].operations
            figures[index].append(seconds / operations * per_second)
    return tuple(
        Line(contender.name, contender.role, unit, tuple(values), contender.note)
        for contender, values in zip(contenders, figures, strict=True)
    )


def _loops(run: Run, seconds: float) -> int:
    """How many calls fill one slice; the first call is a warm-up and is not timed."""
    run()
    loops = 1
    while (took := _slice(run, loops)) < seconds / 4:
        loops *= 4
    return max(1, round(loops * seconds / took))


def _slice(run: Run, loops: int) -> float:
    started = time.perf_counter()
    for _ in range(loops):
        run()
    return time.perf_counter() - started


def percentile(samples: Sequence[float], share: float) -> float:
    """The sample below which `share` of them lie (nearest rank)."""
    ordered = sorted(samples)
    return ordered[math.ceil(share * len(ordered)) - 1]
