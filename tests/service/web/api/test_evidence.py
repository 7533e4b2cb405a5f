"""Significance, sets, likelihood, limits under lies and warnings, over HTTP and in the terminal."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from deniable_aggregator.cli.estimate_tables import estimates_table
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.documents.estimates import EstimatesDocument
from deniable_aggregator.store.rows import AcceptedReport, TallyKey
from deniable_shared.randomness.coins import Coins
from support.builders.api_world import TODAY, World, authored, opened

LABELS = [f"l{place}" for place in range(6)]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("evidence")) as service:
        yield service


@pytest.fixture(scope="module")
def collection(service: World) -> Collection:
    """1,500 reports of l2 and 500 of l4, epsilon = 2, by generalized randomized response."""
    more = 'mechanism = "grr/1"\nrepeat = "once"\n'
    collection = service.register(authored("browser", type="choice", labels=LABELS, more=more))
    service.count(collection, ["l2"] * 1500 + ["l4"] * 500)
    return collection


def asked(service: World, collection: Collection, query: str) -> dict[str, Any]:
    answer = service.get(f"/v1/collections/{collection.id}/estimates?{query}")
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.get_json()
    return document


def refused(service: World, collection: Collection, query: str) -> dict[str, Any]:
    answer = service.get(f"/v1/collections/{collection.id}/estimates?{query}")
    assert answer.status_code == 400
    problem: dict[str, Any] = answer.get_json()
    return problem


def test_nothing_is_added_unless_it_is_asked_for(service: World, collection: Collection) -> None:
    document = asked(service, collection, "")
    assert {"sets", "warnings", "likelihood_short"} & set(document) == set()
    assert "significant" not in document["estimates"][0]


@pytest.mark.parametrize("method", ["holm", "bonferroni"])
def test_labels_that_people_have_are_significant(
    service: World, collection: Collection, method: str
) -> None:
    """l2 is 20 standard errors above 0 and l4 ten: by the formula at n = 2,000."""
    rows = asked(service, collection, f"significant={method}&confidence=0.9999")["estimates"]
    found = {row["label"] for row in rows if row["significant"]}
    assert {"l2", "l4"} <= found


def test_sets_have_rows_of_their_own(service: World, collection: Collection) -> None:
    document = asked(service, collection, "set=l2,l4&set=l0&family=all")
    both, one = document["sets"]
    shares = {row["label"]: row["frequency"] for row in document["estimates"]}
    assert both["labels"] == ["l2", "l4"]
    assert both["frequency"] == pytest.approx(shares["l2"] + shares["l4"])
    assert both["lower"] <= both["frequency"] <= max(both["upper"], both["frequency"])
    assert one["frequency"] == pytest.approx(shares["l0"])


@pytest.mark.parametrize("given", ["l9", "l2,l2", ",".join(LABELS), "l2,"])
def test_sets_that_are_none_are_refused(service: World, collection: Collection, given: str) -> None:
    assert refused(service, collection, f"set={given}")["argument"] == "set"


def test_the_likeliest_distribution_is_a_projection(service: World, collection: Collection) -> None:
    document = asked(service, collection, "projection=mle")
    assert sum(row["projected"] for row in document["estimates"]) == pytest.approx(1)
    assert document["likelihood_short"] >= 0


def test_base_cut_shows_zero_for_what_is_not_significant(
    service: World, collection: Collection
) -> None:
    rows = asked(service, collection, "projection=base-cut&significant=holm")["estimates"]
    assert all((row["projected"] > 0) == row["significant"] for row in rows)


def test_limits_under_lies_are_wider_and_say_when_they_reach_zero(
    service: World, collection: Collection
) -> None:
    (row,) = asked(service, collection, "liars=0.01")["estimates"][2:3]
    assert row["lower_under_lies"] < row["lower"] < row["upper"] < row["upper_under_lies"]
    (flipped,) = asked(service, collection, f"liars={row['liars_to_zero'] + 1e-9}")["estimates"][
        2:3
    ]
    assert flipped["lower_under_lies"] == 0
    honest = asked(service, collection, "liars=0")["estimates"][2]
    assert (honest["lower_under_lies"], honest["upper_under_lies"]) == (
        honest["lower"],
        honest["upper"],
    )


def test_csv_has_the_same_columns_and_the_sets_behind(
    service: World, collection: Collection
) -> None:
    path = f"/v1/collections/{collection.id}/estimates?significant=holm&liars=0.01&set=l1,l2"
    rows = list(csv.DictReader(io.StringIO(service.get(path, Accept="text/csv").text)))
    assert [row["label"] for row in rows] == [*LABELS, "l1 + l2"]
    assert rows[2]["significant"] == "true"
    assert rows[-1]["significant"] == rows[-1]["liars_to_zero"] == ""
    assert float(rows[-1]["frequency"]) > 0


def test_vectors_of_ones_alone_raise_a_warning(
    service: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """300 honest reports and 300 of all ones, of `oue/1`: 1,800 ones where 500 are expected."""
    more = 'mechanism = "oue/1"\nrepeat = "once"\n'
    collection = service.register(authored("made-up", type="choice", labels=LABELS, more=more))
    service.count(collection, ["l2"] * 300)
    assert "warnings" not in asked(service, collection, "")
    cell = TallyKey(collection.id, TODAY, collection.manifest.version)
    fakes = [AcceptedReport(cell, Coins.system().bytes(16), b"\xfc") for _ in range(300)]
    service.running.store.commit(fakes, lambda _, rows: collection.estimator.tally(rows))
    document = asked(service, collection, "significant=holm&liars=0.1&set=l1,l2")
    (warning,) = document["warnings"]
    assert warning["kind"] == "weight"
    assert warning["seen"] > 1800 > warning["expected"]
    estimates_table(msgspec.convert(document, EstimatesDocument))
    shown = " ".join(capsys.readouterr().out.split())
    assert "Warning: All labels together were supported" in shown
    assert "someone" in shown
    assert "reaches 0 with liars of" in shown
    assert "l1 + l2: " in shown
