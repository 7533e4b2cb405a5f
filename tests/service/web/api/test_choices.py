"""Choices among many labels, all the way: manifest, sealed report, tally, estimate."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.queries.pooled_tallies import EpochRange, pooled_tally
from deniable_estimators.mechanisms import estimator_for
from support.builders.api_world import TODAY, World, authored, opened
from support.tiers import rows

LABELS = [f"l{place}" for place in range(11)]
IDS = [
    "affine/1",
    "cyclic/1",
    "hadamard/1",
    "loloha/1",
    "oue/1",
    "projective/1",
    "subset/1",
    "sue/1",
]
REPEATS = {
    "once": 'repeat = "once"\n',
    "fresh": 'repeat = "fresh"\nepsilon_lifetime = "20"\n',
    "memoized": 'repeat = "memoized"\nlinkable = true\n',
}
EPOCHS = 3


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("choices")) as service:
        yield service


def asked(service: World, id: str, repeat: str) -> Collection:
    """400 reports of the third label, of as many devices, in each of three epochs."""
    name, more = f"{id.partition('/')[0]}-{repeat}", f'mechanism = "{id}"\n{REPEATS[repeat]}'
    manifest = authored(name, type="choice", labels=LABELS, more=more)
    collection = service.register(manifest)
    for epoch in range(TODAY - EPOCHS + 1, TODAY + 1):
        service.count(collection, ["l2"] * 400, epoch=epoch)
    return collection


@pytest.mark.parametrize(
    ("id", "repeat"),
    rows(
        product(IDS, REPEATS),
        by_default=lambda row: row[1] == "once" or row[0] in ("affine/1", "loloha/1"),
    ),
)
def test_reports_of_one_label_are_estimated_as_that_label(
    service: World, id: str, repeat: str
) -> None:
    """At ε = 2 and n = 1,201 every f̂ is within 0.4: six standard errors or more, by the formula."""
    collection = asked(service, id, repeat)
    assert service.upload(collection, service.report(collection, "l2")).status_code == 200
    answer = service.get(f"/v1/collections/{collection.id}/estimates").get_json()
    assert (answer["mechanism"], answer["n"], len(answer["estimates"])) == (id, 1201, len(LABELS))
    reading = pooled_tally(service.running.store, collection, EpochRange())
    built = estimator_for(collection.mechanism, repeat)
    estimate = built.estimate(reading.tally, reading.n, epochs=EPOCHS)
    assert [row["lower"] for row in answer["estimates"]] == estimate.lower.tolist()
    assert [row["upper"] for row in answer["estimates"]] == estimate.upper.tolist()
    assert 6 * largest_error(collection) <= 0.4
    for place, frequency in enumerate(estimate.frequencies):
        assert abs(frequency - (place == 2)) < 0.4


def largest_error(collection: Collection) -> float:
    """The largest standard error of 1201 reports, each of another device, at f = 0 or 1."""
    p, q = float(collection.mechanism.p), float(collection.mechanism.q)
    return float((max(p * (1 - p), q * (1 - q)) / 1201) ** 0.5 / (p - q))
