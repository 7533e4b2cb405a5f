"""What is kept of a release is hashed into the log: its bytes stay as they were."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from deniable_aggregator.documents.releases import ReleaseDocument
from deniable_aggregator.releases import kinds
from deniable_aggregator.releases.request import ReleaseRequest
from deniable_aggregator.releases.serialize import canonical_bytes
from support.builders.release_world import FIRST, LAST, ReleaseWorld, document, opened

KEPT: dict[str, str] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "kept_releases.json").read_text(encoding="utf-8")
)
"""Stored releases of every kind, made by a version that built them as dictionaries."""

CENTRAL = 'central = { per_epoch = "99", per_installation = "99", delta = "0.01" }\n'
DRAWN = {"created", "error_bars", "release", "result", "typical_errors"}


@pytest.mark.parametrize("name", KEPT)
def test_a_kept_release_is_read_and_written_byte_for_byte(name: str) -> None:
    release = msgspec.json.decode(KEPT[name], type=ReleaseDocument)
    assert canonical_bytes(release).decode() == KEPT[name]


@pytest.fixture(scope="module")
def release_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReleaseWorld]:
    with opened(
        tmp_path_factory.mktemp("kept"),
        central=CENTRAL,
        prepare=kinds.prepare,
        empty=True,
        more="cohorts = 64\n",
        type="choice",
        labels=("1", "2", "5", "10"),
    ) as made:
        for epoch in (FIRST, LAST):
            made.count(epoch, [b"\x00"] * 1000)
        yield made


@pytest.mark.parametrize("kind", sorted(KEPT.keys() & kinds.RELEASE_KINDS.keys()))
def test_a_new_release_is_kept_with_the_same_members(
    release_world: ReleaseWorld, kind: str
) -> None:
    """Whatever is no draw is equal in value, too."""
    before = json.loads(KEPT[kind])
    request = ReleaseRequest(kind, before["parameters"])
    now = document(release_world.releases.release(release_world.collection, request, audit=None))
    assert now.keys() == before.keys()
    assert {name: now[name] for name in now.keys() - DRAWN} == {
        name: before[name] for name in before.keys() - DRAWN
    }
