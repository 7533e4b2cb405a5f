"""The page of `deniable estimates --html`: digits of the API, nothing runs, nothing is injected."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from deniable_aggregator.cli import main
from deniable_aggregator.cli.options import Target
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.documents.estimates import WarningDocument
from deniable_aggregator.web.dashboard.estimates_file import estimates_file, series_labels
from deniable_aggregator.web.dashboard.guarantees import report_guarantees
from support.builders.api_world import DAY, INGEST, NOON, TODAY, World, authored, opened
from support.builders.estimates_file import page_of, written
from support.oracles.read_surfaces import connected
from support.processes.published_service import MINUTES

HOSTILE = ("<script>alert(1)</script>", "a & b", "it's", "=1+1", "</style><img src=x>")
FIGURES = ("frequency", "lower", "upper", "std_error", "count", "reports_to_leave_interval")
DEVICES = """\
name = "devices"
purpose = "Which devices are there?"
owner = "privacy@example.org"
epsilon = "2"
min_batch = 3
valid_from = 2027-01-01
expires = 2027-06-01
[domain]
type = "record"
[[domain.attributes]]
name = "os"
labels = ["linux", "mac"]
[[domain.attributes]]
name = "screen"
labels = ["small", "large"]
"""


class Page(HTMLParser):
    """The numbers behind every table, every tag with its attributes, and the visible text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[str, list[str]] = {}
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = dict(attrs)
        self.tags.append((tag, held))
        if tag == "table":
            self.tables[str(held["data-table"])] = []
        if tag == "data":
            [*_, table] = self.tables.values()
            table.append(str(held["value"]))

    def handle_data(self, data: str) -> None:
        self.text += re.sub(r"[ \n]+", " ", data)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("report")) as service:
        yield service


@pytest.fixture(scope="module")
def hostile(service: World) -> Collection:
    collection = service.register(authored("hostile", type="choice", labels=HOSTILE))
    for epoch in (TODAY - 2, TODAY - 1):
        service.count(collection, [HOSTILE[0]] * 40 + [HOSTILE[1]] * 20, epoch=epoch)
    return collection


@pytest.fixture(scope="module")
def minutes(service: World) -> Collection:
    signed = service.signed(manifest_from_toml(MINUTES, ingest=INGEST))
    service.running.registry.apply(signed, audit=None)
    collection = service.running.registry.get("minutes")
    service.count(collection, [0, 5, 10, 60] * 40)
    return collection


def digits(rows: Sequence[dict[str, Any]], names: Sequence[str] = FIGURES) -> list[str]:
    return [repr(row[name]) for row in rows for name in names if row[name] is not None]


@pytest.mark.slow
def test_every_figure_is_the_apis_to_the_last_digit(service: World, hostile: Collection) -> None:
    path = f"/v1/collections/{hostile.id}"
    tables = Page(page_of(service, hostile.id)).tables
    assert tables["estimates"] == digits(service.get(f"{path}/estimates").get_json()["estimates"])
    series = service.get(f"{path}/series").get_json()["rows"]
    assert tables["over-time"] == digits(series, ("frequency", "lower", "upper", "std_error", "n"))


def test_what_is_shown_is_the_digits_rounded(service: World, hostile: Collection) -> None:
    text = page_of(service, hostile.id)
    value, rounded = re.findall(r'<data value="(\S+?)">(\S+?)\u202f%</data>', text)[0]
    assert rounded.replace("−", "-") == f"{float(value) * 100:.{len(rounded.split('.')[1])}f}"


def test_numbers_have_mean_and_quantiles_in_their_units(
    service: World, minutes: Collection
) -> None:
    answer = service.get(f"/v1/collections/{minutes.id}/estimates").get_json()
    expected = digits(
        (answer["mean"], *answer["quantiles"]), ("value", "lower", "upper", "std_error")
    )
    page = Page(page_of(service, "minutes"))
    assert page.tables["quantities"] == expected
    assert page.tables["estimates"] == digits(answer["estimates"])


@pytest.mark.slow
def test_ranges_and_sets_that_are_asked_for_are_shown(
    service: World, hostile: Collection, minutes: Collection
) -> None:
    names = ("frequency", "lower", "upper", "std_error", "count")
    ranged = service.get(f"/v1/collections/{minutes.id}/estimates?range=0..10").get_json()["ranges"]
    assert Page(page_of(service, "minutes", "--range", "0..10")).tables["shares"] == digits(
        ranged, names
    )
    sets = service.get(f"/v1/collections/{hostile.id}/estimates?set=it's,a %26 b").get_json()[
        "sets"
    ]
    page = Page(page_of(service, hostile.id, "--set", "it's,a & b"))
    assert page.tables["shares"] == digits(sets, names)
    assert "it's or a & b" in page.text


@pytest.mark.slow
def test_a_table_of_two_attributes_is_also_a_cross_tabulation(service: World) -> None:
    collection = service.register(manifest_from_toml(DEVICES, ingest=INGEST))
    for epoch in (TODAY - 2, TODAY - 1):
        people = [{"os": "mac", "screen": "small"}] * 30 + [{"os": "linux", "screen": "large"}] * 9
        service.count(collection, people, epoch=epoch)
    page = Page(page_of(service, "devices", "--marginal", "os,screen"))
    path = f"/v1/collections/{collection.id}/estimates?marginal=os,screen"
    rows = service.get(path).get_json()["estimates"]
    assert page.tables["cross"] == digits(rows, ("frequency",))
    assert page.tables["estimates"] == digits(rows)
    assert "Do they go together?" in page.text
    assert "over-time" in Page(page_of(service, "devices")).tables


