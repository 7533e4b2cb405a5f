"""The page of a comparison without a browser: its periods, both of them drawn, what would show."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from msgspec.structs import replace

from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.documents.comparison import (
    ComparisonDocument,
    DifferenceDocument,
    PeriodDocument,
)
from deniable_aggregator.documents.describe import when
from deniable_aggregator.web.dashboard.comparison_charts import people_needed
from deniable_aggregator.web.dashboard.pages.compare import _needed_text
from support.builders.api_world import DAY, TODAY, World, authored

BOTH = {"dark_mode": True, "beta": True}
DARK = {"dark_mode": True, "beta": False}


@pytest.fixture
def collection(service: World) -> Collection:
    """Five days of two bits, of which today's is open."""
    collection = service.register(authored())
    for epoch in range(TODAY - 4, TODAY + 1):
        service.count(collection, [DARK] * 20 + [BOTH] * 10, epoch=epoch)
        if epoch < TODAY:
            service.running.store.close_epoch(collection.id, epoch, service.clock(), audit=None)
    return collection


def text_of(service: World, query: str = "", status: int = 200) -> str:
    answer = service.page(f"/collections/settings/compare{query}")
    assert answer.status_code == status
    return re.sub(r"[ \n]+", " ", answer.text)


def values(page: str, table: str) -> list[float]:
    found = re.search(rf'data-table="{table}".*?</table>', page)
    assert found is not None
    return [float(value) for value in re.findall(r'<data value="([^"]+)"', found[0])]


def _day(epoch: int) -> str:
    return when(epoch * DAY)


@pytest.mark.slow
@pytest.mark.usefixtures("collection")
def test_closed_periods_are_compared_unless_others_are_asked_for(service: World) -> None:
    page = text_of(service)
    assert f"After: {_day(TODAY - 2)} to {_day(TODAY - 1)}, 60 reports" in page
    assert "so far" not in page
    asked = f"?before_from={_day(TODAY - 1)}&before_to={_day(TODAY - 1)}&from={_day(TODAY)}"
    assert f"After: {_day(TODAY)} so far, 30 reports" in text_of(service, asked)


def test_open_periods_are_compared_where_no_two_are_closed(service: World) -> None:
    collection = service.register(authored())
    for epoch in (TODAY - 1, TODAY):
        service.count(collection, [DARK] * 20 + [BOTH] * 10, epoch=epoch)
    assert f"After: {_day(TODAY)} so far" in text_of(service)


def test_both_periods_are_drawn_with_the_estimates_of_the_api(
    service: World, collection: Collection
) -> None:
    page = text_of(service)
    reply = [
        service.get(
            f"/v1/collections/{collection.id}/estimates?from={first}&to={last}&family=all"
        ).get_json()["estimates"]
        for first, last in ((TODAY - 4, TODAY - 3), (TODAY - 2, TODAY - 1))
    ]
    by_label = [{row["label"]: row for row in rows} for rows in reply]
    table = re.findall(r'data-table="levels".*?</table>', page)[0]
    expected = [
        rows[label][name]
        for label in re.findall(r'<th scope="row">([^<]*)</th>', table)
        for rows in by_label
        for name in ("frequency", "lower", "upper")
    ]
    assert values(page, "levels") == expected


@pytest.mark.slow
@pytest.mark.usefixtures("collection")
def test_days_of_a_period_that_cross_change_places(service: World) -> None:
    straight = f"?before_from={_day(TODAY - 4)}&before_to={_day(TODAY - 3)}&from={_day(TODAY - 2)}"
    crossed = f"?before_from={_day(TODAY - 3)}&before_to={_day(TODAY - 4)}&from={_day(TODAY - 2)}"
    assert values(text_of(service, crossed), "levels") == values(
        text_of(service, straight), "levels"
    )


