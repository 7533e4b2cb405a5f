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
def service(tmp_path: Path) -> Iterator[World]:
    with opened(tmp_path) as service:
        yield service


@pytest.fixture
def collection(service: World) -> Collection:
    """Two epochs of two bits, 160 reports in all: dark_mode is ahead by 8 standard deviations."""
    collection = service.register(authored())
    for epoch in (TODAY - 1, TODAY):
        service.count(collection, [DARK] * 70 + [BOTH] * 10, epoch=epoch)
    return collection


def text_of(service: World, query: str = "") -> str:
    answer = service.page(f"/collections/settings{query}")
    assert (answer.status_code, answer.mimetype) == (200, "text/html")
    return re.sub(r"[ \n]+", " ", answer.text)


def values(page: str, table: str = "estimates") -> list[float]:
    found = re.search(rf'data-table="{table}".*?</table>', page)
    assert found is not None
    return [float(value) for value in re.findall(r'<data value="([^"]+)"', found[0])]


def api(service: World, query: str = "") -> dict[str, dict[str, float]]:
    found = service.get(f"/v1/collections/settings/estimates{query}").get_json()
    return {row["label"]: row for row in found["estimates"]}


@pytest.mark.slow
@pytest.mark.usefixtures("collection")
def test_every_number_of_the_table_is_the_api_s(service: World) -> None:
    result = api(service, "?confidence=0.8")
    expected = [
        result[label][name]
        for label in sorted(result, key=lambda label: -result[label]["frequency"])
        for name in FIGURES
    ]
    assert values(text_of(service, "?confidence=0.8")) == expected


@pytest.mark.slow
@pytest.mark.usefixtures("collection")
def test_a_table_view_has_no_picture_and_a_chart_view_has_both(service: World) -> None:
    chart, table = text_of(service), text_of(service, "?view=table")
    assert "data-chart" in chart
    assert "data-chart" not in table
    assert values(chart) == values(table)


@pytest.mark.slow
def test_files_are_byte_for_byte_what_the_api_answers(
    service: World, collection: Collection
) -> None:
    address = f"/v1/collections/{collection.id}/estimates?from={TODAY}"
    page = f"/collections/{collection.id}?from={TODAY}"
    assert service.page(page + "&format=json").data == service.get(address).data
    csv = service.get(address, Accept="text/csv")
    assert service.page(page + "&format=csv").data == csv.data
    by_epoch = service.get(f"/v1/collections/{collection.id}/estimates?group_by=epoch")
    assert service.page(f"/collections/{collection.id}?format=json&by=epoch").data == by_epoch.data


@pytest.mark.slow
@pytest.mark.usefixtures("collection")
def test_looking_changes_nothing_and_charges_nothing(service: World) -> None:
    service.page("/", "admin")  # a session is written, once
    before = service.digest()
    for query in ("", "?show=projected", "?show=significant&confidence=0.5", "?format=csv"):
        service.page(f"/collections/settings{query}", "admin")
    assert service.digest() == before


@pytest.mark.slow
@pytest.mark.usefixtures("collection")
def test_only_what_somebody_has_is_significant(service: World) -> None:
    result = api(service, "?significant=holm")
    page = text_of(service, "?show=significant")
    for label, row in result.items():
        assert (f">{label}</a></th>" in page) == row["significant"]


@pytest.mark.slow
def test_an_answer_that_is_called_mean_is_followed_over_time_like_others(service: World) -> None:
    collection = service.register(authored(type="choice", labels=("mean", "mode")))
    for epoch in (TODAY - 1, TODAY):
        service.count(collection, ["mean"] * 20 + ["mode"] * 10, epoch=epoch)
    expected = [
        number
        for epoch in (TODAY - 1, TODAY)
        for number in (30, api(service, f"?from={epoch}&to={epoch}")["mean"]["frequency"])
    ]
    assert values(text_of(service, "?label=mean"), "over-time") == expected


@pytest.mark.slow
@pytest.mark.usefixtures("collection")
def test_the_page_says_what_one_report_reveals_and_never_rounds_it_down(service: World) -> None:
    page = text_of(service)
    assert "at most 7.39 times as likely" in page
    assert "at most 88.1\u202f% sure" in page  # e²/(1 + e²) = 0.8808


def test_a_memoized_collection_says_what_all_reports_reveal(service: World) -> None:
    service.register(authored(more='repeat = "memoized"\nlinkable = true\n'))
    page = text_of(service)
    assert "(ε = 4)" in page
    assert "For everything a device ever answers here" in page


@pytest.mark.usefixtures("collection")
def test_it_says_how_many_fake_reports_would_move_an_estimate(service: World) -> None:
    needed = api(service)["dark_mode"]["reports_to_leave_interval"]
    assert f"{needed} fake reports would push “dark_mode”" in text_of(service)


