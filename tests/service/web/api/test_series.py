"""Flat rows by epoch: the figures of the documents, page by page."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import pytest

from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.queries import series
from deniable_aggregator.web.table_rows import SERIES_COLUMNS
from support.builders.api_world import DAY, INGEST, TODAY, World, authored, opened

BITS = {"dark_mode": True, "beta": False}
FIGURES = ("label", "frequency", "lower", "upper", "std_error")
MINUTES = """\
name = "minutes"
purpose = "How long?"
owner = "privacy@example.org"
epsilon = "4"
valid_from = 2027-01-01
expires = 2027-06-01
min_batch = 3
mechanism = "grr/1"
[domain]
type = "number"
low = 0
high = 20
step = 5
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("series")) as world:
        yield world


@pytest.fixture(scope="module")
def bits(world: World) -> Collection:
    """Five epochs; the second has too few reports, the last is open."""
    found = world.register(authored())
    for place, reports in enumerate((8, 2, 9, 7, 6)):
        world.count(found, [BITS] * reports, epoch=TODAY - 4 + place)
    for epoch in range(TODAY - 4, TODAY):
        world.service.close_epoch(found, epoch, audit=None)
    return found


def page(world: World, found: Collection, query: str = "") -> dict[str, Any]:
    answer = world.get(f"/v1/collections/{found.id}/series{query}")
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.get_json()
    return document


@pytest.mark.parametrize("asked", ["", "confidence=0.8&family=all"])
def test_rows_are_the_estimates_by_epoch(world: World, bits: Collection, asked: str) -> None:
    path = f"/v1/collections/{bits.id}/estimates?group_by=epoch&{asked}"
    told = [
        (document["epochs"][0], document["n"], document["provisional"], *map(row.get, FIGURES))
        for document in world.get(path).get_json()["epochs"]
        for row in document["estimates"]
    ]
    found = page(world, bits, f"?{asked}")
    rows = [
        (row["epoch"], row["n"], row["provisional"], *map(row.get, FIGURES))
        for row in found["rows"]
    ]
    assert rows == told
    assert (found["too_few_reports"], found["next"]) == ([TODAY - 3], None)


def test_a_row_has_the_time_at_which_its_epoch_begins(world: World, bits: Collection) -> None:
    rows = page(world, bits, f"?from={TODAY}&label=beta")["rows"]
    assert [(row["time"], row["label"]) for row in rows] == [("2027-01-15T00:00:00Z", "beta")]


def test_labels_are_picked_each_time_one_is_given(world: World, bits: Collection) -> None:
    assert {row["label"] for row in page(world, bits, "?label=beta")["rows"]} == {"beta"}
    both = page(world, bits, "?label=beta&label=dark_mode")
    assert both == page(world, bits)


def test_a_label_that_is_none_is_refused_with_those_that_are(
    world: World, bits: Collection
) -> None:
    answer = world.get(f"/v1/collections/{bits.id}/series?label=betta")
    assert answer.status_code == 400
    assert answer.get_json()["accepted"] == "one of dark_mode, beta"


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5])
def test_pages_joined_are_the_whole(
    world: World, bits: Collection, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = page(world, bits)
    monkeypatch.setattr(series, "MOST_EPOCHS", most)
    rows: list[Any] = []
    few: list[int] = []
    pages, following = 0, 0
    while following is not None:
        part = page(world, bits, f"?from={following}")
        rows, few, pages = rows + part["rows"], few + part["too_few_reports"], pages + 1
        assert len({row["epoch"] for row in part["rows"]}) <= most
        following = part["next"]
    assert (rows, few, pages) == (whole["rows"], whole["too_few_reports"], -(-5 // most))


def test_many_labels_make_pages_short_and_never_empty(
    world: World, bits: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series, "MOST_ROWS", 4)
    size = bits.mechanism.tally_size
    found = page(world, bits)
    assert found["next"] == TODAY - 4 + max(1, 4 // size)
    monkeypatch.setattr(series, "MOST_ROWS", 1)
    assert page(world, bits)["next"] == TODAY - 3


def test_a_table_leads_on_by_its_header(
    world: World, bits: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series, "MOST_EPOCHS", 3)
    path = f"/v1/collections/{bits.id}/series?label=beta"
    answer = world.get(path, Accept="text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert tuple(rows[0]) == SERIES_COLUMNS
    assert [float(row["frequency"]) for row in rows] == [
        row["frequency"] for row in page(world, bits, "?label=beta")["rows"]
    ]
    assert answer.headers["Link"] == f'<{path}&from={TODAY - 1}>; rel="next"'


@pytest.mark.parametrize(("second", "epochs"), [(0, 2), (-1, 3), (DAY - 1, 2), (DAY, 1)])
def test_milliseconds_mean_the_epoch_they_are_in(
    world: World, bits: Collection, second: int, epochs: int
) -> None:
    moment = ((TODAY - 1) * DAY + second) * 1000
    rows = page(world, bits, f"?from={moment}&label=beta")["rows"]
    assert len(rows) == epochs
    ended = page(world, bits, f"?from={moment}&to={moment}&label=beta")["rows"]
    assert len(ended) == 1


def test_where_no_epoch_has_enough_there_are_no_rows(world: World) -> None:
    found = world.register(authored("few", min_batch=100))
    world.count(found, [BITS] * 4)
    assert page(world, found) == {
        "collection": found.id,
        "confidence": 0.95,
        "rows": [],
        "too_few_reports": [TODAY],
        "next": None,
    }
    answer = world.get(f"/v1/collections/{found.id}/series", Accept="text/csv")
    assert answer.text.strip() == ",".join(SERIES_COLUMNS)


def test_numbers_have_their_mean_in_their_own_units(world: World) -> None:
    world.service.registry.apply(
        world.signed(manifest_from_toml(MINUTES, ingest=INGEST)), audit=None
    )
    found = world.service.registry.get("minutes")
    world.count(found, [0, 5, 10, 20] * 30)
    told = world.get(f"/v1/collections/{found.id}/estimates").get_json()
    (mean,) = page(world, found, "?label=mean")["rows"]
    assert (mean["value"], mean["frequency"]) == (told["mean"]["value"], None)
    (five,) = page(world, found, "?label=5")["rows"]
    assert (five["value"], five["frequency"]) == (None, told["estimates"][1]["frequency"])


def test_of_a_closed_reading_open_epochs_are_not_there(world: World) -> None:
    found = world.register(authored("closed", read="closed"))
    for epoch in (TODAY - 1, TODAY):
        world.count(found, [BITS] * 5, epoch=epoch)
    world.service.close_epoch(found, TODAY - 1, audit=None)
    assert {row["epoch"] for row in page(world, found)["rows"]} == {TODAY - 1}