@pytest.mark.slow
@pytest.mark.usefixtures("collection")
@pytest.mark.parametrize(
    ("query", "field", "said"),
    [
        ("?from=tomorrow&before_to=2027-01-01", "from", "Write a day like 2026-11-22"),
        ("?from=2027-01-01", "before_to", "Write a day like 2026-11-22"),
        (
            "?before_from=2027-01-01&before_to=2027-01-20&from=2027-01-10",
            "from",
            "After starts on 2027-01-10, and Before ends on 2027-01-20. Choose a later start",
        ),
        (
            "?before_from=2027-01-19&before_to=2027-01-20&from=2027-01-10&to=2027-01-11",
            "from",
            "After starts on 2027-01-10, and Before ends on 2027-01-20. Choose a later start",
        ),
        (
            f"?before_from={TODAY}&before_to={TODAY}&from={TODAY - 1}&to={TODAY - 1}",
            "from",
            f"After starts on {when((TODAY - 1) * DAY)}, and Before ends on {when(TODAY * DAY)}.",
        ),
    ],
)
def test_what_is_wrong_with_a_day_is_said_at_its_field(
    service: World, query: str, field: str, said: str
) -> None:
    page = text_of(service, query, 400)
    found = re.search(rf'id="wrong-{field}">([^<]*)', page)
    assert found is not None
    assert found[1].startswith(said)


def _document(
    n: int, *rows: tuple[str, float, float, bool], unit: Literal["share", "value"] = "share"
) -> ComparisonDocument:
    """Rows of label, difference, half its interval, and whether it changed."""
    period = PeriodDocument([1], n, provisional=False)
    return ComparisonDocument(
        collection="settings-aaaaaa",
        mechanism="grr/1",
        repeat="once",
        before=period,
        after=period,
        confidence=0.95,
        family="all",
        unit=unit,
        changed=sum(row[3] for row in rows),
        differences=[
            DifferenceDocument(
                label=label,
                before=0.5,
                after=0.5 + moved,
                difference=moved,
                lower=moved - half,
                upper=moved + half,
                changed=changed,
            )
            for label, moved, half, changed in rows
        ],
    )


def test_people_needed_grow_with_the_square_of_width_over_difference() -> None:
    rows = [("a", 0.2, 0.1, True), ("b", -0.01, 0.04, False), ("c", 0.001, 0.04, False)]
    found = people_needed(_document(1_000, *rows))
    assert found is not None
    assert (found[0].label, found[1]) == ("b", 16_000)


def test_no_number_of_people_is_named_where_all_changed_or_nothing_moved() -> None:
    assert people_needed(_document(1_000, ("a", 0.2, 0.1, True))) is None
    assert people_needed(_document(1_000, ("a", 0.0, 0.1, False))) is None


@pytest.mark.parametrize(("moved", "lower", "upper"), [(2, -4, 3), (-2, -3, 4)])
def test_people_needed_follow_from_the_limit_on_the_side_of_0(
    moved: float, lower: float, upper: float
) -> None:
    """Half the width, 3.5, would promise 3,100 people."""
    document = _document(1_000, ("mean", moved, 0, False), unit="value")
    [row] = document.differences
    found = people_needed(replace(document, differences=[replace(row, lower=lower, upper=upper)]))
    assert found is not None
    assert found[1] == 9_000


def test_people_needed_are_never_named_for_a_quantile() -> None:
    document = _document(1_000, ("mean", 0.1, 0.4, False), ("p50", 2, 2, False), unit="value")
    found = people_needed(document)
    assert found is not None
    assert (found[0].label, found[1]) == ("mean", 16_000)
    assert people_needed(replace(document, differences=document.differences[1:])) is None


def test_nothing_is_said_of_a_difference_that_is_shown_as_0() -> None:
    shown, hidden = (
        _document(1_000, ("mean", moved, 2, False), unit="value") for moved in (-0.06, -0.01)
    )
    assert "“Mean”, −0.1. If it is real, about" in _needed_text(shown)
    assert _needed_text(hidden) == ""
