"""Estimates over several epochs of one device: what the document says and what it is about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.queries.pooled_tallies import EpochRange, pooled_tally
from deniable_estimators.mechanisms import estimator_for
from support.builders.api_world import TODAY, World, authored, opened

ANSWERS = [{"dark_mode": value, "beta": not value} for value in (True, False)]
MORE = {
    "once": 'repeat = "once"\n',
    "fresh": 'repeat = "fresh"\n',
    "memoized": 'repeat = "memoized"\nlinkable = true\nhold_epochs = 20\n',
    "sampled": 'repeat = "memoized"\nlinkable = true\nmechanism = "rr-sampled/1"\nsampled = 1\n',
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("repeats")) as service:
        yield service


@pytest.fixture(scope="module")
def collections(service: World) -> dict[str, Collection]:
    """50 reports in each of four epochs."""
    found = {name: service.register(authored(name, more=more)) for name, more in MORE.items()}
    for collection in found.values():
        for epoch in range(TODAY - 3, TODAY + 1):
            service.count(collection, ANSWERS * 25, epoch=epoch)
    return found


def document(service: World, collection: Collection, query: str = "") -> dict[str, object]:
    answer = service.get(f"/v1/collections/{collection.id}/estimates{query}")
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.get_json()
    return found


def rows(found: dict[str, object]) -> list[dict[str, float]]:
    listed = found["estimates"]
    assert isinstance(listed, list)
    return listed


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE)
def test_the_numbers_are_the_estimators_over_as_many_epochs(
    service: World, collections: dict[str, Collection], name: str
) -> None:
    collection = collections[name]
    reading = pooled_tally(service.running.store, collection, EpochRange())
    repeat = collection.manifest.repeat
    estimator = estimator_for(collection.mechanism, repeat=repeat)
    estimate = estimator.estimate(reading.tally, reading.n, epochs=4)
    found = document(service, collection)
    assert (found["repeat"], found["target"], found["n"]) == (repeat, "population", 200)
    assert [row["std_error"] for row in rows(found)] == estimate.std_errors.tolist()
    assert [row["lower"] for row in rows(found)] == estimate.lower.tolist()
    devices = estimate.devices_to_leave.tolist()
    assert [row["devices_to_leave_interval"] for row in rows(found)] == devices


@pytest.mark.parametrize("name", ["fresh", "memoized"])
def test_epochs_are_never_pooled_as_if_their_reports_were_independent(
    service: World, collections: dict[str, Collection], name: str
) -> None:
    collection = collections[name]
    reading = pooled_tally(service.running.store, collection, EpochRange())
    naive = collection.estimator.estimate(reading.tally, reading.n, epochs=1)
    for row, error in zip(rows(document(service, collection)), naive.std_errors, strict=True):
        assert row["std_error"] > 1.1 * error


@pytest.mark.parametrize("name", ["fresh", "memoized"])
def test_a_liar_lies_in_every_epoch(
    service: World, collections: dict[str, Collection], name: str
) -> None:
    for row in rows(document(service, collections[name])):
        reports, devices = row["reports_to_leave_interval"], row["devices_to_leave_interval"]
        assert devices == -(-reports // 4)


def test_a_memoized_document_names_its_holds_and_their_linkage(
    service: World, collections: dict[str, Collection]
) -> None:
    collection = collections["memoized"]
    first = collection.manifest.first_epoch
    assert TODAY - 3 < first + 20 <= TODAY + 6  # the fixture's epochs lie in the first hold
    found = document(service, collection)
    assert found["holds"] == [{"first": first, "last": first + 19}]
    assert found["linkage"] == collection.manifest.linkage > 0


def test_several_holds_are_named_one_by_one(service: World) -> None:
    more = MORE["memoized"].replace("20", "2")
    collection = service.register(authored("holds", more=more))
    for epoch in range(TODAY - 3, TODAY + 1):
        service.count(collection, ANSWERS * 3, epoch=epoch)
    found = document(service, collection)["holds"]
    assert isinstance(found, list)
    assert [hold["last"] - hold["first"] for hold in found] == [1] * len(found)
    assert len(found) == 2 + (TODAY - 3 - collection.manifest.first_epoch) % 2


@pytest.mark.parametrize("name", ["once", "fresh"])
def test_other_documents_have_no_holds(
    service: World, collections: dict[str, Collection], name: str
) -> None:
    assert not {"holds", "linkage"} & document(service, collections[name]).keys()


@pytest.mark.parametrize("name", MORE)
def test_one_epoch_alone_is_read_as_reports_of_different_devices(
    service: World, collections: dict[str, Collection], name: str
) -> None:
    collection = collections[name]
    reading = pooled_tally(service.running.store, collection, EpochRange(TODAY, TODAY))
    estimate = collection.estimator.estimate(reading.tally, reading.n)
    found = document(service, collection, f"?from={TODAY}")
    assert [row["lower"] for row in rows(found)] == estimate.lower.tolist()
    assert [row["upper"] for row in rows(found)] == estimate.upper.tolist()


@pytest.mark.parametrize("name", MORE)
def test_csv_holds_the_same_rows(
    service: World, collections: dict[str, Collection], name: str
) -> None:
    path = f"/v1/collections/{collections[name].id}/estimates"
    lines = service.get(path, Accept="text/csv").text.splitlines()
    assert "devices_to_leave_interval" in lines[0]
    assert len(lines) == 3
