"""`read`: what live, closed and releases let analysts see."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from deniable_aggregator.collections.registry import Collection
from support.builders.api_world import DAY, TODAY, World, authored, opened

BITS = {"dark_mode": True, "beta": False}


@pytest.fixture
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("read")) as service:
        yield service


def filled(service: World, read: str) -> Collection:
    """10 reports yesterday, closed; 10 today, open."""
    collection = service.register(authored(read, read=read))
    for epoch in (TODAY - 1, TODAY):
        service.count(collection, [BITS] * 10, epoch=epoch)
    service.running.store.close_epoch(collection.id, TODAY - 1, service.clock(), audit=None)
    return collection


def estimates(service: World, collection: Collection, query: str = "") -> dict[str, object]:
    answer = service.get(f"/v1/collections/{collection.id}/estimates{query}")
    assert answer.status_code == 200, answer.text
    document: dict[str, object] = answer.get_json()
    return document


def epochs(service: World, collection: Collection) -> dict[str, object]:
    document: dict[str, object] = service.get(f"/v1/collections/{collection.id}/epochs").get_json()
    return document


def test_live_reads_open_epochs_and_says_so(service: World) -> None:
    document = estimates(service, filled(service, "live"))
    assert (document["epochs"], document["provisional"]) == ([TODAY - 1, TODAY], True)


@pytest.mark.slow
def test_live_is_final_once_its_epochs_are_closed(service: World) -> None:
    collection = filled(service, "live")
    service.running.store.close_epoch(collection.id, TODAY, service.clock(), audit=None)
    assert estimates(service, collection)["provisional"] is False


def test_closed_reads_closed_epochs_only(service: World) -> None:
    document = estimates(service, filled(service, "closed"))
    assert (document["epochs"], document["n"]) == ([TODAY - 1], 10)
    assert document["provisional"] is False


def test_closed_refuses_an_open_epoch_asked_for_by_name(service: World) -> None:
    collection = filled(service, "closed")
    answer = service.get(f"/v1/collections/{collection.id}/estimates?from={TODAY}")
    assert answer.status_code == 409
    assert answer.get_json()["n"] == 0


def test_closed_leaves_out_an_open_epoch_between_closed_ones(service: World) -> None:
    collection = filled(service, "closed")
    service.count(collection, [BITS] * 10, epoch=TODAY - 2)
    service.count(collection, [BITS] * 10, epoch=TODAY + 1)
    for epoch in (TODAY + 1, TODAY - 2):
        service.running.store.close_epoch(collection.id, epoch, service.clock(), audit=None)
    document = estimates(service, collection)
    assert (document["n"], document["epochs"]) == (30, [TODAY - 2, TODAY - 1, TODAY + 1])


def test_closed_gives_one_answer_for_one_set_of_epochs_for_ever(service: World) -> None:
    collection = filled(service, "closed")
    before = estimates(service, collection)
    service.count(collection, [BITS] * 10, epoch=TODAY)
    service.count(collection, [BITS] * 10, epoch=TODAY - 1)
    assert estimates(service, collection) == before


QUERIES = ("", "?group_by=epoch", f"?to={TODAY - 1}", "?projection=clip")
CALLERS = list(product(QUERIES, ("viewer", "analyst", "admin"), ("application/json", "text/csv")))


def test_releases_refuses_estimates_to_everybody(service: World) -> None:
    path = f"/v1/collections/{filled(service, 'releases').id}/estimates"
    answers = {
        caller: service.get(path + caller[0], caller[1], Accept=caller[2]) for caller in CALLERS
    }
    assert {
        caller: (answer.status_code, answer.get_json()["type"])
        for caller, answer in answers.items()
    } == dict.fromkeys(CALLERS, (403, "urn:deniable:problem:read-refused"))


def test_releases_refuses_in_the_same_words_whatever_was_reported(service: World) -> None:
    collection = service.register(authored("releases", read="releases"))
    path = f"/v1/collections/{collection.id}/estimates"
    before = service.get(path).data
    service.count(collection, [BITS] * 10)
    assert service.get(path).data == before


def test_epochs_list_counts_states_times_and_rejections(service: World) -> None:
    collection = filled(service, "live")
    service.running.store.count_rejections(collection.id, {"cannot-open": 2})
    document = epochs(service, collection)
    assert document["epoch_seconds"] == DAY
    assert document["rejections"] == {"cannot-open": 2}
    assert document["epochs"] == [
        {
            "epoch": epoch,
            "start": epoch * DAY,
            "end": (epoch + 1) * DAY,
            "closes": (epoch + 3) * DAY,
            "state": state,
            "expired": False,
            "n": 10,
        }
        for epoch, state in ((TODAY - 1, "closed"), (TODAY, "open"))
    ]


def test_epochs_of_releases_show_nothing_that_depends_on_a_report(service: World) -> None:
    collection = service.register(authored("releases", read="releases"))
    before = epochs(service, collection)
    service.count(collection, [BITS], epoch=TODAY)
    service.count(collection, [BITS], epoch=TODAY - 3)
    service.running.store.count_rejections(collection.id, {"cannot-open": 1})
    assert epochs(service, collection) == before
    assert "rejections" not in before


def test_epochs_of_releases_are_the_calendars_with_n_where_there_is_enough(service: World) -> None:
    collection = service.register(authored("releases", read="releases"))
    for epoch, n in ((TODAY - 5, 3), (TODAY - 4, 2), (TODAY - 2, 9)):
        service.count(collection, [BITS] * n, epoch=epoch)
    listed = epochs(service, collection)["epochs"]
    assert isinstance(listed, list)
    assert [row["epoch"] for row in listed] == list(
        range(collection.manifest.first_epoch, TODAY + 1)
    )
    assert [row["state"] for row in listed[-4:]] == ["closed", "open", "open", "open"]
    reply = {row["epoch"]: (row.get("n"), row.get("fewer_than")) for row in listed}
    assert [reply[TODAY - days] for days in (6, 5, 4, 3)] == [
        *((None, 3), (3, None)),
        *((None, 3), (None, 3)),
    ]
    assert {reply[TODAY - days] for days in (2, 1, 0)} == {(None, None)}


@pytest.mark.slow
def test_lowering_read_by_a_new_version_closes_what_was_open(service: World) -> None:
    live = filled(service, "live")
    service.register(authored("live", read="releases", previous=live.manifest))
    answer = service.get(f"/v1/collections/{live.id}/estimates")
    assert answer.status_code == 403


def test_with_read_closed_only_closed_epochs_have_n(
    service: World,
) -> None:
    listed = epochs(service, filled(service, "closed"))["epochs"]
    assert isinstance(listed, list)
    assert [(row["epoch"], row["state"], row.get("n")) for row in listed] == [
        (TODAY - 2, "open", None),
        (TODAY - 1, "closed", 10),
        (TODAY, "open", None),
    ]
