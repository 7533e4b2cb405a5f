"""The poisoning radius of a selection: told where anybody may read the counts, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_aggregator.releases import kinds
from deniable_aggregator.releases.request import ReleaseRequest
from support.builders.release_world import FIRST, ReleaseWorld, document, opened

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
def test_other_mechanisms_have_none(release_world: ReleaseWorld) -> None:
    arguments = {"score": "mode", "epsilon": "0.25"}
    assert set(result(release_world, ReleaseRequest("noisy-max", arguments))) == {"label", "index"}
