"""The poisoning radius of a selection is shown only if anyone may read the counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deniable_aggregator.releases import kinds
from deniable_aggregator.releases.kinds.contract import Tallies, TallyPart
from deniable_aggregator.releases.kinds.ordered_scores import propose_first_crossing
from deniable_aggregator.releases.request import ReleaseRequest
from support.builders.release_contexts import PRICES, context, tallies
from support.builders.release_world import FIRST, ReleaseWorld, document, opened
from support.builders.small_mechanisms import SMALL

LABELS = ("light", "dark", "auto")
MODE = ReleaseRequest("exponential", {"score": "mode", "epsilon": "0.5"})


@pytest.fixture
def release_world(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[ReleaseWorld]:
    read = request.param
    with opened(
        tmp_path, type="choice", labels=LABELS, read=read, prepare=kinds.prepare, empty=True
    ) as made:
        made.count(FIRST, [bytes([0])] * 9 + [bytes([1])] * 40 + [bytes([2])] * 12)
        yield made


def result(release_world: ReleaseWorld, request: ReleaseRequest = MODE) -> dict[str, object]:
    return document(release_world.releases.release(release_world.collection, request, audit=None))[
        "result"
    ]  # type: ignore[return-value]  # a document has values of many types


@pytest.mark.slow
@pytest.mark.parametrize("release_world", ["live"], indirect=True)
def test_so_many_reports_may_be_anything_and_one_more_may_not(release_world: ReleaseWorld) -> None:
    """Of 40 against 12 each replaced report takes two from the lead of 28: 13 leave one of 2."""
    document = result(release_world)
    assert document["poisoning_radius"] == 13
    assert document["label"] in LABELS


@pytest.mark.parametrize("release_world", ["live"], indirect=True)
def test_epsilon_does_not_change_it(release_world: ReleaseWorld) -> None:
    again = ReleaseRequest("exponential", {"score": "mode", "epsilon": "0.25"})
    assert result(release_world, again)["poisoning_radius"] == 13


@pytest.mark.parametrize("release_world", ["closed", "releases"], indirect=True)
def test_where_not_everybody_may_read_the_counts_it_is_not_told(
    release_world: ReleaseWorld,
) -> None:
    assert set(result(release_world)) == {"label", "index"}


@pytest.mark.parametrize("release_world", ["live"], indirect=True)
def test_every_selection_has_one(release_world: ReleaseWorld) -> None:
    """The second and the third of 40, 12 and 9 are 3 apart; half of 61 is 10 below 40."""
    requests: list[tuple[str, dict[str, object], int]] = [
        ("noisy-max", {"score": "mode"}, 13),
        ("top-k", {"k": 1}, 13),
        ("top-k", {"k": 2}, 1),
    ]
    for mechanism, arguments, radius in requests:
        made = result(release_world, ReleaseRequest(mechanism, {**arguments, "epsilon": "0.1"}))
        assert made["poisoning_radius"] == radius
    every = result(release_world, ReleaseRequest("top-k", {"k": 3, "epsilon": "0.1"}))
    assert "poisoning_radius" not in every


@pytest.mark.parametrize("read", [True, False])
def test_a_stable_answer_has_one_less_than_its_distance(read: bool) -> None:
    given = replace(context(SMALL["grr-4"], 61), live=read)
    release = kinds.prepare("median", {"epsilon": "1", "delta": "1e-6"}, given)
    proposal = propose_first_crossing(release.score, np.array([9, 40, 12, 0]))  # type: ignore[attr-defined]  # a median
    drawn = release.draw(tallies((9, 40, 12, 0), 61)).result
    assert drawn.get("poisoning_radius") == (proposal.distance - 1 if read else None)
    assert proposal.distance > 1


@pytest.mark.parametrize("live", [True, False])
def test_a_price_stays_the_likeliest_while_so_many_reports_are_replaced(live: bool) -> None:
    given = replace(context(SMALL["grr-4"], 60, labels=PRICES[:4]), live=live)
    release = kinds.prepare("price", {"epsilon": "1"}, given)
    for counts in [(5, 5, 10, 40), (30, 10, 10, 10), (20, 15, 15, 10)]:
        drawn = release.draw(tallies(counts, 60)).result
        assert ("poisoning_radius" in drawn) == live
        if live:
            radius = drawn["poisoning_radius"]
            assert isinstance(radius, int)
            reached: set[tuple[int, ...]] = {counts}
            for _ in range(min(radius, 4)):
                reached |= {other for each in reached for other in _moved(each)}
            likeliest = {_likeliest(release, each) for each in reached}
            assert len(likeliest) == 1


def _moved(counts: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The tallies after one report of one label became one of another."""
    places = range(len(counts))
    return [
        tuple(k - (v == one) + (v == other) for v, k in enumerate(counts))
        for one in places
        for other in places
        if one != other and counts[one]
    ]


def _likeliest(release: object, counts: tuple[int, ...]) -> int:
    return int(np.argmax(release.score.levels(np.array(counts))))  # type: ignore[attr-defined]  # a selection


@pytest.mark.parametrize("live", [True, False])
def test_most_cohorts_agree_as_long_as_fewer_reports_are_replaced(live: bool) -> None:
    """Nine cohorts say the first label and two the second: a gap of 7 is gone after 4 changes."""
    given = replace(context(SMALL["grr-4"], 11, cohorts=11), live=live)
    arguments = {"epsilon": "8", "delta": "0.4"}
    release = kinds.prepare("sample-aggregate", arguments, given)
    parts = [
        TallyPart(0, cohort, 1, np.eye(4, dtype=np.int64)[int(cohort >= 9)]) for cohort in range(11)
    ]
    drawn = release.draw(Tallies(tuple(parts))).result
    assert drawn.get("poisoning_radius") == (3 if live else None)
