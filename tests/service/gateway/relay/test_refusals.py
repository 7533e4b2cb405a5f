"""What a relay refuses, and in whose words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deniable_aggregator.collections.registry import Collection
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import Extension
from support.builders import api_world, relay_world
from support.builders.data_directory import DAY, TODAY
from support.builders.relay_reports import YES, with_header
from support.builders.relay_world import RelayWorld

RELAYED: dict[str, Any] = {"relay_batch": 1_000}
BUSY = ("503 Service Unavailable", [("Retry-After", "120")])


def test_a_place_in_the_log_that_is_none_is_refused(
    relay: RelayWorld, collection: Collection
) -> None:
    queries = ("from=-1", "from=x", "from=%31%30x", "from=9999999999")
    statuses = {query: relay.get("/v1/log", query).status for query in queries}
    assert statuses == dict.fromkeys(queries, 400)


REFUSED: dict[ReportError, dict[str, object]] = {
    ReportError.TOO_EARLY: {"epoch": TODAY + 2},
    ReportError.NOT_STARTED: {"epoch": 1},
    ReportError.EPOCH_CLOSED: {"epoch": TODAY - 4},
    ReportError.MANIFEST_UNKNOWN: {"manifest_version": 2},
    ReportError.OUTDATED_KEY: {"key_id": 9},
    ReportError.UNKNOWN_EXTENSION: {"extensions": (Extension(1, b"voucher"),)},
}


def test_what_the_service_would_refuse_in_the_open_is_refused_and_not_kept(
    relay: RelayWorld, collection: Collection
) -> None:
    answers, statuses = {}, {}
    for code, changed in REFUSED.items():
        report = with_header(relay.aggregator.report(collection, YES), **changed)
        answers[code] = relay.upload(collection.id, report).codes
        statuses[code] = relay.aggregator.upload(collection, report).status_code
    assert answers == {code: [code] for code in REFUSED}
    assert statuses == dict.fromkeys(REFUSED, 200)
    assert relay.running.queue.waiting() == 0


def test_an_epoch_after_the_last_is_refused_as_the_service_does(
    relay: RelayWorld, collection: Collection
) -> None:
    last = collection.manifest.last_epoch
    relay.clock.now = (last + 1) * DAY + 3_600.0
    relay.aggregator.running.tick()
    relay.renew()
    report = relay.aggregator.report(collection, YES, epoch=last + 1)
    assert relay.upload(collection.id, report).codes == [ReportError.COLLECTION_EXPIRED]


def test_a_report_to_a_replaced_key_is_sent_back_to_be_sealed_anew(
    relay: RelayWorld, collection: Collection
) -> None:
    old = relay.aggregator.report(collection, YES)
    relay.aggregator.running.keys.rotate(1, at_once=True, audit=None)
    relay.renew()
    assert relay.upload(collection.id, old).codes == [ReportError.OUTDATED_KEY]
    assert relay.upload(collection.id, relay.aggregator.report(collection, YES)).codes == []


def test_several_reports_in_a_request_are_refused(
    relay: RelayWorld, collection: Collection
) -> None:
    two = [relay.aggregator.report(collection, YES) for _ in range(2)]
    assert relay.upload(collection.id, *two).codes == [ReportError.TOKEN_REQUIRED] * 2


def test_whole_requests_are_refused_as_the_service_does(
    relay: RelayWorld, collection: Collection
) -> None:
    report = relay.aggregator.report(collection, YES)
    assert relay.upload("unheard-of", report).status == 404
    relay.aggregator.running.registry.close(collection.id, audit=None)
    relay.renew()
    assert relay.upload(collection.id, report).status == 410
    path = f"/v1/collections/{collection.id}/reports"
    assert relay_world.tell(relay.running.app, "POST", path, body=b"x").status == 400
    assert relay_world.tell(relay.running.app, "POST", path).status == 415
    assert relay_world.tell(relay.running.app, "PUT", "/v1/keys").status == 405


def test_one_network_is_limited_and_a_trusted_proxy_is_not(tmp_path: Path) -> None:
    for trusted, expected in ((False, 429), (True, 200)):
        folder = tmp_path / str(trusted)
        with relay_world.opened(folder, reports_per_minute=6, trusted_proxy=trusted) as relay:
            found = relay.aggregator.register(api_world.authored())
            relay.renew()
            reports = [relay.aggregator.report(found, YES) for _ in range(2)]
            assert [relay.upload(found.id, each).status for each in reports] == [200, expected]


def test_a_full_relay_asks_devices_to_come_later(relay: RelayWorld, collection: Collection) -> None:
    relay.running.uploads.waiting = 5_000_000
    answer = relay.upload(collection.id, relay.aggregator.report(collection, YES))
    assert answer.status == 503
    relay.tick()
    assert relay.upload(collection.id, relay.aggregator.report(collection, YES)).codes == []
