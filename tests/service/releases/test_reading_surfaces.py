"""The surfaces of collections of numbers, records and texts say nothing but draws and public n.

Two services are equal but for one replaced report. See `test_surfaces`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.releases.kinds import error_simulation
from deniable_shared.mechanisms.pairs import SampledPairs
from support.builders.api_world import TODAY, World
from support.builders.reading_worlds import reading_manifest
from support.builders.release_world import ReleaseWorld
from support.builders.twin_services import Reports, add, equally_drawn, twins
from support.oracles.message_laws import MessageLaw
from support.oracles.read_surfaces import Answer, everything, forms_of_release
from support.tiers import by_tier, grid

EARLY, LATE = TODAY - 6, TODAY - 5
PATH = "/v1/collections/{}/releases"
REQUESTS: dict[str, list[dict[str, object]]] = {
    "optimal-mean/1": [{"mechanism": "mean"}, {"mechanism": "histogram"}],
    "haar/1": [
        {"mechanism": "mean"},
        {"mechanism": "shares", "ranges": "3"},
        {"mechanism": "exponential", "score": "quantile"},
        {"mechanism": "median", "delta": "1e-6"},
        {"mechanism": "shares", "ranges": "20..0"},
    ],
    "fourier/1": [
        {"mechanism": "table", "attributes": "os, browser"},
        {"mechanism": "table", "attributes": "os, browser", "cell": "mac, chrome"},
        {"mechanism": "table", "attributes": "nothing"},
        {"mechanism": "mwem", "workload": "tables"},
        {"mechanism": "small-db", "workload": "tables", "alpha": "0.9"},
        {"mechanism": "queries"},
    ],
    "pairs/1": [
        {"mechanism": "table", "attributes": "browser"},
        {"mechanism": "table", "attributes": "os, browser"},
    ],
    "prefix-hash/1": [
        {"mechanism": "texts", "texts": "ab, c"},
        {"mechanism": "top-k", "k": 1, "texts": "ab, c"},
        {"mechanism": "top-k", "k": 1},
    ],
    "square-wave/1": [
        {"mechanism": "mean"},
        {"mechanism": "shares", "ranges": "2"},
        {"mechanism": "noisy-max", "score": "quantile", "noise": "exponential"},
    ],
    "hcms/1": [
        {"mechanism": "texts", "texts": "ab, c"},
        {"mechanism": "top-k", "k": 1, "texts": "ab, c"},
        {"mechanism": "texts", "texts": "far too long"},
    ],
}

pytestmark = pytest.mark.deeper


def test_kinds_of_numbers_records_and_texts_are_compared() -> None:
    named = {request["mechanism"] for each in REQUESTS.values() for request in each}
    assert named >= {"mean", "shares", "table", "texts"}


def begun(mechanism: str) -> Callable[[World], Collection]:
    def prepare(world: World) -> Collection:
        collection = world.register(reading_manifest(mechanism, read="releases", min_batch=100))
        add(world, collection, reports_of(EARLY, collection))
        return collection

    return prepare


def reports_of(epoch: int, collection: Collection, replaced: int = 0) -> Reports:
    """Some reports of the first messages, of which so many are another one."""
    reports = [503, 309 - replaced, 201 + replaced]
    counts = [*reports, *[0] * (collection.mechanism.tally_size - 3)]
    if isinstance(collection.mechanism, SampledPairs):  # the reports of each pair count, too
        counts = list(reports @ MessageLaw(collection.mechanism).tallies[:3])
    return Reports(epoch, counts, n=sum(reports))


def said(made: ReleaseWorld, patch: pytest.MonkeyPatch, mechanism: str) -> list[Answer]:
    seen = everything(made.service, made.collection, patch)
    return [*seen, *released(made, patch, mechanism)]


def released(made: ReleaseWorld, patch: pytest.MonkeyPatch, mechanism: str) -> Iterator[Answer]:
    """Priced, made, and read in every form."""
    where = PATH.format(made.collection.id)
    for body in REQUESTS[mechanism]:
        for cost in (True, False):
            request = {**body, "epsilon": "0.5", "cost": cost}
            answer = made.service.send("POST", where, "analyst", json=request)
            yield Answer(f"{where} {request}", answer.status_code, answer.text)
    for row in made.service.running.store.charges(made.collection.id):
        yield from forms_of_release(made.service, patch, made.collection, row.release)
    listed = made.service.page(f"/collections/{made.collection.id}/releases", "analyst")
    yield Answer("the list", listed.status_code, listed.text)


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism", grid(sorted(REQUESTS), by_default=["hcms/1"], long=["fourier/1", "square-wave/1"])
)
def test_one_replaced_report_shows_on_no_surface_but_in_the_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mechanism: str
) -> None:
    runs = by_tier(error_simulation.FEWEST_RUNS, error_simulation.MOST_RUNS)
    monkeypatch.setattr(error_simulation, "MOST_RUNS", runs)  # from the same public facts
    with twins(tmp_path, begun(mechanism), [(), ()], equally_drawn) as worlds:
        for replaced, made in enumerate(worlds):
            add(made.service, made.collection, reports_of(LATE, made.collection, replaced))
            made.service.running.tick()
        answers = [said(made, monkeypatch, mechanism) for made in worlds]
    one, other = ([(each.where, each.status, each.text) for each in every] for every in answers)
    assert one == other
    made_here = [each for each in answers[0] if each.status == 201]
    assert len(made_here) >= len(REQUESTS[mechanism]) - 1
