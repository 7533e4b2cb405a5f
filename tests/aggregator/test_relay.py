"""A relay before a real service: what it takes, keeps, passes on, and what it gives away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deniable_aggregator.dashboard.guarantees import hidden
from deniable_aggregator.registry import Collection
from deniable_aggregator.relay.queue import NAME
from deniable_aggregator.relay.wsgi import NOTICES_SECONDS
from deniable_shared.problems import ReportError
from deniable_shared.report import Extension, Report, decode_errors
from support import api_world, relay_world
from support.data_directory import DAY, TODAY
from support.relay_world import BATCH, RelayWorld

RELAYED: dict[str, Any] = {"relay_batch": 1_000}
BUSY = ("503 Service Unavailable", [("Retry-After", "120")])
YES = {"dark_mode": True, "beta": False}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[RelayWorld]:
    with relay_world.opened(tmp_path) as opened:
        yield opened


@pytest.fixture
def settings(world: RelayWorld) -> Collection:
    found = world.aggregator.register(api_world.authored())
    world.renew()
    return found


def sent(world: RelayWorld, collection: Collection, count: int, **how: int) -> list[Report]:
    """So many devices upload, and are told that all is well."""
    reports = [world.aggregator.report(collection, YES, **how) for _ in range(count)]
    for report in reports:
        assert world.upload(collection.id, report).codes == []
    return reports


def with_header(report: Report, **changed: object) -> Report:
    return Report(replace(report.header, **changed), report.sealed)  # type: ignore[arg-type]


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
    world.aggregator.service.keys.rotate(1, at_once=True)
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


def test_versions_and_names_that_move_are_followed(world: RelayWorld, settings: Collection) -> None:
    second = api_world.authored(previous=settings.manifest, min_batch=5)
    world.aggregator.register(second)
    moved = api_world.authored(labels=("loud", "quiet"))
    world.aggregator.service.registry.apply(world.aggregator.signed(moved), replace=True)
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


@pytest.mark.parametrize("query", ["from=-1", "from=x", "from=%31%30x", "from=9999999999"])
def test_a_place_in_the_log_that_is_none_is_refused(
    world: RelayWorld, settings: Collection, query: str
) -> None:
    assert world.get("/v1/log", query).status == 400


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"epoch": TODAY + 2}, ReportError.TOO_EARLY),
        ({"epoch": 1}, ReportError.NOT_STARTED),
        ({"epoch": TODAY - 4}, ReportError.EPOCH_CLOSED),
        ({"manifest_version": 2}, ReportError.MANIFEST_UNKNOWN),
        ({"key_id": 9}, ReportError.OUTDATED_KEY),
        ({"extensions": (Extension(1, b"voucher"),)}, ReportError.UNKNOWN_EXTENSION),
    ],
)
def test_what_the_service_would_refuse_in_the_open_is_refused_and_not_kept(
    world: RelayWorld, settings: Collection, changed: dict[str, object], code: ReportError
) -> None:
    report = with_header(world.aggregator.report(settings, YES), **changed)
    assert world.upload(settings.id, report).codes == [code]
    assert world.aggregator.upload(settings, report).status_code == 200
    assert world.relay.queue.waiting() == 0


def test_an_epoch_after_the_last_is_refused_as_the_service_does(
    world: RelayWorld, settings: Collection
) -> None:
    last = settings.manifest.last_epoch
    world.clock.now = (last + 1) * DAY + 3_600.0
    world.aggregator.service.tick()
    world.renew()
    report = world.aggregator.report(settings, YES, epoch=last + 1)
    assert world.upload(settings.id, report).codes == [ReportError.COLLECTION_EXPIRED]


def test_a_report_to_a_replaced_key_is_sent_back_to_be_sealed_anew(
    world: RelayWorld, settings: Collection
) -> None:
    old = world.aggregator.report(settings, YES)
    world.aggregator.service.keys.rotate(1, at_once=True)
    world.renew()
    assert world.upload(settings.id, old).codes == [ReportError.OUTDATED_KEY]
    assert world.upload(settings.id, world.aggregator.report(settings, YES)).codes == []


def test_several_reports_in_a_request_are_refused(world: RelayWorld, settings: Collection) -> None:
    two = [world.aggregator.report(settings, YES) for _ in range(2)]
    assert world.upload(settings.id, *two).codes == [ReportError.TOKEN_REQUIRED] * 2


def test_whole_requests_are_refused_as_the_service_does(
    world: RelayWorld, settings: Collection
) -> None:
    report = world.aggregator.report(settings, YES)
    assert world.upload("unheard-of", report).status == 404
    world.aggregator.service.registry.close(settings.id)
    world.renew()
    assert world.upload(settings.id, report).status == 410
    path = f"/v1/collections/{settings.id}/reports"
    assert relay_world.tell(world.relay.app, "POST", path, body=b"x").status == 400
    assert relay_world.tell(world.relay.app, "POST", path).status == 415
    assert relay_world.tell(world.relay.app, "PUT", "/v1/keys").status == 405


def test_one_network_is_limited_and_a_trusted_proxy_is_not(tmp_path: Path) -> None:
    for trusted, expected in ((False, 429), (True, 200)):
        folder = tmp_path / str(trusted)
        with relay_world.opened(folder, reports_per_minute=6, trusted_proxy=trusted) as world:
            found = world.aggregator.register(api_world.authored())
            world.renew()
            reports = [world.aggregator.report(found, YES) for _ in range(2)]
            assert [world.upload(found.id, each).status for each in reports] == [200, expected]


def test_a_full_relay_asks_devices_to_come_later(world: RelayWorld, settings: Collection) -> None:
    world.relay.intake.waiting = 5_000_000
    answer = world.upload(settings.id, world.aggregator.report(settings, YES))
    assert answer.status == 503
    world.tick()
    assert world.upload(settings.id, world.aggregator.report(settings, YES)).codes == []


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
def test_a_busy_service_is_left_alone_for_as_long_as_it_asks(
    world: RelayWorld, settings: Collection, status: str
) -> None:
    world.wiretap.outage = (status, [("Retry-After", "120")])
    sent(world, settings, BATCH)
    world.tick()
    world.tick(119)
    assert len(world.wiretap.posts) == 1
    world.wiretap.outage = None
    world.tick(121)
    assert world.n(settings.id) == BATCH
    assert world.relay.queue.counts()["forwarded"] == BATCH


def test_waits_grow_while_nothing_answers(world: RelayWorld, settings: Collection) -> None:
    world.wiretap.outage = ("500 Internal Server Error", [])
    sent(world, settings, BATCH)
    for _ in range(600):
        world.tick(1)
    assert 5 <= len(world.wiretap.posts) <= 8  # waits of 5…10 s, then 10…20, 20…40 and so on


def test_a_batch_that_is_sent_in_part_is_finished_without_newcomers(tmp_path: Path) -> None:
    with relay_world.opened(tmp_path, batch=1_001) as world:
        found = world.aggregator.register(api_world.authored())
        world.renew()
        sent(world, found, 1_003)
        world.wiretap.outage, world.wiretap.let_through = BUSY, 1
        world.tick()
        sent(world, found, 2)
        world.wiretap.outage = None
        world.restart()
        world.renew()
        assert [len(post.reports) for post in world.wiretap.posts] == [1_000, 3, 3]
        assert (world.n(found.id), world.relay.queue.waiting()) == (1_003, 2)


def test_a_token_that_is_refused_loses_nothing(world: RelayWorld, settings: Collection) -> None:
    token = Path(world.options.token_file)
    valid = token.read_text()
    token.write_text(world.aggregator.tokens["viewer"])
    sent(world, settings, BATCH)
    world.tick()
    assert (world.relay.queue.waiting(), world.n(settings.id)) == (BATCH, 0)
    token.write_text(valid)
    world.tick(1_000)
    assert (world.relay.queue.waiting(), world.n(settings.id)) == (0, BATCH)


def test_what_does_not_open_is_counted_with_the_services_reason(
    world: RelayWorld, settings: Collection
) -> None:
    sent(world, settings, BATCH - 1)
    forged = world.aggregator.report(settings, YES)
    forged = Report(forged.header, bytes(len(forged.sealed)))
    assert world.upload(settings.id, forged).codes == []
    world.tick()
    assert world.relay.queue.counts() == {
        "accepted": BATCH,
        "forwarded": BATCH - 1,
        "refused: cannot-open": 1,
    }


def test_reports_of_a_collection_that_was_closed_meanwhile_are_let_go(
    world: RelayWorld, settings: Collection
) -> None:
    sent(world, settings, BATCH)
    world.aggregator.service.registry.close(settings.id)
    world.tick()
    assert world.relay.queue.counts()["refused: collection-closed"] == BATCH
    assert world.relay.queue.waiting() == 0


def test_nobody_else_may_read_the_file_and_a_report_that_went_is_gone_from_it(
    world: RelayWorld, settings: Collection
) -> None:
    path = world.options.directory / NAME
    reports = sent(world, settings, BATCH)
    assert path.stat().st_mode & 0o777 == 0o600
    wal = Path(f"{path}-wal")
    assert all(each.sealed in path.read_bytes() + wal.read_bytes() for each in reports)
    world.tick()
    world.restart()
    assert not any(each.sealed in path.read_bytes() for each in reports)
    assert not wal.exists() or not any(each.sealed in wal.read_bytes() for each in reports)


def test_a_second_relay_on_the_directory_is_refused(world: RelayWorld) -> None:
    from deniable_aggregator.errors import LockedError
    from deniable_aggregator.relay.wsgi import Relay

    with pytest.raises(LockedError):
        Relay(world.options, clock=world.clock)


def test_an_aggregator_that_cannot_be_read_leaves_the_copy_as_it_was(
    world: RelayWorld, settings: Collection
) -> None:
    before = world.get("/v1/keys").body
    world.relay._upstream.get = lambda path: b"no JSON"  # type: ignore[method-assign]
    world.tick(NOTICES_SECONDS)
    assert world.get("/v1/keys").body == before


@pytest.mark.parametrize(("role", "code"), [(None, 0x81), ("viewer", 0x82), ("relay", None)])
def test_where_relays_pass_on_batches_only_they_may_send(
    tmp_path: Path, role: str | None, code: int | None
) -> None:
    with api_world.opened(tmp_path, **RELAYED) as world:
        found = world.register(api_world.authored())
        answer = world.upload(found, world.report(found, YES), role=role)
        codes = [status.error for status in decode_errors(answer.data)]
        assert codes == ([] if code is None else [code])


@pytest.mark.parametrize(("query", "honest"), [("", 500), ("&liars=0.1", 900)])
def test_estimates_say_what_the_relay_adds_and_on_which_conditions(
    tmp_path: Path, query: str, honest: int
) -> None:
    with api_world.opened(tmp_path, **RELAYED) as world:
        found = world.register(api_world.authored())
        world.count(found, [YES] * 10)
        document = world.get(f"/v1/collections/settings/estimates?confidence=0.9{query}").json
        assert document is not None
        shuffled = document["shuffled"]
        assert (shuffled["batch"], shuffled["reports"]) == (1_000, honest)
        assert 0 < shuffled["epsilon"] == shuffled["epsilon_all"] < 0.6
        assert len(shuffled["conditions"]) == 4


def test_without_relays_estimates_claim_nothing_of_the_kind(tmp_path: Path) -> None:
    with api_world.opened(tmp_path) as world:
        found = world.register(api_world.authored())
        world.count(found, [YES] * 10)
        assert "shuffled" not in (world.get("/v1/collections/settings/estimates").json or {})


def test_with_vouchers_a_relay_adds_nothing_for_they_say_whose_a_report_is(tmp_path: Path) -> None:
    with api_world.opened(tmp_path, **RELAYED) as world:
        found = world.register(api_world.authored(more='requires = ["voucher/1"]\n'))
        world.count(found, [YES] * 10)
        assert "shuffled" not in (world.get("/v1/collections/settings/estimates").json or {})
        assert list(hidden(found, 1_000)) == []


def test_the_page_of_a_collection_says_what_the_relay_adds(tmp_path: Path) -> None:
    with api_world.opened(tmp_path, **RELAYED) as world:
        found = world.register(api_world.authored())
        [sentence] = hidden(found, 1_000)
        assert "at least 1\u202f000 together" in sentence
        assert "ε = 0.585 at δ = 1e-06 of one report, if at most 50" in sentence
        assert list(hidden(found, 0)) == []