@pytest.mark.slow
def test_too_few_reports_are_a_state_with_its_numbers(service: World) -> None:
    collection = service.register(authored(min_batch=30))
    service.count(collection, [BOTH] * 7)
    page = text_of(service)
    assert "7 reports of the 30 that are needed" in page
    assert "data-chart" not in page


def test_a_collection_read_by_releases_only_shows_its_promise_and_no_form(service: World) -> None:
    collection = service.register(authored(read="releases"))
    service.count(collection, [BOTH] * 60)
    page = text_of(service)
    assert "Only releases may be read" in page
    assert "What one report reveals" in page
    assert "confidence" not in page


def test_a_closed_reading_shows_no_epoch_that_is_open(service: World) -> None:
    collection = service.register(authored(read="closed"))
    service.count(collection, [BOTH] * 40, epoch=TODAY - 3)
    before = text_of(service)
    service.count(collection, [DARK] * 40, epoch=TODAY)
    assert text_of(service) == before


@pytest.mark.parametrize("given", ["settings", None])
def test_an_unknown_collection_is_a_page_that_says_so(service: World, given: str | None) -> None:
    answer = service.page(f"/collections/{given or 'nothing'}")
    assert (answer.status_code, answer.mimetype) == (404, "text/html")
    assert "No question has this address" in answer.text


@pytest.mark.usefixtures("collection")
@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("?confidence=2", "confidence"),
        ("?show=all", "show"),
        ("?page=0", "page"),
    ],
)
def test_what_cannot_be_asked_is_named(service: World, query: str, named: str) -> None:
    answer = service.page(f"/collections/settings{query}")
    assert answer.status_code == 400
    assert f"{named} must be" in answer.text


@pytest.mark.usefixtures("collection")
def test_an_address_says_only_what_is_not_usual(service: World) -> None:
    page = text_of(service, "?confidence=0.95&view=chart&show=projected")
    [csv] = re.findall(r'href="([^"]*format=csv)"', page)[:1]
    assert csv.partition("?")[2] == "show=projected&amp;format=csv"


def test_usual_spans_are_offered_and_each_begins_on_its_day(service: World) -> None:
    collection = service.register(authored())
    for age in (0, 5, 40):
        service.count(collection, [BOTH] * 10, epoch=TODAY - age)
    names = re.findall(r'<a href="[^"]*"(?: aria-current="true")?>([^<]*)</a>', text_of(service))
    wanted = ["Newest day", "7 days", "30 days", "90 days", "12 months", "All"]
    assert [name for name in names if name in wanted] == wanted
    assert f"from={_day(TODAY - 6)}" in text_of(service)


@pytest.mark.slow
def test_a_span_leads_to_those_before_and_after_it_while_there_are_reports(service: World) -> None:
    collection = service.register(authored())
    for epoch in (TODAY - 9, TODAY - 4, TODAY):
        service.count(collection, [BOTH] * 10, epoch=epoch)
    page = text_of(service, f"?from={_day(TODAY - 5)}&to={_day(TODAY - 3)}")
    keys = dict(re.findall(r'<a href="[^"]*\?([^"]*)" rel="\w+" data-key="Arrow(\w+)"', page))
    assert {key: query for query, key in keys.items()} == {
        "Left": f"from={_day(TODAY - 8)}&amp;to={_day(TODAY - 6)}",
        "Right": f"from={_day(TODAY - 2)}&amp;to={_day(TODAY)}",
    }
    assert 'data-key="ArrowRight"' not in text_of(service, f"?from={_day(TODAY - 1)}")
    assert "data-key" not in text_of(service)


@pytest.mark.slow
@pytest.mark.usefixtures("collection")
def test_days_that_cross_change_places(service: World) -> None:
    crossed = text_of(service, f"?from={_day(TODAY)}&to={_day(TODAY - 1)}")
    assert values(crossed) == values(text_of(service))
    assert f'name="from" value="{_day(TODAY - 1)}"' in crossed


@pytest.mark.usefixtures("collection")
def test_a_day_that_cannot_be_read_is_marked_at_its_field(service: World) -> None:
    answer = service.page("/collections/settings?from=11/10/2026&to=2027-01-20")
    assert answer.status_code == 400
    said = re.search(r'<small class="wrong" id="wrong-from">([^<]*)', answer.text)
    assert said is not None
    assert said[1] == "Write a day like 2026-11-22. This is “11/10/2026”."
    assert '<small class="wrong" id="wrong-to"></small>' in answer.text
    assert '<details class="options" open>' in answer.text
    assert "These days cannot be shown" in answer.text


def test_days_between_which_no_period_starts_are_marked_with_the_cure(service: World) -> None:
    service.count(service.register(authored(epoch="7d")), [BOTH] * 40, epoch=TODAY // 7)
    monday = TODAY // 7 * 7
    answer = service.page(f"/collections/settings?from={_day(monday + 1)}&to={_day(monday + 2)}")
    assert answer.status_code == 400
    assert "Each lasts 7 days: choose more days" in answer.text


@pytest.mark.usefixtures("collection")
def test_the_first_tile_is_the_top_answer_with_its_interval(service: World) -> None:
    result = api(service)["dark_mode"]
    tiles = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text_of(service))
    name, first = tiles[0]
    assert name == "Most say yes to"
    assert "dark_mode</span>" in first
    assert f"{100 * result['frequency']:.1f}" in first
    assert f"{100 * result['lower']:.1f}" in first
    assert [name for name, _ in tiles[1:4]] == ["Second", "Margin of error", "Reports"]


