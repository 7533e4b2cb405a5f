"""The small parts of pages: numbers in words, spans, lines, addresses, the list of pages."""

from __future__ import annotations

from math import e
from pathlib import Path

import pytest

from deniable_aggregator.documents.describe import days_of, when
from deniable_aggregator.documents.estimates import LabelEstimate
from deniable_aggregator.web.dashboard import svg
from deniable_aggregator.web.dashboard.charts import Cell, Chart
from deniable_aggregator.web.dashboard.estimate_charts import _margin
from deniable_aggregator.web.dashboard.estimate_tables import plain_label
from deniable_aggregator.web.dashboard.formatting import (
    amount,
    chance,
    count,
    digits_for,
    plural,
    share,
)
from deniable_aggregator.web.dashboard.guarantees import _times, _up
from deniable_aggregator.web.dashboard.page import Page
from deniable_aggregator.web.dashboard.pages import menu, pages
from deniable_aggregator.web.dashboard.paging import paginate
from deniable_shared.domains import Choice, Record

THIN = "\u202f"


def test_numbers_are_grouped_and_carry_a_true_minus() -> None:
    assert count(1_234_567) == f"1{THIN}234{THIN}567"
    assert share(-0.0123) == f"−1.2{THIN}%"
    assert share(-0.0000001) == f"0.0{THIN}%"
    assert amount(1234.5, 1) == f"1{THIN}234.5"
    assert (count(None), share(None), amount(None)) == ("–",) * 3


def cell(frequency: float, lower: float, upper: float) -> LabelEstimate:
    return LabelEstimate(
        label="os=x, beta=no",
        count=100 * frequency,
        frequency=frequency,
        std_error=0.01,
        lower=lower,
        upper=upper,
        reports_to_leave_interval=1,
        devices_to_leave_interval=1,
    )


@pytest.mark.parametrize(
    ("estimate", "margin"),
    [
        (cell(0.1, 0.06, 0.14), f"± 4.0{THIN}%"),
        (cell(-0.002, 0.0, 0.003), f"up to 0.3{THIN}%"),
        (cell(1.001, 0.992, 1.0), f"from 99.2{THIN}%"),
    ],
)
def test_a_margin_of_an_interval_that_is_cut_is_its_other_end(
    estimate: LabelEstimate, margin: str
) -> None:
    assert _margin(estimate, 1) == margin


def test_labels_of_records_are_plain() -> None:
    devices = Record((("os", ("x", "y")), ("beta", ("no", "yes"))))
    assert plain_label(devices, "os=x, beta=no") == "x, no"
    assert plain_label(Choice(("os=x", "b")), "os=x") == "os=x"


def test_plural_follows_the_number() -> None:
    assert plural(1, "report") == "1 report"
    assert plural(0, "report") == "0 reports"
    assert plural(2, "batch", "batches") == "2 batches"


def test_digits_show_the_first_one_of_half_an_interval() -> None:
    assert digits_for([]) == digits_for([40.0]) == digits_for([1.6]) == 1
    assert digits_for([0.16]) == 2
    assert digits_for([1e-9]) == 4


def test_times_are_told_where_they_are_no_midnights() -> None:
    assert when(86_400 * 20_000) == "2024-10-04"
    assert when(86_400 * 20_000 + 3_600) == "2024-10-04 01:00"


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 1.1, 2.0, 3.9, 4.0, 7.0, 12.0])
def test_no_bound_is_rounded_down(epsilon: float) -> None:
    times = float(_times(epsilon).removesuffix(" times").replace(THIN, ""))
    assert e**epsilon <= times * (1 + 1e-12) <= 1.02 * e**epsilon


def test_a_list_is_shown_some_at_a_time_and_never_beyond_its_end() -> None:
    part = paginate(list(range(60)), 3, 25)
    assert (part.items, part.first, part.last, part.pages) == (list(range(50, 60)), 51, 60, 3)
    assert paginate(list(range(60)), 99, 25) == part
    assert paginate([], 1, 25).pages == 1


