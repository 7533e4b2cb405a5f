"""What came in over the last hours, and which upload requests were refused, and why."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from deniable_aggregator.operations.metrics.rates import SLOT_SECONDS, CounterTotals
from deniable_aggregator.store.rows import CommitStatus
from deniable_aggregator.web.dashboard.charts import Cell, Chart
from deniable_aggregator.web.dashboard.formatting import count

if TYPE_CHECKING:
    from collections.abc import Collection as Ids
    from collections.abc import Mapping, Sequence

STATUS_MEANINGS: Mapping[str, str] = {
    "400": "not a valid upload: check the version of the client, and proxies that change requests",
    "401": "no token where one is needed",
    "403": "the token may not upload",
    "404": "the address does not exist",
    "408": "sent too slowly",
    "411": "did not state their length",
    "413": "too large",
    "415": "wrong media type",
    "429": "too many from one address: devices try again later",
    "500": "the server failed: see its log",
    "503": "the service was busy or paused: devices try again later",
}
_LINES = ("Accepted reports", "Rejected reports", "Refused requests")


def refused_requests(history: Sequence[CounterTotals]) -> list[tuple[str, int, str]]:
    """Status, requests since the start, and what it means: the most frequent first."""
    uploads = history[-1].uploads if history else {}
    refused = [(status, int(n)) for status, n in uploads.items() if _is_refusal(status) and n]
    refused.sort(key=lambda each: -each[1])
    return [(status, n, STATUS_MEANINGS.get(status, "")) for status, n in refused]


def hours_chart(history: Sequence[CounterTotals], visible: Ids[str]) -> Chart | None:
    """Reports and refused requests of each ten minutes; reports of `visible` collections alone.

    None before there were two looks. The last ten minutes are not over.
    """
    steps = list(pairwise(history))
    if not steps:
        return None
    ticks = [_time(before.at) for before, _ in steps]
    gained = [_gained(before, after, visible) for before, after in steps]
    lines = list(zip(*gained, strict=True))
    minutes = SLOT_SECONDS // 60
    none = [None] * len(ticks)
    return Chart(
        name="hours",
        title="The last hours",
        summary=f"Reports and refused requests each {minutes} minutes; the table has every number",
        kind="lines",
        drawing={
            "ticks": ticks,
            "open": [place == len(ticks) - 1 for place in range(len(ticks))],
            "name": f"In {minutes} minutes",
            "lines": [
                {"label": name, "value": numbers, "lower": none, "upper": none}
                for name, numbers in zip(_LINES, lines, strict=True)
            ],
        },
        columns=("From, UTC", *_LINES),
        rows=[
            (
                Cell(tick, note="so far" if tick is ticks[-1] else ""),
                *(Cell(count(n), n) for n in row),
            )
            for tick, row in zip(ticks, gained, strict=True)
        ],
        unit="",
        digits=0,
        key=_LINES,
    )


def _gained(before: CounterTotals, after: CounterTotals, visible: Ids[str]) -> tuple[int, int, int]:
    """Accepted, rejected, refused between two looks; a counter that began again counts from 0."""
    accepted = rejected = refused = 0.0
    for (collection, outcome), n in after.reports.items():
        if collection not in visible:
            continue
        more = _more(n, before.reports.get((collection, outcome), 0.0))
        if outcome == CommitStatus.COUNTED.value:
            accepted += more
        elif outcome != CommitStatus.DUPLICATE.value:
            rejected += more
    for status, n in after.uploads.items():
        if _is_refusal(status):
            refused += _more(n, before.uploads.get(status, 0.0))
    return int(accepted), int(rejected), int(refused)


def _note(place: int, ticks: Sequence[str]) -> str:
    return "so far" if place == len(ticks) - 1 else ""


def _more(now: float, before: float) -> float:
    return now if now < before else now - before


def _is_refusal(status: str) -> bool:
    return status >= "400"


def _time(second: float) -> str:
    return f"{datetime.fromtimestamp(second, UTC):%H:%M}"
