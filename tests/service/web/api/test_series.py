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
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("series")) as service:
        yield service


@pytest.fixture(scope="module")
def collection(service: World) -> Collection:
    """Five epochs; the second has too few reports, the last is open."""
    found = service.register(authored())
    for place, reports in enumerate((8, 2, 9, 7, 6)):
        service.count(found, [BITS] * reports, epoch=TODAY - 4 + place)
    for epoch in range(TODAY - 4, TODAY):
        service.running.close_epoch(found, epoch, audit=None)
    return found


def page(service: World, found: Collection, query: str = "") -> dict[str, Any]:
    answer = service.get(f"/v1/collections/{found.id}/series{query}")
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.get_json()
    return document


@pytest.mark.parametrize("asked", ["", "confidence=0.8&family=all"])
def test_rows_are_the_estimates_by_epoch(
    service: World, collection: Collection, asked: str
) -> None:
    path = f"/v1/collections/{collection.id}/estimates?group_by=epoch&{asked}"
    reply = [
        (document["epochs"][0], document["n"], document["provisional"], *map(row.get, FIGURES))
        for document in service.get(path).get_json()["epochs"]
        for row in document["estimates"]
    ]
    found = page(service, collection, f"?{asked}")
    rows = [
        (row["epoch"], row["n"], row["provisional"], *map(row.get, FIGURES))
        for row in found["rows"]
    ]
    assert rows == reply
    assert (found["too_few_reports"], found["next"]) == ([TODAY - 3], None)


def test_a_row_has_the_time_at_which_its_epoch_begins(
    service: World, collection: Collection
) -> None:
    rows = page(service, collection, f"?from={TODAY}&label=beta")["rows"]
    assert [(row["time"], row["label"]) for row in rows] == [("2027-01-15T00:00:00Z", "beta")]


def test_labels_are_picked_each_time_one_is_given(service: World, collection: Collection) -> None:
    assert {row["label"] for row in page(service, collection, "?label=beta")["rows"]} == {"beta"}
    both = page(service, collection, "?label=beta&label=dark_mode")
    assert both == page(service, collection)


def test_a_label_that_is_none_is_refused_with_those_that_are(
    service: World, collection: Collection
) -> None:
    answer = service.get(f"/v1/collections/{collection.id}/series?label=betta")
    assert answer.status_code == 400
    assert answer.get_json()["accepted"] == "one of dark_mode, beta"


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5])
def test_pages_joined_are_the_whole(
    service: World, collection: Collection, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = page(service, collection)
    monkeypatch.setattr(series, "MOST_EPOCHS", most)
    rows: list[Any] = []
    few: list[int] = []
    pages, following = 0, 0
    while following is not None:
        part = page(service, collection, f"?from={following}")
        rows, few, pages = rows + part["rows"], few + part["too_few_reports"], pages + 1
        assert len({row["epoch"] for row in part["rows"]}) <= most
        following = part["next"]
    assert (rows, few, pages) == (whole["rows"], whole["too_few_reports"], -(-5 // most))


def test_many_labels_make_pages_short_and_never_empty(
    service: World, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series, "MOST_ROWS", 4)
    size = collection.mechanism.tally_size
    found = page(service, collection)
    assert found["next"] == TODAY - 4 + max(1, 4 // size)
    monkeypatch.setattr(series, "MOST_ROWS", 1)
    assert page(service, collection)["next"] == TODAY - 3


def test_a_table_leads_on_by_its_header(
    service: World, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series, "MOST_EPOCHS", 3)
    path = f"/v1/collections/{collection.id}/series?label=beta"
    answer = service.get(path, Accept="text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert tuple(rows[0]) == SERIES_COLUMNS
    assert [float(row["frequency"]) for row in rows] == [
        row["frequency"] for row in page(service, collection, "?label=beta")["rows"]
    ]
    assert answer.headers["Link"] == f'<{path}&from={TODAY - 1}>; rel="next"'


@pytest.mark.parametrize(("second", "epochs"), [(0, 2), (-1, 3), (DAY - 1, 2), (DAY, 1)])
def test_milliseconds_mean_the_epoch_they_are_in(
    service: World, collection: Collection, second: int, epochs: int
) -> None:
    moment = ((TODAY - 1) * DAY + second) * 1000
    rows = page(service, collection, f"?from={moment}&label=beta")["rows"]
    assert len(rows) == epochs
    ended = page(service, collection, f"?from={moment}&to={moment}&label=beta")["rows"]
    assert len(ended) == 1


def test_where_no_epoch_has_enough_there_are_no_rows(service: World) -> None:
    found = service.register(authored("few", min_batch=100))
    service.count(found, [BITS] * 4)
    assert page(service, found) == {
        "collection": found.id,
        "confidence": 0.95,
        "rows": [],
        "too_few_reports": [TODAY],
        "next": None,
    }
    answer = service.get(f"/v1/collections/{found.id}/series", Accept="text/csv")
    assert answer.text.strip() == ",".join(SERIES_COLUMNS)


def test_numbers_have_their_mean_in_their_own_units(service: World) -> None:
    service.running.registry.apply(
        service.signed(manifest_from_toml(MINUTES, ingest=INGEST)), audit=None
    )
    found = service.running.registry.get("minutes")
    service.count(found, [0, 5, 10, 20] * 30)
    reply = service.get(f"/v1/collections/{found.id}/estimates").get_json()
    (mean,) = page(service, found, "?label=mean")["rows"]
    assert (mean["value"], mean["frequency"]) == (reply["mean"]["value"], None)
    (five,) = page(service, found, "?label=5")["rows"]
    assert (five["value"], five["frequency"]) == (None, reply["estimates"][1]["frequency"])


def test_of_a_closed_reading_open_epochs_are_not_there(service: World) -> None:
    found = service.register(authored("closed", read="closed"))
    for epoch in (TODAY - 1, TODAY):
        service.count(found, [BITS] * 5, epoch=epoch)
    service.running.close_epoch(found, TODAY - 1, audit=None)
    assert {row["epoch"] for row in page(service, found)["rows"]} == {TODAY - 1}