def test_a_chart_is_refused_whose_table_does_not_fit_its_columns() -> None:
    with pytest.raises(ValueError, match="rows must have 2 cells each, got 1"):
        Chart(
            name="x", title="X", summary="", kind="bars", drawing={}, columns=("a", "b"),
            rows=[(Cell("a"),)],
        )  # fmt: skip


def test_every_page_has_a_template_of_its_name_and_every_template_a_page() -> None:
    folder = Path(svg.__file__).parent
    assert {path.stem for path in (folder / "templates" / "pages").glob("*.html")} == set(pages())
    assert menu()[0][0] == "overview"


def test_a_page_leaves_the_addresses_of_the_api_alone() -> None:
    with pytest.raises(ValueError, match="must start with / and leave /v1/ alone"):
        Page(path="/v1/x", title="X", view=lambda query: {})


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.95, "95"), (0.975, "97.5"), (0.9999, "99.99"), (1 - 0.9999, "0.01"), (0.5, "50")],
)
def test_a_confidence_is_never_rounded_to_another_one(value: float, text: str) -> None:
    assert chance(value) == f"{text}{THIN}%"


def test_epochs_are_said_by_their_days_and_short_ones_by_their_times() -> None:
    assert days_of([20_000, 20_001, 20_002, 20_010], 86_400) == (
        "2024-10-04 to 2024-10-06, 2024-10-14"
    )
    assert days_of([1, 2], 3_600) == "1970-01-01 01:00 to 1970-01-01 02:00"


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([0.39, 0.49], 0.0, 0.5),
        ([-0.02, 0.2], -0.05, 0.2),
        ([0.0], 0.0, 0.01),
        ([], 0.0, 0.01),
        ([float("nan"), None, 1.0], 0.0, 1.0),
    ],
)
def test_an_axis_of_shares_holds_0_and_every_value_in_round_steps(
    values: list[float | None], low: float, high: float
) -> None:
    axis = svg.axis_over(values)
    assert (axis.low, axis.high) == pytest.approx((low, high))
    assert axis.place(axis.low) == 0
    assert axis.place(axis.high) == 100
    assert axis.place(-1e9) == 0


def test_an_axis_has_round_ticks_with_their_unit() -> None:
    ticks = svg.Axis(-0.05, 0.1, 0.05).ticks
    assert [tick.name for tick in ticks] == [f"{n}{THIN}%" for n in ("−5", "0", "5", "10")]
    assert [tick.zero for tick in ticks] == [False, True, False, False]
    assert [tick.name for tick in svg.Axis(0.0, 5.0, 2.5, shares=False).ticks] == ["0", "2.5", "5"]


@pytest.mark.parametrize(("low", "high", "step"), [(0.0, 0.0, 0.1), (0.0, 1.0, 0.0)])
def test_an_axis_that_is_empty_is_refused(low: float, high: float, step: float) -> None:
    with pytest.raises(ValueError, match="low < high and step > 0"):
        svg.Axis(low, high, step)


def test_a_band_goes_along_the_upper_ends_and_back_along_the_lower_ones() -> None:
    ends = {7: svg.Interval(0.5, 0.25, 0.75), 9: svg.Interval(0.5, 0.0, 1.0)}
    band = svg.band_over(svg.Axis(0.0, 1.0, 0.5), ends)
    assert band.area == "0.000,25.000 100.000,0.000 100.000,100.000 0.000,75.000"
    assert band.line == "0.000,50.000 100.000,50.000"


def test_a_period_without_an_estimate_leaves_its_place_in_a_band() -> None:
    ends = {epoch: svg.Interval(0.5, 0.5, 0.5) for epoch in (0, 1, 4)}
    band = svg.band_over(svg.Axis(0.0, 1.0, 0.5), ends)
    assert band.line == "0.000,50.000 25.000,50.000 100.000,50.000"


def test_what_a_device_can_do_is_rounded_up() -> None:
    assert float(_up(0.26651)) == 0.267
    assert float(_up(1.2301)) == 1.24
    assert _up(0.0) == "0"
