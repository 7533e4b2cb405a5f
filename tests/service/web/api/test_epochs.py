"""Closing epochs over HTTP: when, by whom, for good."""

from __future__ import annotations

import pytest

from deniable_aggregator.collections.registry import Collection
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import decode_errors
from support.builders.api_world import DAY, TODAY, World, authored

BITS = {"dark_mode": True, "beta": False}


@pytest.fixture
def collection(service: World) -> Collection:
    return service.register(authored())


def close(
    service: World, epoch: object, query: str = "?early=true"
) -> tuple[int, dict[str, object]]:
    answer = service.send("POST", f"/v1/collections/settings/epochs/{epoch}/close{query}")
    return answer.status_code, answer.get_json()


def test_an_open_epoch_closes_only_when_told_to_close_early(
    service: World, collection: Collection
) -> None:
    status, document = close(service, TODAY, query="")
    assert (status, document["closes"]) == (409, (TODAY + 3) * DAY)
    assert "early=true" in str(document["detail"])
    assert not service.running.store.is_closed(collection.id, TODAY)


@pytest.mark.slow
def test_closing_early_is_done_once_and_then_nothing(
    service: World, collection: Collection
) -> None:
    expected = {"collection": collection.id, "epoch": TODAY, "state": "closed"}
    assert close(service, TODAY) == (200, {**expected, "changed": True})
    assert close(service, TODAY) == (200, {**expected, "changed": False})
    assert close(service, TODAY, query="") == (200, {**expected, "changed": False})


def test_a_report_for_an_epoch_closed_early_is_refused_and_not_counted(
    service: World, collection: Collection
) -> None:
    report = service.report(collection, BITS)
    close(service, TODAY)
    answer = service.upload(collection, report)
    (failed,) = decode_errors(answer.data)
    assert (answer.status_code, failed.error) == (200, ReportError.EPOCH_CLOSED)
    document = service.get("/v1/collections/settings/epochs").get_json()
    assert [row["n"] for row in document["epochs"]] == [0]
    assert document["rejections"] == {"epoch-closed": 1}


def test_an_epoch_past_its_grace_closes_without_early(
    service: World, collection: Collection
) -> None:
    assert close(service, TODAY - 3, query="")[0] == 200


@pytest.mark.slow
@pytest.mark.parametrize("epoch", [TODAY + 1, 4_294_967_295])
def test_an_epoch_that_has_not_started_cannot_be_closed(
    service: World, collection: Collection, epoch: int
) -> None:
    status, document = close(service, epoch)
    assert (status, document["argument"], document["given"]) == (400, "epoch", str(epoch))


NO_INDICES = ("x", "-1", "1.0", "9" * 5000, "%D9%A1", "4294967296")


@pytest.mark.slow
def test_what_is_no_epoch_index_is_refused(service: World, collection: Collection) -> None:
    for epoch in NO_INDICES:
        status, document = close(service, epoch)
        assert (status, document["argument"]) == (400, "epoch"), epoch


def test_the_epochs_of_an_unknown_collection_are_404(service: World) -> None:
    assert service.get("/v1/collections/nothing/epochs").status_code == 404
    assert close(service, TODAY)[0] == 404
