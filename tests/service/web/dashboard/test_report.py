"""The page of `deniable report`: the API's digits, nothing that runs or loads, nothing injected."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from msgspec.structs import replace

from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.documents.estimates import WarningDocument
from deniable_aggregator.web.dashboard.guarantees import report_guarantees
from deniable_aggregator.web.report.influence_text import influence_sentence
from deniable_aggregator.web.report.markup import element, to_html
from deniable_aggregator.web.report.page import page
from deniable_aggregator.web.report.svg_charts import Axis, Point, axis_over, band, interval
from support.builders.api_world import DAY, INGEST, NOON, TODAY, World, authored, opened
from support.builders.report_file import facts_of, report_of
from support.processes.published_service import MINUTES

HOSTILE = ("<script>alert(1)</script>", "a & b", "it's", "=1+1", "</style><img src=x>")
FIGURES = ("frequency", "std_error", "lower", "upper", "reports_to_leave_interval")


class Page(HTMLParser):
    """Every `data` element in order, every tag with its attributes, and the visible text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.data: list[tuple[str, str]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = dict(attrs)
        self.tags.append((tag, held))
        if tag == "data":
            self.data.append((str(held["class"]), str(held["value"])))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("report")) as world:
        yield world


@pytest.fixture(scope="module")
def hostile(world: World) -> Collection:
    found = world.register(authored("hostile", type="choice", labels=HOSTILE))
    for epoch in (TODAY - 2, TODAY - 1):
        world.count(found, [HOSTILE[0]] * 40 + [HOSTILE[1]] * 20, epoch=epoch)
    return found


def digits(row: dict[str, Any], names: tuple[str, ...] = FIGURES) -> list[tuple[str, str]]:
    return [(name.replace("_", "-"), repr(row[name])) for name in names if row[name] is not None]


def test_every_figure_is_the_apis_to_the_last_digit(world: World, hostile: Collection) -> None:
    path = f"/v1/collections/{hostile.id}"
    found = Page(report_of(world, hostile.id)).data
    for row in world.get(f"{path}/estimates").get_json()["estimates"]:
        assert found[: len(digits(row))] == digits(row)
        del found[: len(digits(row))]
    series = world.get(f"{path}/series").get_json()["rows"]
    names = ("frequency", "lower", "upper", "std_error", "n")
    assert sorted(found) == sorted(pair for row in series for pair in digits(row, names))


def test_what_is_shown_is_the_digits_rounded(world: World, hostile: Collection) -> None:
    text = report_of(world, hostile.id)
    [(value, rounded)] = re.findall(r'<data value="(\S+?)" class="frequency">(\S+?)</data>', text)[
        :1
    ]
    assert rounded.replace("−", "-") == f"{float(value) * 100:.{len(rounded.split('.')[1]) - 1}f}%"


def test_numbers_have_mean_and_quantiles_in_their_units(world: World) -> None:
    signed = world.signed(manifest_from_toml(MINUTES, ingest=INGEST))
    world.service.registry.apply(signed, audit=None)
    found = world.service.registry.get("minutes")
    world.count(found, [0, 5, 10, 60] * 40)
    told = world.get(f"/v1/collections/{found.id}/estimates").get_json()
    names = ("value", "std_error", "lower", "upper")
    wanted = [pair for row in (told["mean"], *told["quantiles"]) for pair in digits(row, names)]
    assert Page(report_of(world, "minutes")).data[: len(wanted)] == wanted


def test_asked_for_less_it_shows_less(world: World, hostile: Collection) -> None:
    one = Page(report_of(world, hostile.id, **{"from": str(TODAY - 1), "family": "all"}))
    assert ("polyline" in {tag for tag, _ in one.tags}) is False
    assert "all of them together" in one.text
    path = f"/v1/collections/{hostile.id}/estimates?from={TODAY - 1}&family=all"
    told = world.get(path).get_json()["estimates"][0]
    assert one.data[: len(digits(told))] == digits(told)


def test_labels_are_text_wherever_they_stand(world: World, hostile: Collection) -> None:
    found = Page(report_of(world, hostile.id))
    tags = [tag for tag, _ in found.tags]
    assert "script" not in tags
    assert "img" not in tags
    assert tags.count("style") == 1
    assert all(label in found.text for label in HOSTILE)
    assert any(HOSTILE[0] in str(held.get("aria-label")) for _, held in found.tags)


