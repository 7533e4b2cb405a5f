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


@pytest.mark.slow
def test_fewer_than_a_batch_are_never_passed_on(relay: RelayWorld, collection: Collection) -> None:
    sent(relay, collection, BATCH - 1)
    relay.tick()
    relay.restart()
    relay.renew()
    assert relay.wiretap.posts == []
    assert relay.n(collection.id) == 0


def test_a_batch_is_passed_on_in_one_request_and_counted(
    relay: RelayWorld, collection: Collection
) -> None:
    reports = sent(relay, collection, BATCH)
    relay.tick()
    [post] = relay.wiretap.posts
    assert set(post.reports) == set(reports)
    assert relay.n(collection.id) == BATCH
    assert relay.running.queue.counts() == {"accepted": BATCH, "forwarded": BATCH}


@pytest.mark.slow
def test_reports_beyond_a_batch_go_with_it_and_a_rest_waits(
    relay: RelayWorld, collection: Collection
) -> None:
    sent(relay, collection, BATCH + 2)
    relay.tick()
    sent(relay, collection, BATCH - 1)
    relay.tick()
    assert [len(post.reports) for post in relay.wiretap.posts] == [BATCH + 2]


@pytest.mark.slow
def test_batches_do_not_mix_epochs_versions_keys_sizes_or_collections(
    relay: RelayWorld, collection: Collection
) -> None:
    other = relay.aggregator.register(api_world.authored("other"))
    relay.renew()
    less = BATCH - 1
    sent(relay, collection, less)
    sent(relay, collection, less, epoch=TODAY - 1)
    sent(relay, other, less)
    for _ in range(less):
        report = relay.aggregator.report(collection, YES)
        longer = Report(report.header, report.sealed + bytes(1))
        assert relay.upload(collection.id, longer).codes == []
    relay.aggregator.running.keys.rotate(1, at_once=True, audit=None)
    second = relay.aggregator.register(
        api_world.authored(previous=collection.manifest, min_batch=5)
    )
    relay.renew()
    for of_version in (collection, second):
        sent(relay, of_version, less)
    relay.tick()
    assert relay.wiretap.posts == []
    sent(relay, second, 1)
    relay.tick()
    [post] = relay.wiretap.posts
    assert {(r.header.manifest_version, r.header.key_id) for r in post.reports} == {(2, 2)}
    assert relay.running.queue.waiting() == 5 * less


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_large_batch_goes_in_requests_of_at_most_a_thousand_and_256_kib(
    tmp_path: Path,
) -> None:
    with relay_world.opened(tmp_path, batch=1_002) as relay:
        small = relay.aggregator.register(api_world.authored())
        relay.renew()
        sent(relay, small, 1_003)
        relay.tick()
        assert sorted(len(post.reports) for post in relay.wiretap.posts) == [3, 1_000]
        assert all(len(post.body) <= 262_144 for post in relay.wiretap.posts)
        assert relay.n(small.id) == 1_003


@pytest.mark.slow
def test_a_retry_is_no_second_member_of_a_batch_nor_of_a_later_one(
    relay: RelayWorld, collection: Collection
) -> None:
    [first] = sent(relay, collection, 1)
    for _ in range(BATCH):
        assert relay.upload(collection.id, first).codes == []
    relay.tick()
    assert relay.wiretap.posts == []
    sent(relay, collection, BATCH - 1)
    relay.tick()
    assert relay.upload(collection.id, first).codes == []
    sent(relay, collection, BATCH - 1)
    relay.restart()
    relay.renew()
    assert [len(post.reports) for post in relay.wiretap.posts] == [BATCH]


def test_reports_without_a_batch_at_closing_are_deleted_and_counted(
    relay: RelayWorld, collection: Collection
) -> None:
    sent(relay, collection, BATCH - 1)
    grace = collection.manifest.grace_seconds
    relay.clock.now = (TODAY + 1) * DAY + grace
    relay.tick()
    assert relay.running.queue.waiting() == BATCH - 1
    relay.tick(1)
    assert relay.running.queue.waiting() == 0
    assert relay.running.queue.counts() == {"accepted": BATCH - 1, "too-few": BATCH - 1}
    assert relay.running.queue.epochs() == []
    assert relay.wiretap.posts == []


def test_a_batch_that_could_not_be_delivered_in_time_is_counted_apart(
    relay: RelayWorld, collection: Collection
) -> None:
    relay.wiretap.outage = BUSY
    sent(relay, collection, BATCH)
    relay.tick()
    relay.clock.now = (TODAY + 1) * DAY + collection.manifest.grace_seconds + 1
    relay.tick()
    assert relay.running.queue.counts() == {"accepted": BATCH, "too-late": BATCH}


