"""Records all the way: manifest, sealed report, tally, tables and tests of association."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from deniable_aggregator.collections.authoring.linter import lint
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.collections.registry import Collection
from deniable_shared.randomness.coins import Coins
from support import tiers
from support.builders.api_world import INGEST, TODAY, World, authored, opened

TOML = """
name = "{name}"
purpose = "Which systems and browsers go together?"
owner = "privacy@example.org"
epsilon = "4"
valid_from = 2027-01-01
expires = 2027-06-01
min_batch = 3
mechanism = "{mechanism}"
{more}
[domain]
type = "record"
[[domain.attributes]]
name = "os"
labels = ["linux", "mac"]
[[domain.attributes]]
name = "browser"
labels = ["firefox", "=chrome"]
[[domain.attributes]]
name = "beta, or not"
labels = ["no", "yes"]
"""
REPEATS = {
    "once": "",
    "fresh": 'repeat = "fresh"\nepsilon_lifetime = "20"',
    "memoized": 'repeat = "memoized"\nlinkable = true',
}
MAC = {"os": "mac", "browser": "firefox", "beta, or not": "no"}
LINUX = {"os": "linux", "browser": "=chrome", "beta, or not": "no"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("records")) as service:
        yield service


def asked(service: World, mechanism: str, repeat: str = "once") -> Collection:
    """2,000 reports of each of two combinations, half of them in each of two epochs."""
    name = f"{mechanism.partition('/')[0]}-{repeat}"
    text = TOML.format(name=name, mechanism=mechanism, more=REPEATS[repeat])
    collection = service.register(manifest_from_toml(text, ingest=INGEST))
    if not service.running.store.epochs(collection.id):
        for epoch in (TODAY - 1, TODAY):
            service.count(collection, [MAC, LINUX] * 1000, epoch=epoch)
    return collection


def estimates(service: World, collection: Collection, query: str = "") -> dict[str, Any]:
    answer = service.get(f"/v1/collections/{collection.id}/estimates{query}")
    document: dict[str, Any] = answer.get_json()
    assert answer.status_code == 200, document
    return document


def rows(document: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {row["label"]: row for row in document["estimates"]}


IDS = ("pairs/1", "fourier/1", "subset/1", "hadamard/1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "repeat"),
    tiers.rows(
        product(IDS, REPEATS), by_default=lambda row: row[1] == "once" or row[0] == "pairs/1"
    ),
)
def test_a_table_of_two_attributes_is_near_the_truth_and_found_associated(
    service: World, mechanism: str, repeat: str
) -> None:
    """At ε = 4 and n = 4,000 a cell is off by 0.25 with probability under 1e-6."""
    document = estimates(service, asked(service, mechanism, repeat), "?marginal=os,browser")
    table = rows(document)
    assert list(table) == [
        "os=linux, browser=firefox",
        "os=linux, browser==chrome",
        "os=mac, browser=firefox",
        "os=mac, browser==chrome",
    ]
    for label, true in zip(table, (0, 0.5, 0.5, 0), strict=True):
        assert abs(table[label]["frequency"] - true) < 0.25
        assert table[label]["lower"] <= table[label]["upper"]
    (test,) = document["associations"]
    assert test["attributes"] == ["os", "browser"]
    assert (test["degrees_of_freedom"], test["undecided"]) == (1, None)
    assert test["p_value"] < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["affine/1", "cyclic/1", "projective/1"])
def test_a_table_from_a_design_has_intervals_and_is_found_associated(
    service: World, mechanism: str
) -> None:
    """At ε = 4 and n = 4,000 a cell is off by 0.25 with probability under 1e-6."""
    document = estimates(service, asked(service, mechanism), "?marginal=os,browser")
    for row, true in zip(document["estimates"], (0, 0.5, 0.5, 0), strict=True):
        assert abs(row["frequency"] - true) < 0.25
        assert row["lower"] <= row["upper"]
    (test,) = document["associations"]
    assert (test["degrees_of_freedom"], test["undecided"]) == (1, None)
    assert test["p_value"] < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["pairs/1", "fourier/1"])
def test_single_attributes_are_the_default_if_reports_have_tables(
    service: World, mechanism: str
) -> None:
    document = estimates(service, asked(service, mechanism))
    assert list(rows(document)) == [
        *("os=linux", "os=mac", "browser=firefox", "browser==chrome"),
        *("beta, or not=no", "beta, or not=yes"),
    ]
    assert document["associations"] == []


def test_product_coding_shows_all_combinations_unless_tables_are_asked_for(service: World) -> None:
    collection = asked(service, "subset/1")
    document = estimates(service, collection)
    assert len(rows(document)) == 8
    assert "associations" not in document
    whole = rows(estimates(service, collection, "?marginal=os,browser&marginal=beta, or not"))
    assert len(whole) == 6
    assert whole["os=mac, browser=firefox"]["std_error"] > 0


@pytest.mark.slow
def test_intervals_of_several_tables_hold_together(service: World) -> None:
    collection = asked(service, "pairs/1")
    alone = rows(estimates(service, collection, "?marginal=os,browser&family=all"))
    more = rows(estimates(service, collection, "?marginal=os,browser&marginal=os&family=all"))
    label = "os=mac, browser=firefox"
    assert (
        more[label]["upper"] - more[label]["lower"] > alone[label]["upper"] - alone[label]["lower"]
    )


@pytest.mark.slow
def test_projections_are_taken_table_by_table(service: World) -> None:
    collection = asked(service, "fourier/1")
    query = "?marginal=os,browser&marginal=os&projection=simplex"
    shown = [row["projected"] for row in rows(estimates(service, collection, query)).values()]
    assert sum(shown[:4]) == pytest.approx(1)
    assert sum(shown[4:]) == pytest.approx(1)
    refused = service.get(f"/v1/collections/{collection.id}/estimates?marginal=os&projection=clip")
    assert "none or simplex for record" in refused.get_json()["detail"]


def test_one_epoch_at_a_time_and_as_csv(service: World) -> None:
    collection = asked(service, "pairs/1")
    grouped = estimates(service, collection, "?marginal=os,browser&group_by=epoch")
    assert [len(epoch["estimates"]) for epoch in grouped["epochs"]] == [4, 4]
    path = f"/v1/collections/{collection.id}/estimates?marginal=browser,os"
    text = service.get(path, Accept="text/csv").get_data(as_text=True)
    found = list(csv.DictReader(io.StringIO(text)))
    assert [row["label"] for row in found][1] == "browser=firefox, os=mac"
    assert {row["n"] for row in found} == {"4000"}


@pytest.mark.parametrize(
    ("mechanism", "query", "detail"),
    [
        ("pairs/1", "marginal=os,colour", "among os, browser, beta, or not, got 'colour'"),
        ("pairs/1", "marginal=os,os", "each once"),
        ("pairs/1", "marginal=", "got ''"),
        ("pairs/1", "marginal=os&marginal=", "got ''"),
        ("fourier/1", "marginal=os,browser,os", "each once"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_names_there_are(
    service: World, mechanism: str, query: str, detail: str
) -> None:
    collection = asked(service, mechanism)
    answer = service.get(f"/v1/collections/{collection.id}/estimates?{query}")
    assert (answer.status_code, answer.get_json()["argument"]) == (400, "marginal")
    assert detail in answer.get_json()["detail"]


def test_tables_of_what_is_no_record_are_refused(service: World) -> None:
    service.register(authored("plain"))
    answer = service.get("/v1/collections/plain/estimates?marginal=os")
    assert answer.status_code == 400
    assert "only records have one" in answer.get_json()["detail"]


@pytest.mark.slow
def test_a_sealed_report_of_a_record_is_counted(service: World) -> None:
    collection = asked(service, "pairs/1", "fresh")
    before = estimates(service, collection)["n"]
    assert service.upload(collection, service.report(collection, MAC)).status_code == 200
    assert estimates(service, collection)["n"] == before + 1


def test_a_payload_that_names_no_pair_is_rejected(service: World) -> None:
    collection = asked(service, "pairs/1")
    payload = b"\x03" + Coins.system().bytes(1)
    with pytest.raises(ValueError, match="name a pair"):
        collection.mechanism.validate(payload)


def test_the_list_of_collections_shows_the_attributes(service: World) -> None:
    asked(service, "pairs/1")
    listed = service.get("/v1/collections").get_json()["collections"]
    domain = next(each["domain"] for each in listed if each["name"] == "pairs-once")
    assert domain["attributes"][0] == {"name": "os", "labels": ["linux", "mac"]}
    assert "labels" not in domain


@pytest.mark.slow
def test_forty_attributes_are_never_written_out_as_combinations(service: World) -> None:
    """2^40 combinations: applied, linted, counted, listed and estimated at once."""
    names = [f"a{place}" for place in range(40)]
    text = TOML.partition("[[domain")[0].format(name="forty", mechanism="fourier/1", more="")
    text += "".join(
        f'[[domain.attributes]]\nname = "{name}"\nlabels = ["no", "yes"]\n' for name in names
    )
    manifest = manifest_from_toml(text, ingest=INGEST)
    assert any("one of 820 parities" in str(found) for found in lint(manifest, now=1.79e9))
    collection = service.register(manifest)
    service.count(collection, [dict.fromkeys(names, "yes")] * 50)
    assert len(estimates(service, collection)["estimates"]) == 80
    (test,) = estimates(service, collection, "?marginal=a0,a39")["associations"]
    assert test["undecided"].startswith("too few reports")
