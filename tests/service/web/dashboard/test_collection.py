"""The page of a collection without a browser: what it says, to whom, and that looking is free."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.collections.registry import Collection
from support.builders.api_world import DAY, INGEST, TODAY, TOML, World, authored, opened
from support.tiers import grid

FIGURES = ("frequency", "lower", "upper", "std_error", "count", "reports_to_leave_interval")
BOTH = {"dark_mode": True, "beta": True}
DARK = {"dark_mode": True, "beta": False}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with opened(tmp_path) as world:
        yield world


@pytest.fixture
def settings(world: World) -> Collection:
    """Two epochs of two bits, 60 reports in all."""
    collection = world.register(authored())
    for epoch in (TODAY - 1, TODAY):
        world.count(collection, [DARK] * 20 + [BOTH] * 10, epoch=epoch)
    return collection


def text_of(world: World, query: str = "") -> str:
    answer = world.page(f"/collections/settings{query}")
    assert (answer.status_code, answer.mimetype) == (200, "text/html")
    return re.sub(r"[ \n]+", " ", answer.text)


def values(page: str, table: str = "estimates") -> list[float]:
    found = re.search(rf'data-table="{table}".*?</table>', page)
    assert found is not None
    return [float(value) for value in re.findall(r'<data value="([^"]+)"', found[0])]


def api(world: World, query: str = "") -> dict[str, dict[str, float]]:
    found = world.get(f"/v1/collections/settings/estimates{query}").get_json()
    return {row["label"]: row for row in found["estimates"]}


@pytest.mark.usefixtures("settings")
def test_every_number_of_the_table_is_the_api_s(world: World) -> None:
    told = api(world, "?confidence=0.8")
    expected = [
        told[label][name]
        for label in sorted(told, key=lambda label: -told[label]["frequency"])
        for name in FIGURES
    ]
    assert values(text_of(world, "?confidence=0.8")) == expected


@pytest.mark.usefixtures("settings")
def test_a_table_view_has_no_picture_and_a_chart_view_has_both(world: World) -> None:
    chart, table = text_of(world), text_of(world, "?view=table")
    assert "data-chart" in chart
    assert "data-chart" not in table
    assert values(chart) == values(table)


def test_files_are_byte_for_byte_what_the_api_answers(world: World, settings: Collection) -> None:
    address = f"/v1/collections/{settings.id}/estimates?from={TODAY}"
    page = f"/collections/{settings.id}?from={TODAY}"
    assert world.page(page + "&format=json").data == world.get(address).data
    csv = world.get(address, Accept="text/csv")
    assert world.page(page + "&format=csv").data == csv.data
    by_epoch = world.get(f"/v1/collections/{settings.id}/estimates?group_by=epoch")
    assert world.page(f"/collections/{settings.id}?format=json&by=epoch").data == by_epoch.data


@pytest.mark.usefixtures("settings")
def test_looking_changes_nothing_and_charges_nothing(world: World) -> None:
    world.page("/", "admin")  # a session is written, once
    before = world.digest()
    for query in ("", "?show=projected", "?show=significant&confidence=0.5", "?format=csv"):
        world.page(f"/collections/settings{query}", "admin")
    assert world.digest() == before


@pytest.mark.usefixtures("settings")
def test_only_what_somebody_has_is_significant(world: World) -> None:
    told = api(world, "?significant=holm")
    page = text_of(world, "?show=significant")
    for label, row in told.items():
        assert (f">{label}</a></th>" in page) == row["significant"]


def test_an_answer_that_is_called_mean_is_followed_over_time_like_others(world: World) -> None:
    collection = world.register(authored(type="choice", labels=("mean", "mode")))
    for epoch in (TODAY - 1, TODAY):
        world.count(collection, ["mean"] * 20 + ["mode"] * 10, epoch=epoch)
    expected = [
        number
        for epoch in (TODAY - 1, TODAY)
        for number in (30, api(world, f"?from={epoch}&to={epoch}")["mean"]["frequency"])
    ]
    assert values(text_of(world, "?label=mean"), "over-time") == expected


@pytest.mark.usefixtures("settings")
def test_the_page_says_what_one_report_reveals_and_never_rounds_it_down(world: World) -> None:
    page = text_of(world)
    assert "at most 7.39 times as likely" in page
    assert "at most 88.1\u202f% sure" in page  # e²/(1 + e²) = 0.8808


def test_a_memoized_collection_says_what_all_reports_reveal(world: World) -> None:
    world.register(authored(more='repeat = "memoized"\nlinkable = true\n'))
    page = text_of(world)
    assert "(ε = 4)" in page
    assert "Everything a device ever answers here" in page


@pytest.mark.usefixtures("settings")
def test_it_says_how_many_made_up_reports_would_move_an_estimate(world: World) -> None:
    needed = api(world)["dark_mode"]["reports_to_leave_interval"]
    assert f"{needed} made-up reports would push “dark_mode”" in text_of(world)


def test_too_few_reports_are_a_state_with_its_numbers(world: World) -> None:
    collection = world.register(authored(min_batch=30))
    world.count(collection, [BOTH] * 7)
    page = text_of(world)
    assert "7 reports of the 30 that are needed" in page
    assert "data-chart" not in page


def test_a_collection_read_by_releases_only_shows_its_promise_and_no_form(world: World) -> None:
    collection = world.register(authored(read="releases"))
    world.count(collection, [BOTH] * 60)
    page = text_of(world)
    assert "Only releases may be read" in page
    assert "What one report reveals" in page
    assert "confidence" not in page


def test_a_closed_reading_shows_no_epoch_that_is_open(world: World) -> None:
    collection = world.register(authored(read="closed"))
    world.count(collection, [BOTH] * 40, epoch=TODAY - 3)
    before = text_of(world)
    world.count(collection, [DARK] * 40, epoch=TODAY)
    assert text_of(world) == before


@pytest.mark.parametrize("given", ["settings", None])
def test_an_unknown_collection_is_a_page_that_says_so(world: World, given: str | None) -> None:
    answer = world.page(f"/collections/{given or 'nothing'}")
    assert (answer.status_code, answer.mimetype) == (404, "text/html")
    assert "no collection has the id or name" in answer.text


@pytest.mark.usefixtures("settings")
@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("?confidence=2", "confidence"),
        ("?from=x", "from"),
        ("?show=all", "show"),
        ("?page=0", "page"),
    ],
)
def test_what_cannot_be_asked_is_named(world: World, query: str, named: str) -> None:
    answer = world.page(f"/collections/settings{query}")
    assert answer.status_code == 400
    assert f"{named} must be" in answer.text


@pytest.mark.usefixtures("settings")
def test_an_address_says_only_what_is_not_usual(world: World) -> None:
    page = text_of(world, "?confidence=0.95&view=chart&show=projected")
    [csv] = re.findall(r'href="([^"]*format=csv)"', page)[:1]
    assert csv.partition("?")[2] == "show=projected&amp;format=csv"


def test_usual_spans_are_offered_as_far_as_there_are_epochs(world: World) -> None:
    collection = world.register(authored())
    for age in (0, 5, 40):
        world.count(collection, [BOTH] * 10, epoch=TODAY - age)
    names = re.findall(r'<a href="[^"]*"(?: aria-current="true")?>([^<]*)</a>', text_of(world))
    assert {"All", "Newest epoch", "7 days", "30 days"} <= set(names)
    assert "90 days" not in names
    assert f"from={_day(TODAY - 6)}" in text_of(world)


NUMBERS = 'type = "number"\nlow = "0"\nhigh = "{high}"\nstep = "1"\n'
ATTRIBUTES = """type = "record"
[[domain.attributes]]
name = "os"
labels = ["l", "m", "w"]
[[domain.attributes]]
name = "a, b"
labels = ["x", "y"]
"""
KINDS = {
    "duchi/1": (NUMBERS.format(high=10), "3"),
    "tree/1": (NUMBERS.format(high=255), "3"),
    "square-wave/1": (NUMBERS.format(high=63), "3"),
    "grr/1": (NUMBERS.format(high=10), "3"),
    "hadamard/1": (NUMBERS.format(high=4095), "3"),
    "pairs/1": (ATTRIBUTES, {"os": "l", "a, b": "x"}),
}


@pytest.mark.parametrize(
    "query", grid(["", "?show=projected", "?show=significant", "?view=table"], by_default=[""])
)
@pytest.mark.parametrize("mechanism", KINDS)
def test_every_kind_of_question_has_a_page_in_every_view(
    world: World, mechanism: str, query: str
) -> None:
    domain, value = KINDS[mechanism]
    toml = TOML.partition("[domain]")[0].format(
        name="settings",
        valid_from="2027-01-01",
        expires="2027-06-01",
        read="live",
        min_batch=3,
        epoch="1d",
    )
    collection = world.register(
        manifest_from_toml(f'{toml}mechanism = "{mechanism}"\n[domain]\n{domain}', ingest=INGEST)
    )
    for epoch in (TODAY - 1, TODAY):
        world.count(collection, [value] * 30, epoch=epoch)
    page = text_of(world, query)
    assert "Over time" in page
    assert "60<small>2 epochs" in page


def _day(epoch: int) -> str:
    from deniable_aggregator.web.dashboard.formatting import when

    return when(epoch * DAY)
