"""Closing epochs over HTTP: when, by whom, for good."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_aggregator.collections.registry import Collection
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import decode_errors
from support.builders.api_world import DAY, TODAY, World, authored, opened

BITS = {"dark_mode": True, "beta": False}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with opened(tmp_path) as world:
        yield world


@pytest.fixture
def collection(world: World) -> Collection:
    return world.register(authored())


def close(world: World, epoch: object, query: str = "?early=true") -> tuple[int, dict[str, object]]:
    answer = world.send("POST", f"/v1/collections/settings/epochs/{epoch}/close{query}")
    return answer.status_code, answer.get_json()


def test_an_open_epoch_closes_only_when_told_to_close_early(
    world: World, collection: Collection
) -> None:
    status, document = close(world, TODAY, query="")
    assert (status, document["closes"]) == (409, (TODAY + 3) * DAY)
    assert "early=true" in str(document["detail"])
    assert not world.service.store.is_closed(collection.id, TODAY)


def test_closing_early_is_done_once_and_then_nothing(world: World, collection: Collection) -> None:
    expected = {"collection": collection.id, "epoch": TODAY, "state": "closed"}
    assert close(world, TODAY) == (200, {**expected, "changed": True})
    assert close(world, TODAY) == (200, {**expected, "changed": False})
    assert close(world, TODAY, query="") == (200, {**expected, "changed": False})


def test_a_report_for_an_epoch_closed_early_is_refused_and_not_counted(
    world: World, collection: Collection
) -> None:
    report = world.report(collection, BITS)
    close(world, TODAY)
    answer = world.upload(collection, report)
    (failed,) = decode_errors(answer.data)
    assert (answer.status_code, failed.error) == (200, ReportError.EPOCH_CLOSED)
    document = world.get("/v1/collections/settings/epochs").get_json()
    assert [row["n"] for row in document["epochs"]] == [0]
    assert document["rejections"] == {"epoch-closed": 1}


def test_an_epoch_past_its_grace_closes_without_early(world: World, collection: Collection) -> None:
    assert close(world, TODAY - 3, query="")[0] == 200


@pytest.mark.parametrize("epoch", [TODAY + 1, 4_294_967_295])
def test_an_epoch_that_has_not_started_cannot_be_closed(
    world: World, collection: Collection, epoch: int
) -> None:
    status, document = close(world, epoch)
    assert (status, document["argument"], document["given"]) == (400, "epoch", str(epoch))


@pytest.mark.slow
@pytest.mark.parametrize("epoch", ["x", "-1", "1.0", "9" * 5000, "%D9%A1", "4294967296"])
def test_what_is_no_epoch_index_is_refused(
    world: World, collection: Collection, epoch: str
) -> None:
    status, document = close(world, epoch)
    assert (status, document["argument"]) == (400, "epoch")


def test_the_epochs_of_an_unknown_collection_are_404(world: World) -> None:
    assert world.get("/v1/collections/nothing/epochs").status_code == 404
    assert close(world, TODAY)[0] == 404