@pytest.mark.slow
def test_nothing_of_a_device_reaches_the_service(relay: RelayWorld, collection: Collection) -> None:
    reports = []
    for _ in range(30):
        relay.clock.now += 7  # each comes at a time of its own
        reports += sent(relay, collection, 1)
    relay.tick()
    [post] = relay.wiretap.posts
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
    assert post.at == relay.clock()


@pytest.mark.slow
def test_orders_of_two_runs_over_the_same_reports_differ(
    relay: RelayWorld, collection: Collection
) -> None:
    relay.wiretap.outage = BUSY
    sent(relay, collection, 30)
    for _ in range(2):
        relay.tick(1_000)
    first, second = relay.wiretap.posts
    assert set(first.reports) == set(second.reports)
    assert first.reports != second.reports


@pytest.mark.slow
def test_the_service_sees_the_same_requests_whether_devices_ask_or_not(
    relay: RelayWorld, collection: Collection
) -> None:
    def seen(asking: bool) -> list[tuple[str, str, str]]:
        before = len(relay.wiretap.requests)
        for _ in range(3):
            if asking:
                for path in ("/v1/keys", "/v1/log", "/v1/collections"):
                    assert relay.get(path).status == 200
                assert relay.get("/v1/collections/settings/manifest").status == 200
                assert relay.get("/v1/collections/unheard-of/manifest").status == 404
                sent(relay, collection, 1)
            relay.renew()
        return [(r.method, r.path, r.query) for r in relay.wiretap.requests[before:]]

    assert seen(asking=False) == seen(asking=True)


@pytest.mark.parametrize("query", ["", "from=1", "from=999"])
def test_devices_get_from_the_relay_what_the_service_publishes(
    relay: RelayWorld, collection: Collection, query: str
) -> None:
    there = relay.aggregator.get(f"/v1/log?{query}", None)
    assert json.loads(relay.get("/v1/log", query).body) == there.json
    paths = ["/v1/keys", "/v1/collections"]
    paths += [f"/v1/collections/{name}/manifest" for name in (collection.id, "settings")]
    for path in paths:
        answer, original = relay.get(path), relay.aggregator.get(path, None)
        assert (answer.body, answer.headers["Content-Type"]) == (
            original.data,
            original.content_type,
        )


@pytest.mark.slow
def test_an_archived_collection_is_not_listed_and_still_relayed(
    relay: RelayWorld, collection: Collection
) -> None:
    relay.aggregator.running.registry.archive(collection.id, archived=True, audit=None)
    relay.renew()
    assert json.loads(relay.get("/v1/collections").body) == {"collections": []}
    sent(relay, collection, 30)
    relay.tick(1_000)
    assert sum(len(post.reports) for post in relay.wiretap.posts) == 30


def test_versions_and_names_that_move_are_followed(
    relay: RelayWorld, collection: Collection
) -> None:
    second = api_world.authored(previous=collection.manifest, min_batch=5)
    relay.aggregator.register(second)
    moved = api_world.authored(labels=("loud", "quiet"), valid_from="2027-01-02")
    relay.aggregator.running.registry.apply(
        relay.aggregator.signed(moved), replace=True, audit=None
    )
    relay.renew()
    for version in (1, 2):
        path = f"/v1/collections/{collection.id}/manifest"
        original = relay.aggregator.get(f"{path}?version={version}", None)
        assert relay.get(path, f"version={version}").body == original.data
    assert relay.get(f"/v1/collections/{collection.id}/manifest", "version=3").status == 404
    named = relay.aggregator.get("/v1/collections/settings/manifest", None).data
    assert relay.get("/v1/collections/settings/manifest").body == named


def test_a_relay_that_has_not_reached_its_service_says_so(tmp_path: Path) -> None:
    with relay_world.opened(tmp_path) as relay:
        answer = relay.get("/v1/keys")
        assert (answer.status, "Retry-After" in answer.headers) == (503, True)
        assert [relay.get(path).status for path in ("/healthz", "/readyz")] == [200, 503]
        relay.tick()
        assert relay.get("/readyz").status == 200


@pytest.mark.parametrize("path", ["/", "/v1/ledger", "/v1/relay", "/metrics", "/v1/collections/"])
def test_a_relay_has_nothing_else(relay: RelayWorld, collection: Collection, path: str) -> None:
    assert relay.get(path).status == 404
