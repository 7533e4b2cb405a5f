"""The page on capacity says what was measured, and its model has the shape it claims."""

from __future__ import annotations

import itertools
import math
import re
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "deploy" / "CAPACITY.md").read_text("utf-8")
RESULTS = (ROOT / "tests" / "benchmarks" / "RESULTS.md").read_text("utf-8")
MODEL: dict[str, Any] = runpy.run_path(str(ROOT / "deploy" / "export-capacity"))
OF = MODEL["measured"](RESULTS)
MINUTES = 1_440
LINEAR = (
    "cores_to_take",
    "cores_to_take_relayed",
    "cores_to_open",
    "spool_gigabytes",
    "ids_gigabytes",
)


def arrivals(reports: int) -> list[float]:
    """A day by the minute: nights, days, and one minute of four times the mean."""
    shape = [1 + math.sin(2 * math.pi * (minute / MINUTES - 0.25)) for minute in range(MINUTES)]
    shape[MINUTES // 2] = 4 * (sum(shape) - shape[MINUTES // 2]) / (MINUTES - 4)
    return [reports * weight / sum(shape) for weight in shape]


def backlog(reports: int, cores: float, days: int = 7) -> list[float]:
    """Reports that wait in the spool at the end of every minute."""
    waits, actual = 0.0, []
    opened = cores * OF.opened_per_second * 60
    for arrived in arrivals(reports) * days:
        waits = max(0.0, waits + arrived - opened)
        actual.append(waits)
    return actual


def test_the_page_has_the_figures_of_the_results() -> None:
    assert MODEL["rendered"](PAGE, RESULTS) == PAGE


def test_another_measurement_would_be_another_page() -> None:
    figure = f"{OF.opened_per_second:,.0f} reports/s"
    assert figure in RESULTS
    assert MODEL["rendered"](PAGE, RESULTS.replace(figure, "12 reports/s")) != PAGE


def test_results_without_a_figure_are_refused() -> None:
    with pytest.raises(ValueError, match="has no line"):
        MODEL["measured"](RESULTS.replace("in the spool", ""))


@pytest.mark.parametrize("part", LINEAR)
def test_ten_times_the_reports_need_ten_times_as_much(part: str) -> None:
    needs = [getattr(MODEL["need"](10**power, OF), part) for power in range(3, 12)]
    assert [b / a for a, b in itertools.pairwise(needs)] == pytest.approx([10] * 8)


def test_money_rises_with_reports_and_never_falls_below_two_cores() -> None:
    money = [MODEL["need"](10**power, OF).dollars_a_month for power in range(12)]
    assert money == sorted(money)
    least = 2 * MODEL["CORE_HOUR"] * MODEL["HOURS"]
    assert money[0] == pytest.approx(least)
    assert money[11] / money[10] == pytest.approx(10, rel=0.01)


@pytest.mark.parametrize("reports", [10**7, 10**9, 10**10])
def test_the_busiest_minute_uses_the_cores_as_planned(reports: int) -> None:
    cores = MODEL["need"](reports, OF).cores_to_take
    busiest = max(arrivals(reports)) / 60 * OF.request_seconds
    assert busiest / cores == pytest.approx(MODEL["UTILISATION"], rel=0.01)


@pytest.mark.parametrize("reports", [10**7, 10**10])
def test_the_spool_stays_below_a_day_and_is_empty_every_night(reports: int) -> None:
    actual = MODEL["need"](reports, OF)
    waits = backlog(reports, actual.cores_to_open)
    assert max(waits) * OF.spool_bytes / 1e9 < actual.spool_gigabytes
    assert max(waits) > 0
    days = [waits[at : at + MINUTES] for at in range(0, len(waits), MINUTES)]
    assert all(min(day) == 0 for day in days)


def test_half_of_the_cores_never_catch_up() -> None:
    waits = backlog(10**9, MODEL["need"](10**9, OF).cores_to_open * MODEL["UTILISATION"] / 2)
    ends = waits[MINUTES - 1 :: MINUTES]
    grown = [b - a for a, b in itertools.pairwise(ends)]
    assert grown == pytest.approx([10**9 / 2] * 6, rel=0.01)


def test_reads_of_ids_are_as_many_as_the_page_says() -> None:
    result = [
        int(n.replace(",", ""))
        for n in re.findall(r"are ([\d,]+)(?: reads a second|, which)", PAGE)
    ]
    assert result == pytest.approx([1e9 / 86_400, 1e10 / 86_400], rel=0.05)


def test_a_figure_that_is_no_amount_is_refused() -> None:
    with pytest.raises(ValueError, match="id_bytes must be positive, got 0"):
        replace(OF, id_bytes=0)
