"""What a relay takes, keeps and passes on together, and what it gives away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deniable_aggregator.collections.registry import Collection
from deniable_shared.wire.report import Report
from support.builders import api_world, relay_world
from support.builders.data_directory import DAY, TODAY
from support.builders.relay_reports import YES, sent
from support.builders.relay_world import BATCH, RelayWorld

RELAYED: dict[str, Any] = {"relay_batch": 1_000}
BUSY = ("503 Service Unavailable", [("Retry-After", "120")])


def test_fewer_than_a_batch_are_never_passed_on(world: RelayWorld, settings: Collection) -> None:
    sent(world, settings, BATCH - 1)
    world.tick()
    world.restart()
    world.renew()
    assert world.wiretap.posts == []
    assert world.n(settings.id) == 0


def test_a_batch_is_passed_on_in_one_request_and_counted(
    world: RelayWorld, settings: Collection
) -> None:
    reports = sent(world, settings, BATCH)
    world.tick()
    [post] = world.wiretap.posts
    assert set(post.reports) == set(reports)
    assert world.n(settings.id) == BATCH
    assert world.relay.queue.counts() == {"accepted": BATCH, "forwarded": BATCH}


def test_what_waits_beyond_a_batch_goes_with_it_and_a_rest_waits_for_its_own(
    world: RelayWorld, settings: Collection
) -> None:
    sent(world, settings, BATCH + 2)
    world.tick()
    sent(world, settings, BATCH - 1)
    world.tick()
    assert [len(post.reports) for post in world.wiretap.posts] == [BATCH + 2]


def test_batches_do_not_mix_epochs_versions_keys_sizes_or_collections(
    world: RelayWorld, settings: Collection
) -> None:
    other = world.aggregator.register(api_world.authored("other"))
    world.renew()
    less = BATCH - 1
    sent(world, settings, less)
    sent(world, settings, less, epoch=TODAY - 1)
    sent(world, other, less)
    for _ in range(less):
        report = world.aggregator.report(settings, YES)
        longer = Report(report.header, report.sealed + bytes(1))
        assert world.upload(settings.id, longer).codes == []
    world.aggregator.service.keys.rotate(1, at_once=True, audit=None)
    second = world.aggregator.register(api_world.authored(previous=settings.manifest, min_batch=5))
    world.renew()
    for of_version in (settings, second):
        sent(world, of_version, less)
    world.tick()
    assert world.wiretap.posts == []
    sent(world, second, 1)
    world.tick()
    [post] = world.wiretap.posts
    assert {(r.header.manifest_version, r.header.key_id) for r in post.reports} == {(2, 2)}
    assert world.relay.queue.waiting() == 5 * less


def test_a_large_batch_goes_in_requests_of_at_most_a_thousand_and_256_kib(
    tmp_path: Path,
) -> None:
    with relay_world.opened(tmp_path, batch=1_002) as world:
        small = world.aggregator.register(api_world.authored())
        world.renew()
        sent(world, small, 1_003)
        world.tick()
        assert sorted(len(post.reports) for post in world.wiretap.posts) == [3, 1_000]
        assert all(len(post.body) <= 262_144 for post in world.wiretap.posts)
        assert world.n(small.id) == 1_003


def test_a_retry_is_no_second_member_of_a_batch_nor_of_a_later_one(
    world: RelayWorld, settings: Collection
) -> None:
    [first] = sent(world, settings, 1)
    for _ in range(BATCH):
        assert world.upload(settings.id, first).codes == []
    world.tick()
    assert world.wiretap.posts == []
    sent(world, settings, BATCH - 1)
    world.tick()
    assert world.upload(settings.id, first).codes == []
    sent(world, settings, BATCH - 1)
    world.restart()
    world.renew()
    assert [len(post.reports) for post in world.wiretap.posts] == [BATCH]


def test_what_has_not_come_to_a_batch_when_the_epoch_closes_is_deleted_and_counted(
    world: RelayWorld, settings: Collection
) -> None:
    sent(world, settings, BATCH - 1)
    grace = settings.manifest.grace_seconds
    world.clock.now = (TODAY + 1) * DAY + grace
    world.tick()
    assert world.relay.queue.waiting() == BATCH - 1
    world.tick(1)
    assert world.relay.queue.waiting() == 0
    assert world.relay.queue.counts() == {"accepted": BATCH - 1, "too-few": BATCH - 1}
    assert world.relay.queue.epochs() == []
    assert world.wiretap.posts == []


def test_a_batch_that_could_not_be_delivered_in_time_is_counted_apart(
    world: RelayWorld, settings: Collection
) -> None:
    world.wiretap.outage = BUSY
    sent(world, settings, BATCH)
    world.tick()
    world.clock.now = (TODAY + 1) * DAY + settings.manifest.grace_seconds + 1
    world.tick()
    assert world.relay.queue.counts() == {"accepted": BATCH, "too-late": BATCH}


def test_nothing_of_a_device_reaches_the_service(world: RelayWorld, settings: Collection) -> None:
    reports = []
    for _ in range(30):
        world.clock.now += 7  # each comes at a time of its own
        reports += sent(world, settings, 1)
    world.tick()
    [post] = world.wiretap.posts
    everything = f"{post.headers} {post.path} {post.query} {post.address}"
    assert relay_world.DEVICE not in everything
    assert set(post.headers) <= {
        *("HOST", "ACCEPT", "ACCEPT_ENCODING", "CONNECTION", "USER_AGENT"),
        *("CONTENT_TYPE", "CONTENT_LENGTH", "AUTHORIZATION"),
    }
    assert post.headers["USER_AGENT"] == "deniable-relay/1"
    assert set(post.reports) == set(reports)
    assert post.reports != reports  # the same order once in 30! runs
    assert post.reports != sorted(reports, key=lambda each: each.header.report_id)
    assert post.at == world.clock()


def test_orders_of_two_runs_over_the_same_reports_differ(
    world: RelayWorld, settings: Collection
) -> None:
    world.wiretap.outage = BUSY
    sent(world, settings, 30)
    for _ in range(2):
        world.tick(1_000)
    first, second = world.wiretap.posts
    assert set(first.reports) == set(second.reports)
    assert first.reports != second.reports


def test_the_service_sees_the_same_requests_whether_devices_ask_or_not(
    world: RelayWorld, settings: Collection
) -> None:
    def seen(asking: bool) -> list[tuple[str, str, str]]:
        before = len(world.wiretap.requests)
        for _ in range(3):
            if asking:
                for path in ("/v1/keys", "/v1/log", "/v1/collections"):
                    assert world.get(path).status == 200
                assert world.get("/v1/collections/settings/manifest").status == 200
                assert world.get("/v1/collections/unheard-of/manifest").status == 404
                sent(world, settings, 1)
            world.renew()
        return [(r.method, r.path, r.query) for r in world.wiretap.requests[before:]]

    assert seen(asking=False) == seen(asking=True)


@pytest.mark.parametrize("query", ["", "from=1", "from=999"])
def test_devices_get_from_the_relay_what_the_service_publishes(
    world: RelayWorld, settings: Collection, query: str
) -> None:
    there = world.aggregator.get(f"/v1/log?{query}", None)
    assert json.loads(world.get("/v1/log", query).body) == there.json
    paths = ["/v1/keys", "/v1/collections"]
    paths += [f"/v1/collections/{name}/manifest" for name in (settings.id, "settings")]
    for path in paths:
        answer, original = world.get(path), world.aggregator.get(path, None)
        assert (answer.body, answer.headers["Content-Type"]) == (
            original.data,
            original.content_type,
        )


def test_an_archived_collection_is_not_listed_and_still_relayed(
    world: RelayWorld, settings: Collection
) -> None:
    world.aggregator.service.registry.archive(settings.id, archived=True, audit=None)
    world.renew()
    assert json.loads(world.get("/v1/collections").body) == {"collections": []}
    sent(world, settings, 30)
    world.tick(1_000)
    assert sum(len(post.reports) for post in world.wiretap.posts) == 30


def test_versions_and_names_that_move_are_followed(world: RelayWorld, settings: Collection) -> None:
    second = api_world.authored(previous=settings.manifest, min_batch=5)
    world.aggregator.register(second)
    moved = api_world.authored(labels=("loud", "quiet"))
    world.aggregator.service.registry.apply(
        world.aggregator.signed(moved), replace=True, audit=None
    )
    world.renew()
    for version in (1, 2):
        path = f"/v1/collections/{settings.id}/manifest"
        original = world.aggregator.get(f"{path}?version={version}", None)
        assert world.get(path, f"version={version}").body == original.data
    assert world.get(f"/v1/collections/{settings.id}/manifest", "version=3").status == 404
    named = world.aggregator.get("/v1/collections/settings/manifest", None).data
    assert world.get("/v1/collections/settings/manifest").body == named


def test_a_relay_that_has_not_reached_its_service_says_so(tmp_path: Path) -> None:
    with relay_world.opened(tmp_path) as world:
        answer = world.get("/v1/keys")
        assert (answer.status, "Retry-After" in answer.headers) == (503, True)
        assert [world.get(path).status for path in ("/healthz", "/readyz")] == [200, 503]
        world.tick()
        assert world.get("/readyz").status == 200


@pytest.mark.parametrize("path", ["/", "/v1/ledger", "/v1/relay", "/metrics", "/v1/collections/"])
def test_a_relay_has_nothing_else(world: RelayWorld, settings: Collection, path: str) -> None:
    assert world.get(path).status == 404