@pytest.mark.slow
def test_a_second_answer_whose_interval_reaches_the_first_may_be_the_first(service: World) -> None:
    collection = service.register(authored(type="choice", labels=("tea", "coffee", "milk")))
    service.count_payloads(collection, [b"\x00"] * 30 + [b"\x01"] * 29)
    assert "may be the first" in text_of(service)
    service.count(collection, ["tea"] * 3_000)
    assert "may be the first" not in text_of(service)


def test_the_tiles_of_numbers_are_mean_and_median(service: World) -> None:
    _numbers(service)
    page = text_of(service)
    tiles = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page)
    assert [name for name, _ in tiles[:3]] == ["Mean", "Median", "Reports"]
    assert "Margin of error" not in dict(tiles)
    assert '"names": ["Answer", "Share of people"]' in page


@pytest.mark.slow
def test_of_many_answers_the_first_ten_are_shown_until_all_are_asked_for(service: World) -> None:
    labels = tuple(f"label {place:02}" for place in range(40))
    collection = service.register(authored(type="choice", labels=labels))
    service.count(collection, [labels[0]] * 60)
    page = text_of(service)
    assert page.count('<th scope="row">') == 10
    assert "Show all 40 answers" in page
    assert text_of(service, "?rows=all").count('<th scope="row">') == 40


@pytest.mark.usefixtures("collection")
def test_the_period_that_is_not_over_is_dotted_and_says_so_far(service: World) -> None:
    page = text_of(service)
    assert '"open": [true, true]' in page or '"open": [false, true]' in page
    assert "<small>so far</small>" in page
    assert "to 2027" in page
    assert "so far</small></dd>" in page


@pytest.mark.slow
def test_a_question_without_reports_shows_what_to_copy_and_looks_again(service: World) -> None:
    collection = service.register(authored())
    page = text_of(service)
    assert "Waiting for the first report" in page
    assert 'hx-trigger="every 5s"' in page
    assert f"client.record(&#34;{collection.name}&#34;" in page
    assert "Waiting for" not in text_of(service, f"?from={_day(TODAY)}")
    service.count(collection, [BOTH])
    assert "Waiting for" not in text_of(service)


@pytest.mark.slow
def test_a_number_is_followed_by_its_mean_or_its_median(service: World) -> None:
    _numbers(service)
    service.count(service.running.registry.get("settings"), ["7"] * 40, epoch=TODAY - 1)
    reply = service.get("/v1/collections/settings/estimates?group_by=epoch").get_json()["epochs"]
    levels = {
        "mean": [each["mean"]["value"] for each in reply],
        "p50": [each["quantiles"][2]["value"] for each in reply],
    }
    page = text_of(service)
    assert values(page, "over-time")[1::2] == levels["mean"]
    chips = page.partition("Answers to follow")[2]
    assert re.findall(r'<li><a href="[^"]+"( aria-current="true")?>(\w+)</a></li>', chips) == [
        (' aria-current="true"', "Mean"),
        ("", "Median"),
    ]
    assert values(text_of(service, "?label=p50"), "over-time")[1::2] == levels["p50"]
    both = text_of(service, "?label=mean&label=p50")
    assert values(both, "over-time")[1::3] == levels["mean"]
    assert values(both, "over-time")[2::3] == levels["p50"]


@pytest.mark.usefixtures("collection")
def test_the_page_says_what_answers_cannot_be_split_by(service: World) -> None:
    assert "You cannot split answers by version" in text_of(service)


def _numbers(service: World) -> None:
    toml = TOML.partition("[domain]")[0].format(
        name="settings", valid_from="2027-01-01", expires="2027-06-01", read="live",
        min_batch=3, epoch="1d",
    )  # fmt: skip
    domain = NUMBERS.format(high=10)
    collection = service.register(manifest_from_toml(f"{toml}[domain]\n{domain}", ingest=INGEST))
    service.count(collection, ["3"] * 60)


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
    service: World, mechanism: str, query: str
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
    collection = service.register(
        manifest_from_toml(f'{toml}mechanism = "{mechanism}"\n[domain]\n{domain}', ingest=INGEST)
    )
    for epoch in (TODAY - 1, TODAY):
        service.count(collection, [value] * 30, epoch=epoch)
    page = text_of(service, query)
    assert "Over time" in page
    assert re.search(r"60<small[^>]*>2 days to", page)


def _day(epoch: int) -> str:
    from deniable_aggregator.documents.describe import when

    return when(epoch * DAY)