def test_a_page_runs_nothing_and_loads_nothing(world: World, hostile: Collection) -> None:
    found = Page(report_of(world, hostile.id))
    for tag, held in found.tags:
        assert not {"src", "href", "action", "srcset", "background"} & held.keys()
        assert not [name for name in held if name.startswith("on")]
        assert tag not in {"script", "link", "iframe", "object", "form"}
    style = (report_of(world, hostile.id)).split("<style>")[1].split("</style>")[0]
    assert not re.search(r"url\(|@import", style)
    assert "default-src 'none'" in str([held for tag, held in found.tags if tag == "meta"])


def test_a_page_is_for_both_themes_and_for_print(world: World, hostile: Collection) -> None:
    text = report_of(world, hostile.id)
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_a_page_says_what_a_report_reveals_and_who_asked(world: World, hostile: Collection) -> None:
    text = Page(report_of(world, hostile.id)).text
    for sentence in report_guarantees(hostile.manifest):
        assert sentence in text
    assert "privacy@example.org" in text
    assert f"ε = {2}" in text
    assert "120" in text


def test_an_open_epoch_and_made_up_reports_are_warned_of(world: World) -> None:
    labels = [str(each) for each in range(6)]
    more = 'mechanism = "hadamard/1"\n'
    found = world.register(authored("forged", type="choice", labels=labels, more=more))
    world.count(found, ["0"] * 5)
    assert "Provisional" in Page(report_of(world, "forged")).text
    warning = WarningDocument(
        kind="weight", seen=9, expected=1.0, meaning="nobody <b>reports</b> so"
    )
    facts = facts_of(world, "forged")
    facts = dataclasses.replace(facts, estimates=replace(facts.estimates, warnings=[warning]))
    assert "made up: nobody <b>reports</b> so" in Page(page(facts, now=NOON)).text


def test_what_a_device_can_do_is_rounded_up() -> None:
    assert "0.267 percentage points" in influence_sentence(0.0026651, shares=True)
    assert "at most 1.24," in influence_sentence(1.2301, shares=False)


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([0.39, 0.49], 0.0, 0.5),
        ([-0.02, 0.2], -0.05, 0.2),
        ([0.0], 0.0, 0.01),
        ([], 0.0, 0.01),
        ([float("nan"), 1.0], 0.0, 1.0),
    ],
)
def test_an_axis_of_shares_holds_0_and_every_value_in_round_steps(
    values: list[float], low: float, high: float
) -> None:
    axis = axis_over(values)
    assert (axis.low, axis.high) == pytest.approx((low, high))
    assert axis.place(axis.low) == 0
    assert axis.place(axis.high) == 100


def test_an_interval_is_drawn_from_lower_to_upper_and_cut_at_the_axis() -> None:
    drawn = interval(Axis(0.0, 1.0, 0.5), 0.5, -1.0, 0.75, "said")
    [line] = [part for part in drawn if part.get("class") == "range"]
    assert (line.get("x1"), line.get("x2")) == ("0.0%", "75.0%")
    [dot] = drawn.findall("circle")
    assert dot.get("cx") == "50.0%"


def test_a_band_goes_along_the_upper_ends_and_back_along_the_lower_ones() -> None:
    points = [Point("a", 0.5, 0.25, 0.75), Point("b", 0.5, 0.0, 1.0)]
    drawn = band(Axis(0.0, 1.0, 0.5), points, "said")
    [area] = drawn.iter("polygon")
    assert area.get("points") == "0.000,25.000 100.000,0.000 100.000,100.000 0.000,75.000"


@pytest.mark.parametrize(("low", "high", "step"), [(0.0, 0.0, 0.1), (0.0, 1.0, 0.0)])
def test_an_axis_that_is_empty_is_refused(low: float, high: float, step: float) -> None:
    with pytest.raises(ValueError, match="low < high and step > 0"):
        Axis(low, high, step)


def test_markup_escapes_text_tails_and_attributes() -> None:
    made = element("p", "<a>", element("b", "&"), "<c>", None, title='"<')
    found = Page(to_html(made))
    assert found.tags == [("p", {"title": '"<'}), ("b", {})]
    assert found.text.strip() == "<a>&<c>"


def test_hours_are_shown_with_their_time(world: World) -> None:
    found = world.register(authored("hourly", epoch="1h"))
    hour = (TODAY * DAY + 9 * 3600) // 3600
    world.count(found, [{"dark_mode": True, "beta": False}] * 5, epoch=hour)
    assert "2027-01-15 09:00 to 2027-01-15 10:00" in Page(report_of(world, "hourly")).text
