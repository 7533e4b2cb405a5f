"""Estimates over HTTP: the document, its arguments, CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.queries import pooled_tallies
from support.builders.api_world import DAY, TODAY, World, authored, opened

FIELDS = [
    "collection",
    "mechanism",
    "epsilon",
    "repeat",
    "target",
    "n",
    "epochs",
    "provisional",
    "confidence",
    "estimates",
    "trust",
]
ROW_FIELDS = [
    "label",
    "count",
    "frequency",
    "std_error",
    "lower",
    "upper",
    "reports_to_leave_interval",
    "devices_to_leave_interval",
]
BITS = {"dark_mode": True, "beta": False}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("estimates")) as service:
        yield service


@pytest.fixture(scope="module")
def bits(service: World) -> Collection:
    """40 reports today, 20 yesterday (closed), 2 the day before (closed)."""
    collection = service.register(authored("settings"))
    for epoch, n in ((TODAY, 40), (TODAY - 1, 20), (TODAY - 2, 2)):
        service.count(collection, [BITS] * n, epoch=epoch)
    for epoch in (TODAY - 1, TODAY - 2):
        service.running.store.close_epoch(collection.id, epoch, service.clock(), audit=None)
    return collection


@pytest.fixture(scope="module")
def choice(service: World) -> Collection:
    labels = ["=1+1", "+x", "-x", "@x", "plain, with comma"]
    collection = service.register(authored("browser", type="choice", labels=labels))
    service.count(collection, [labels[0]] * 500 + [labels[1]] * 500)
    return collection


def path(collection: Collection, **arguments: object) -> str:
    query = "&".join(f"{name.rstrip('_')}={value}" for name, value in arguments.items())
    return f"/v1/collections/{collection.id}/estimates?{query}"


def refusal(service: World, collection: Collection, **arguments: object) -> dict[str, object]:
    answer = service.get(path(collection, **arguments))
    assert answer.status_code == 400
    assert answer.content_type == "application/problem+json"
    document: dict[str, object] = answer.get_json()
    assert document["type"] == "urn:deniable:problem:invalid-argument"
    return document


def test_the_document_has_the_designed_fields_in_order(service: World, bits: Collection) -> None:
    document = service.get(path(bits)).get_json()
    assert list(document) == FIELDS
    assert [list(row) for row in document["estimates"]] == [ROW_FIELDS] * 2
    assert [row["label"] for row in document["estimates"]] == ["dark_mode", "beta"]
    assert list(document["trust"]) == ["influence"]


def test_the_document_says_what_it_rests_on(service: World, bits: Collection) -> None:
    document = service.get(path(bits)).get_json()
    assert document["collection"] == bits.id
    assert (document["mechanism"], document["epsilon"]) == ("rr/1", "2")
    assert (document["n"], document["epochs"]) == (62, [TODAY - 2, TODAY - 1, TODAY])
    assert document["provisional"] is True
    assert document["confidence"] == 0.95


def test_a_name_reads_like_an_id(service: World, bits: Collection) -> None:
    by_name = service.get("/v1/collections/settings/estimates").get_json()
    assert by_name == service.get(path(bits)).get_json()


def test_the_numbers_are_the_estimators_own(service: World, bits: Collection) -> None:
    row = service.get(path(bits, from_=TODAY)).get_json()["estimates"][0]
    (cell,) = service.running.store.tallies(bits.id, TODAY, TODAY)
    estimate = bits.estimator.estimate(cell.tally, cell.n)
    assert row["frequency"] == estimate.frequencies[0]
    assert row["count"] == pytest.approx(40 * estimate.frequencies[0])
    assert row["std_error"] == estimate.std_errors[0]
    assert (row["lower"], row["upper"]) == (estimate.lower[0], estimate.upper[0])
    assert row["reports_to_leave_interval"] == estimate.reports_to_leave[0]


def test_pooled_epochs_add_their_tallies(service: World, bits: Collection) -> None:
    cells = service.running.store.tallies(bits.id, 0, TODAY)
    total = cells[0].tally + cells[1].tally + cells[2].tally
    estimate = bits.estimator.estimate(total, 62)
    row = service.get(path(bits)).get_json()["estimates"][1]
    assert row["frequency"] == estimate.frequencies[1]


def test_long_spans_are_read_piece_by_piece_with_the_same_result(
    service: World, bits: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = service.get(path(bits)).data
    monkeypatch.setattr(pooled_tallies, "INTEGERS_AT_ONCE", 1)
    assert service.get(path(bits)).data == whole


def test_an_answer_by_epoch_has_a_longest_length(
    service: World, bits: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pooled_tallies, "MAX_ROWS", 2)
    document = refusal(service, bits, group_by="epoch")
    assert document["argument"] == "group_by"
    assert "narrow from and to" in str(document["accepted"])
    assert service.get(path(bits, group_by="epoch", from_=TODAY)).status_code == 200


def test_versions_of_a_manifest_add_up(service: World) -> None:
    first = service.register(authored("versions"))
    service.count(first, [BITS] * 5)
    second = service.register(authored("versions", min_batch=5, previous=first.manifest))
    service.count(second, [BITS] * 6)
    assert second.manifest.version == 2
    assert service.get(path(second)).get_json()["n"] == 11


def test_from_and_to_are_inclusive_indices(service: World, bits: Collection) -> None:
    document = service.get(path(bits, from_=TODAY - 1, to=TODAY - 1)).get_json()
    assert (document["epochs"], document["n"]) == ([TODAY - 1], 20)
    assert document["provisional"] is False


def test_from_and_to_may_be_dates(service: World, bits: Collection) -> None:
    document = service.get(path(bits, from_="2027-01-14", to="2027-01-15")).get_json()
    assert document["epochs"] == [TODAY - 1, TODAY]


def test_a_date_means_every_epoch_that_starts_on_that_day(service: World) -> None:
    hourly = service.register(authored("hourly", epoch="7h"))
    seconds = 7 * 3600
    near = TODAY * DAY // seconds
    epochs = [e for e in range(near - 2, near + 6) if e * seconds // DAY == TODAY]
    around = [epochs[0] - 1, *epochs, epochs[-1] + 1]
    for epoch in around:
        service.count(hourly, [BITS] * 3, epoch=epoch)
    document = service.get(path(hourly, from_="2027-01-15", to="2027-01-15")).get_json()
    assert document["epochs"] == epochs
    assert len(epochs) in (3, 4)


@pytest.mark.parametrize(
    ("argument", "given"),
    [
        ("from", "yesterday"),
        ("from", "2027-02-30"),
        ("from", "2027-1-1"),
        ("from", "-1"),
        ("from", "4294967296"),
        ("from", "9" * 400),
        ("from", "%D9%A1"),
        ("from", "1969-12-31"),
        ("to", ""),
        ("to", "1%0A"),
        ("to", "0000-01-01"),
        ("confidence", "0.4"),
        ("confidence", "1"),
        ("confidence", "nan"),
        ("confidence", "95%25"),
        ("projection", "none,clip"),
        ("projection", "simplex"),
        ("family", "some"),
        ("significant", "yes"),
        ("liars", "1"),
        ("liars", "-0.1"),
        ("set", "dark_mode"),
        ("group_by", "day"),
    ],
)
def test_a_bad_argument_is_named_with_what_is_accepted_and_what_was_given(
    service: World, bits: Collection, argument: str, given: str
) -> None:
    document = refusal(service, bits, **{argument: given})
    assert document["argument"] == argument
    assert document["accepted"]
    assert str(document["given"])[:20].strip() in given or "%" in given
    assert argument in str(document["detail"])


def test_a_span_that_ends_before_it_begins_is_refused(service: World, bits: Collection) -> None:
    document = refusal(service, bits, from_=TODAY, to=TODAY - 1)
    assert (document["argument"], document["given"]) == ("to", str(TODAY - 1))
    assert str(TODAY) in str(document["accepted"])


def test_an_unknown_argument_is_refused_with_the_nearest_known_one(
    service: World, bits: Collection
) -> None:
    document = refusal(service, bits, confidnce="0.9")
    assert document["argument"] == "confidnce"
    assert "did you mean confidence?" in str(document["accepted"])


def test_an_argument_given_twice_is_refused(service: World, bits: Collection) -> None:
    answer = service.get(f"{path(bits)}from=1&from=2")
    assert answer.status_code == 400
    assert answer.get_json()["argument"] == "from"


def test_clip_is_for_bits_and_appears_beside_the_raw_value(
    service: World, bits: Collection
) -> None:
    rows = service.get(path(bits, projection="clip")).get_json()["estimates"]
    added = ["projected", "projected_lower", "projected_upper"]
    assert list(rows[0]) == [*ROW_FIELDS[:6], *added, *ROW_FIELDS[6:]]
    assert [row["projected"] for row in rows] == [min(1, max(0, row["frequency"])) for row in rows]


def test_simplex_is_for_choices_and_sums_to_one(service: World, choice: Collection) -> None:
    rows = service.get(path(choice, projection="simplex")).get_json()["estimates"]
    assert math.fsum(row["projected"] for row in rows) == pytest.approx(1)
    assert min(row["projected"] for row in rows) >= 0


@pytest.mark.parametrize("kind", ["simplex", "mle", "base-cut"])
def test_the_interval_of_an_adjusted_value_holds_it_and_the_measured_one(
    service: World, choice: Collection, kind: str
) -> None:
    rows = service.get(path(choice, projection=kind)).get_json()["estimates"]
    for row in rows:
        assert row["projected_lower"] == min(row["lower"], row["projected"])
        assert row["projected_upper"] == max(row["upper"], row["projected"])


def test_clip_is_refused_for_choices(service: World, choice: Collection) -> None:
    document = refusal(service, choice, projection="clip")
    assert document["accepted"] == "none, simplex, mle or base-cut for choice"


def test_intervals_widen_with_confidence_and_family(service: World, choice: Collection) -> None:
    """Half of 1,000 people say the second label: its widest interval is far from 0 and 1."""

    def width(**arguments: object) -> float:
        row = service.get(path(choice, **arguments)).get_json()["estimates"][1]
        return float(row["upper"] - row["lower"])

    assert width(confidence=0.5) < width() < width(family="all") <= width(confidence=0.9999)


def test_grouping_gives_one_document_an_epoch_and_names_those_with_too_few(
    service: World, bits: Collection
) -> None:
    grouped = service.get(path(bits, group_by="epoch")).get_json()
    assert [document["epochs"] for document in grouped["epochs"]] == [[TODAY - 1], [TODAY]]
    assert [document["n"] for document in grouped["epochs"]] == [20, 40]
    assert [document["provisional"] for document in grouped["epochs"]] == [False, True]
    assert grouped["too_few_reports"] == [TODAY - 2]


def test_too_few_reports_say_how_many_are_needed(service: World, bits: Collection) -> None:
    answer = service.get(path(bits, to=TODAY - 2))
    document = answer.get_json()
    assert (answer.status_code, document["n"], document["needed"]) == (409, 2, 3)
    assert document["type"] == "urn:deniable:problem:too-few-reports"


def test_an_empty_collection_has_too_few_reports(service: World) -> None:
    empty = service.register(authored("empty"))
    assert service.get(path(empty)).status_code == 409
    assert service.get(path(empty, group_by="epoch")).status_code == 409


def test_a_collection_that_does_not_exist_is_404(service: World) -> None:
    answer = service.get("/v1/collections/nothing/estimates")
    assert answer.status_code == 404
    assert answer.get_json()["type"] == "urn:deniable:problem:unknown-collection"


def test_csv_has_one_row_a_label(service: World, bits: Collection) -> None:
    answer = service.get(path(bits), Accept="text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    document = service.get(path(bits)).get_json()
    assert answer.mimetype == "text/csv"
    assert [row["label"] for row in rows] == ["dark_mode", "beta"]
    assert [float(row["frequency"]) for row in rows] == [
        row["frequency"] for row in document["estimates"]
    ]
    assert {(row["n"], row["confidence"], row["provisional"]) for row in rows} == {
        ("62", "0.95", "true")
    }


def test_csv_by_epoch_leads_with_the_epoch(service: World, bits: Collection) -> None:
    text = service.get(path(bits, group_by="epoch"), Accept="text/csv").text
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0][:2] == ["epoch", "label"]
    assert [row[0] for row in rows[1:]] == [str(TODAY - 1)] * 2 + [str(TODAY)] * 2


def test_csv_labels_cannot_become_formulas_and_numbers_stay_numbers(
    service: World, choice: Collection
) -> None:
    text = service.get(path(choice), Accept="text/csv").text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["label"] for row in rows] == ["'=1+1", "'+x", "'-x", "'@x", "plain, with comma"]
    numbers = ("count", "frequency", "std_error", "lower", "upper", "n")
    assert all(math.isfinite(float(row[name])) for row in rows for name in numbers)


@pytest.mark.parametrize("accept", ["*/*", "application/json, text/csv;q=0.5", "application/*"])
def test_json_is_what_an_undecided_client_gets(
    service: World, bits: Collection, accept: str
) -> None:
    assert service.get(path(bits), Accept=accept).mimetype == "application/json"


def test_a_format_we_do_not_write_is_not_acceptable(service: World, bits: Collection) -> None:
    assert service.get(path(bits), Accept="application/xml").status_code == 406


def test_answers_are_not_to_be_cached(service: World, bits: Collection) -> None:
    assert service.get(path(bits)).headers["Cache-Control"] == "no-store"


def test_reading_changes_nothing(service: World, bits: Collection, tmp_path: Path) -> None:
    before = service.digest()
    for arguments in ({}, {"group_by": "epoch"}, {"projection": "clip"}, {"from": "nonsense"}):
        service.get(path(bits, **arguments))
    assert service.digest() == before