def test_limits_under_lies_and_tests_are_shown_where_they_are_asked_for(
    service: World, hostile: Collection
) -> None:
    path = f"/v1/collections/{hostile.id}/estimates?liars=0.01&confidence=0.9999"
    rows = service.get(path).get_json()["estimates"]
    names = (*FIGURES, "lower_under_lies", "upper_under_lies", "liars_to_zero")
    options = ("--liars", "0.01", "--significant", "holm", "--confidence", "0.9999")
    page = Page(page_of(service, hostile.id, *options))
    assert page.tables["estimates"] == digits(rows, names)
    assert "not significant" in page.text


def test_asked_for_less_it_shows_less(service: World, hostile: Collection) -> None:
    page = Page(page_of(service, hostile.id, "--from", str(TODAY - 1), "--family", "all"))
    assert "polyline" not in {tag for tag, _ in page.tags}
    assert "All intervals together contain the true shares" in page.text
    path = f"/v1/collections/{hostile.id}/estimates?from={TODAY - 1}&family=all"
    assert page.tables["estimates"] == digits(service.get(path).get_json()["estimates"])


def test_labels_are_text_wherever_they_are(service: World, hostile: Collection) -> None:
    page = Page(page_of(service, hostile.id))
    tags = [tag for tag, _ in page.tags]
    assert "script" not in tags
    assert "img" not in tags
    assert tags.count("style") == 1
    assert all(label in page.text for label in HOSTILE)


def test_a_page_runs_nothing_and_loads_nothing(service: World, hostile: Collection) -> None:
    text = page_of(service, hostile.id)
    for tag, held in Page(text).tags:
        assert not {"src", "action", "srcset", "background", "style"} & held.keys()
        assert not [name for name in held if name.startswith("on")]
        assert str(held.get("href", "#")).startswith("#")
        assert tag not in {"script", "link", "iframe", "object", "form"}
    style = text.split("<style>")[1].split("</style>")[0]
    assert set(re.findall(r"url\(.{6}", style)) <= {'url("data:', "url(data:i"}
    assert "@import" not in style


def test_its_policy_allows_its_own_style_and_nothing_else(
    service: World, hostile: Collection
) -> None:
    text = page_of(service, hostile.id)
    [policy] = [held["content"] for _, held in Page(text).tags if held.get("http-equiv")]
    style = text.split("<style>")[1].split("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'"


def test_a_page_is_for_both_themes_and_for_print(service: World, hostile: Collection) -> None:
    text = page_of(service, hostile.id)
    assert text.count("--ink-text: #dfe0ea") == 2  # chosen by the pages' script, or by the system
    assert "@media screen and (prefers-color-scheme: dark) { :root:not([data-theme])" in text
    assert "@media print" in text


def test_a_page_says_what_a_report_reveals_and_who_asked(
    service: World, hostile: Collection
) -> None:
    text = Page(page_of(service, hostile.id)).text
    for sentence in report_guarantees(hostile.manifest):
        assert sentence in text
    assert "privacy@example.org" in text
    assert "ε of one report" in text
    assert "120" in text
    assert (
        f"Written 2027-01-15 12:00 UTC by deniable 0.1.0 from the estimates of {hostile.id}" in text
    )


def test_an_open_epoch_and_made_up_reports_are_warned_of(service: World) -> None:
    labels = [str(each) for each in range(6)]
    more = 'mechanism = "hadamard/1"\n'
    forged = service.register(authored("forged", type="choice", labels=labels, more=more))
    service.count(forged, ["0"] * 5)
    assert "Provisional" in Page(page_of(service, "forged")).text
    warning = WarningDocument(kind="weight", seen=9, expected=1.0, meaning="none <b>reports</b> so")
    with connected(service) as client:
        document = replace(client.estimates("forged", {}).document, warnings=[warning])
        page = estimates_file(client.manifest("forged"), document, (), now=NOON)
    assert "none <b>reports</b> so" in Page(page).text


def test_the_largest_labels_are_drawn_over_time_and_no_texts(
    service: World, hostile: Collection
) -> None:
    with connected(service) as client:
        document = client.estimates(hostile.id, {}).document
    assert series_labels(document) == [*HOSTILE]
    rows = [
        replace(document.estimates[0], label=str(number), frequency=number / 100)
        for number in range(20)
    ]
    many = replace(document, estimates=rows)
    assert series_labels(many) == [str(number) for number in range(8, 20)]
    assert series_labels(replace(many, epochs=[TODAY])) == []
    assert series_labels(replace(many, evidence="held-out")) == []


def test_hours_are_shown_with_their_time(service: World) -> None:
    collection = service.register(authored("hourly", epoch="1h"))
    hour = (TODAY * DAY + 9 * 3600) // 3600
    service.count(collection, [{"dark_mode": True, "beta": False}] * 5, epoch=hour)
    assert "2027-01-15 09:00 to 2027-01-15 10:00" in Page(page_of(service, "hourly")).text


def test_a_file_is_written_whole_or_not_at_all(
    service: World, hostile: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.html"
    assert written(service, hostile.id, path=path) == ""
    assert path.read_text(encoding="utf-8") == page_of(service, hostile.id)
    service.register(authored("few", min_batch=30))
    monkeypatch.setattr(Target, "connect", lambda _target: connected(service))
    none = tmp_path / "none.html"
    result = CliRunner().invoke(main, ["estimates", "few", "--html", str(none)])
    assert result.exit_code == 75
    assert not none.exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--by-epoch"], "--html shows every epoch anyway: leave out --by-epoch"),
        (["--csv"], "--csv and --html cannot be combined"),
    ],
)
def test_a_page_is_one_form_of_all_epochs(options: list[str], words: str) -> None:
    result = CliRunner().invoke(main, ["estimates", "settings", "--html", "-", *options])
    assert result.exit_code == 2
    assert words in result.output
