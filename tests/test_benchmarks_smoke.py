"""The benchmarks still run on today's code. No peer is needed and no time is judged."""

from __future__ import annotations

import importlib
import math

import pytest

from benchmarks import display, machine
from benchmarks.measure import Contender, Effort, Line, race
from benchmarks.results import Result, Verdict, at_least_share, at_most
from support.tiers import grid

SMOKE = Effort(rounds=1, slice_seconds=0.001, scale=0.01, peers=False, ids=1_000)
IN_PROCESS = (
    "randomize",
    "record",
    "imports",
    "tally",
    "estimate",
    "error",
    "intervals",
    "numbers",
    "central",
    "typical",
)
WITH_SERVERS = ("upload", "overload", "attacks", "ids", "memory", "scale", "web")


def assert_sane(result: Result) -> None:
    assert result.title
    assert result.cases
    assert result.verdicts
    for case in result.cases:
        assert case.ours.values
        for line in case.lines:
            assert len(line.values) == len(case.ours.values)
            assert all(math.isfinite(value) for value in line.values)
    for verdict in result.verdicts:
        assert verdict.reached
        assert verdict.met == (verdict.word == "met")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", grid(IN_PROCESS, by_default=[], long=["error", "typical"]))
def test_a_benchmark_of_ours_returns_figures_for_every_line(name: str) -> None:
    result = importlib.import_module(f"benchmarks.{name}").run(SMOKE)
    assert_sane(result)


@pytest.mark.exhaustive
@pytest.mark.processes
@pytest.mark.parametrize("name", grid(WITH_SERVERS, by_default=["upload"], long=WITH_SERVERS))
def test_a_benchmark_with_a_real_server_returns_figures_for_every_line(name: str) -> None:
    result = importlib.import_module(f"benchmarks.{name}").run(SMOKE)
    assert_sane(result)


def test_contenders_take_as_many_rounds_as_asked_for() -> None:
    lines = race([Contender("a", "ours", list), Contender("b", "limit", dict)], SMOKE)
    assert [len(line.values) for line in lines] == [1, 1]


def test_speed_is_compared_in_the_direction_of_the_unit() -> None:
    quick, slow = Line("q", "ours", "µs", (1.0, 1.0)), Line("s", "peer", "µs", (2.0, 4.0))
    many = Line("m", "ours", "requests/s", (8.0,), higher_is_better=True)
    few = Line("f", "limit", "requests/s", (4.0,), higher_is_better=True)
    assert quick.speed_over(slow) == (3.0, 2.0, 4.0)
    assert many.speed_over(few) == (2.0, 2.0, 2.0)


def test_a_missed_budget_says_by_how_much() -> None:
    line = Line("ours", "ours", "µs", (6.0,))
    half = Line("half", "limit", "requests/s", (10.0,), higher_is_better=True)
    ours = Line("ours", "ours", "requests/s", (4.0,), higher_is_better=True)
    assert at_most("step", 3.0, line, bound="").word == "missed by 2.00 ×"
    assert at_most("step", 6.0, line, bound="").word == "met"
    assert not at_least_share("upload", 0.5, ours, half, bound="").met


def test_results_name_command_machine_and_budgets() -> None:
    verdict = Verdict("step", "1 of 2 µs", 2.0, "nothing")
    page = display.markdown(
        [Result("Step", (), (verdict,))],
        command="run it",
        machine=machine.describe(),
        peers=[("peer", "1.0", "remark")],
    )
    assert "`run it`" in page
    assert "| step | 1 of 2 µs | met | nothing |" in page
    assert "| peer | 1.0 | remark |" in page


def page_of(*results: Result) -> str:
    return display.markdown(results, command="run it", machine=[("a", "b")], peers=[("p", "1", "")])


def test_a_section_measured_again_leaves_all_others_as_they_were() -> None:
    old = Result("Step", (), (Verdict("step", "1 of 2 µs", 2.0, ""),), ("old remark",))
    other = Result("Other", (), (Verdict("other", "3 of 4 µs", 1.3, ""),), ("other remark",))
    new = Result("Step", (), (Verdict("step", "9 of 2 µs", 0.2, ""),), ("new remark",))
    for page in (page_of(old, other), page_of(other, old)):
        again = display.updated(page, [new], measured="")
        assert again == page.replace("old remark", "new remark").replace(
            "| step | 1 of 2 µs | met |", "| step | 9 of 2 µs | missed by 5.00 × |"
        )


def test_a_section_measured_for_the_first_time_is_added_with_its_budgets() -> None:
    old = Result("Step", (), (Verdict("step", "1 of 2 µs", 2.0, ""),), ("a remark",))
    new = Result("More", (), (Verdict("more", "5 of 6 µs", 1.2, ""),), ("new remark",))
    again = display.updated(page_of(old), [new], measured="Measured alone.")
    assert display.updated(again, [new], measured="Measured alone.") == again
    assert again.count("| more | 5 of 6 µs | met |") == 1
    assert again.index("| step |") < again.index("| more |") < again.index("## Step")
    assert again.rstrip().endswith("## More\n\nMeasured alone.\n\n- new remark")
