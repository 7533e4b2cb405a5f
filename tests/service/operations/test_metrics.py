"""`/metrics`: numbers of what happened, labels of closed sets, readers who may."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

import site_reference
from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.metrics.gauges import StoreHealth
from deniable_aggregator.store.rows import RollupBacklog
from deniable_gateway.errors import SettingsError
from deniable_shared.wire.report import Extension
from deniable_shared.wire.voucher import decode_voucher, format_key, issue
from support.builders.api_world import DAY, TODAY, Moment, World, authored, opened
from support.builders.databases import AnyStore
from support.builders.store_reports import arrivals, sums
from support.processes.deniable_command import wait_until
from support.processes.installed_programs import program

METRICS = Path(__file__).parents[3] / "docs" / "reference" / "metrics.md"
REFUSED = 'outcome="epoch-closed"'
VALUE = {"dark_mode": True, "beta": False}


def scraped(service: World) -> dict[str, float]:
    """Sample → value, labels spelled as Prometheus spells them."""
    answer = service.get("/metrics", "admin")
    assert answer.status_code == 200
    return samples(answer.text)


def samples(text: str) -> dict[str, float]:
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def test_every_outcome_of_a_report_is_counted_once(service: World) -> None:
    found = service.register(authored())
    reports = [service.report(found, VALUE) for _ in range(3)]
    late = service.report(found, VALUE, epoch=TODAY - 10)
    for report in (*reports, reports[0], late):
        service.upload(found, report)
    numbers = scraped(service)
    for outcome, n in (("counted", 3), ("duplicate", 1)):
        labels = f'collection="{found.id}",outcome="{outcome}"'
        assert numbers[f"deniable_reports_total{{{labels}}}"] == n
    [refused] = [n for n in numbers if n.startswith("deniable_reports_total") and REFUSED in n]
    assert numbers[refused] == 1
    assert numbers['deniable_uploads_total{status="200"}'] == 5
    assert numbers["deniable_commit_reports_sum"] == 4
    assert numbers["deniable_commit_seconds_count"] == 4
    assert numbers["deniable_upload_seconds_count"] == 5


def test_a_spent_voucher_is_counted_once_as_such(service: World) -> None:
    found = service.register(authored(more='requires = ["voucher/1"]\n'))
    key = format_key(service.running.voucher_keys.of(found.id, TODAY))
    voucher = decode_voucher(issue(key, collection=found.id, epoch=TODAY, person="1042"))
    twice = [service.report(found, VALUE, extensions=(Extension(1, voucher),)) for _ in range(2)]
    assert service.upload(found, *twice, role="relay").status_code == 200
    reports = {
        n: of for n, of in scraped(service).items() if n.startswith("deniable_reports_total")
    }
    labels = f'deniable_reports_total{{collection="{found.id}",outcome='
    assert reports == {f'{labels}"counted"}}': 1, f'{labels}"voucher-spent"}}': 1}


def test_a_failed_commit_is_counted_and_none_of_its_reports(
    service: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = service.register(authored())

    def full(*arguments: object) -> None:
        raise StoreError("the database refuses: disk full")

    monkeypatch.setattr(service.running.store, "commit", full)
    assert service.upload(found, service.report(found, VALUE)).status_code == 503
    numbers = scraped(service)
    assert numbers["deniable_commit_failures_total"] == 1
    assert numbers['deniable_uploads_total{status="503"}'] == 1
    assert not [name for name in numbers if name.startswith("deniable_reports_total")]


def test_a_token_for_metrics_reads_them_and_nothing_else(service: World) -> None:
    service.register(authored())
    assert service.get("/metrics", "metrics").status_code == 200
    for path in ("/v1/ledger", "/v1/collections/settings/estimates", "/v1/tokens"):
        assert service.get(path, "metrics").status_code == 403


@pytest.mark.slow
def test_nothing_a_stranger_sends_becomes_a_label(service: World) -> None:
    service.register(authored())
    for number in range(20):
        service.send("POST", f"/v1/collections/made-up-{number}/reports", None, data=b"x")
        service.get(f"/v1/collections/made-up-{number}/manifest", None)
        service.get(f"/made-up-{number}", None)
        service.send(f"MADEUP{number}", "/v1/keys", None)
    numbers = scraped(service)
    assert not re.search(r"made-?up", " ".join(numbers), re.I)
    assert numbers['deniable_uploads_total{status="415"}'] == 20
    assert numbers['deniable_requests_total{operation="none",status="404"}'] == 20


def test_requests_are_counted_by_operation_and_status(service: World) -> None:
    service.get("/v1/tokens", "viewer")
    service.get("/v1/tokens", "admin")
    numbers = scraped(service)
    for status in (403, 200):
        assert (
            numbers[f'deniable_requests_total{{operation="tokens.tokens",status="{status}"}}'] == 1
        )


@pytest.mark.slow
def test_releases_are_counted_by_outcome_and_prices_are_not(service: World) -> None:
    budget = 'central = { per_epoch = "1", per_installation = "1", delta = "0.00001" }\n'
    found = service.register(authored(type="choice", labels=("a", "b"), more=budget))
    service.count(found, ["a"] * 5)
    service.running.store.close_epoch(found.id, TODAY, service.clock(), audit=None)
    wanted = {"mechanism": "histogram", "epsilon": "0.5", "epochs": [TODAY]}
    address = f"/v1/collections/{found.id}/releases"
    for body in ({**wanted, "cost": True}, wanted, wanted, {**wanted, "epsilon": "0.9"}):
        service.send("POST", address, "analyst", json=body)
    numbers = scraped(service)
    for outcome in ("made", "repeated", "budget-exhausted"):
        assert numbers[f'deniable_releases_total{{outcome="{outcome}"}}'] == 1


@pytest.mark.slow
def test_closing_is_counted_and_the_housekeeping_says_when_it_led(service: World) -> None:
    found = service.register(authored())
    service.count(found, [VALUE])
    assert scraped(service)["deniable_housekeeping_led_timestamp_seconds"] == 0
    service.clock.now += 20 * DAY
    service.running.tick()
    numbers = scraped(service)
    assert numbers[f'deniable_epochs_closed_total{{collection="{found.id}"}}'] == 1
    assert numbers["deniable_epoch_close_seconds_count"] == 1
    assert numbers["deniable_housekeeping_led_timestamp_seconds"] == service.clock()


def test_a_failed_run_is_counted_and_the_store_is_down_until_a_good_one(
    service: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone() -> None:
        raise StoreError("the database refuses: gone")

    with monkeypatch.context() as patch:
        patch.setattr(service.running.store, "rollup_backlog", gone)
        with pytest.raises(StoreError):
            service.running.tick()
        numbers = scraped(service)
    assert numbers["deniable_store_up"] == 0
    assert numbers["deniable_housekeeping_failures_total"] == 1
    service.running.tick()
    assert scraped(service)["deniable_store_up"] == 1


@pytest.mark.slow
def test_reports_that_wait_for_the_disk_are_a_gauge(
    service: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = service.register(authored())
    assert scraped(service)["deniable_uploads_waiting"] == 0
    free, begun = threading.Event(), threading.Event()
    commit = service.running.store.commit

    def slow(*arguments: Any) -> Any:
        begun.set()
        assert free.wait(60)
        return commit(*arguments)

    monkeypatch.setattr(service.running.store, "commit", slow)
    uploads = [
        threading.Thread(target=service.upload, args=(found, service.report(found, VALUE)))
        for _ in range(4)
    ]
    uploads[0].start()
    assert begun.wait(60)
    for upload in uploads[1:]:
        upload.start()
    wait_until("three wait", lambda: scraped(service)["deniable_uploads_waiting"] == 3)
    free.set()
    for upload in uploads:
        upload.join()
    assert scraped(service)["deniable_uploads_waiting"] == 0


def test_keys_tell_their_age_and_until_when_they_hold(service: World) -> None:
    service.clock.now += 3 * DAY
    numbers = scraped(service)
    keys = service.running.keys
    assert (
        numbers['deniable_key_age_seconds{suite="1"}']
        == service.clock() - keys.listed_keys[0].since
    )
    assert numbers["deniable_key_list_expires_timestamp_seconds"] == keys.listed_until
    assert numbers["deniable_delegation_expires_timestamp_seconds"] == keys.delegated_until


def test_the_lag_is_the_time_since_the_oldest_waiting_batch_was_seen() -> None:
    class Store:
        waits = RollupBacklog()

        def rollup_backlog(self) -> RollupBacklog:
            return self.waits

    store, clock = Store(), Moment(100.0)
    store_health = StoreHealth(store, clock=clock)  # type: ignore[arg-type]  # a double with what is read
    lags = []
    for store.waits in [
        RollupBacklog(2, 1, 2),
        RollupBacklog(3, 1, 3),
        RollupBacklog(1, 3, 3),  # 1 and 2 are folded; 3 was first seen 5 seconds after 1
        RollupBacklog(2, 4, 5),
        RollupBacklog(),
        RollupBacklog(1, 6, 6),
    ]:
        store_health.check()
        clock.now += 5
        lags.append(store_health.lag_seconds)
    assert lags == [0.0, 5.0, 5.0, 0.0, 0.0, 0.0]


def test_a_store_says_what_waits_for_its_roll_up(store: AnyStore) -> None:
    assert store.rollup_backlog() == RollupBacklog()
    for number in range(3):
        store.commit(arrivals([number]), sums)
    found = store.rollup_backlog()
    assert found.batches in (0, 3)  # SQLite counts in place
    assert found.newest - found.oldest == max(0, found.batches - 1)
    store.roll_up()
    assert store.rollup_backlog() == RollupBacklog()


def test_a_store_that_is_there_answers_a_ping(store: AnyStore) -> None:
    store.ping()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.ping()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "headers", "peer", "status"),
    [
        ("admin", {}, "127.0.0.1", 401),
        ("loopback", {}, "127.0.0.1", 200),
        ("loopback", {}, "::1", 200),
        ("loopback", {}, "192.0.2.7", 401),
        ("loopback", {}, "", 401),
        ("loopback", {"X-Forwarded-For": "192.0.2.7"}, "127.0.0.1", 401),
        ("loopback", {"Via": "1.1 proxy"}, "127.0.0.1", 401),
        ("loopback", {"Host": "telemetry.example.org"}, "127.0.0.1", 401),
        ("off", {}, "127.0.0.1", 401),
    ],
)
def test_without_a_token_only_this_machine_reads_if_the_setting_allows(
    tmp_path: Path, setting: str, headers: dict[str, str], peer: str, status: int
) -> None:
    with opened(tmp_path, metrics=setting) as service:
        environ = {"REMOTE_ADDR": peer}
        answer = service.client.get("/metrics", headers=headers, environ_overrides=environ)
        assert answer.status_code == status


def test_where_they_are_off_not_even_an_admin_reads_them(tmp_path: Path) -> None:
    with opened(tmp_path, metrics="off") as service:
        assert service.get("/metrics", "admin").status_code == 404


def test_the_setting_is_checked_and_a_proxy_is_not_this_machine() -> None:
    with pytest.raises(SettingsError, match="admin, loopback or off, got 'all'"):
        Settings(metrics="all")  # type: ignore[arg-type]  # a wrong type is the point
    with pytest.raises(SettingsError, match="behind a trusted_proxy"):
        Settings(metrics="loopback", trusted_proxy=True)


def documented() -> dict[str, list[str]]:
    """Metric → labels, as the reference lists them."""
    page = site_reference.expanded(METRICS.read_text())
    rows = re.findall(r"^\| `(deniable_\w+)` \| (.*?) ?\|", page, re.M)
    return {name: sorted(re.findall(r"`(\w+)`", labels)) for name, labels in rows}


def test_every_metric_is_in_the_reference_and_no_other(service: World) -> None:
    found = {}
    for collector in (
        *service.running.metrics._registry._collector_to_names,
        service.running.state,
    ):
        for family in collector.collect():
            name = f"{family.name}_total" if family.type == "counter" else family.name
            found[name + "_info" * (family.type == "info")] = sorted(
                getattr(collector, "_labelnames", ()) or labels_of(family)
            )
    assert found == documented()


def labels_of(family: Metric) -> set[str]:
    return {name for sample in family.samples for name in sample.labels if name != "le"}


@pytest.mark.slow
def test_what_is_exposed_is_what_promtool_takes(service: World) -> None:
    promtool = program("promtool", "apt-get install prometheus")
    found = service.register(authored())
    service.upload(found, service.report(found, VALUE))
    text = service.get("/metrics", "admin").data
    said = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True)
    assert (said.returncode, said.stdout, said.stderr) == (0, b"", b"")


@pytest.mark.slow
def test_processes_of_one_server_add_up(tmp_path: Path) -> None:
    code = (
        "from deniable_aggregator.operations.metrics import Metrics\n"
        "from prometheus_client import CollectorRegistry\n"
        "made = Metrics()\n"
        "made.reports.labels('a-1', 'counted').inc(3)\n"
        "made.commit_seconds.observe(0.2)\n"
        "made.led_at.set({led})\n"
        "print(made.exposition(CollectorRegistry()).decode())"
    )
    environ = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    for led in (5, 9, 7):
        run = [sys.executable, "-c", code.format(led=led)]
        said = subprocess.run(run, env=environ, capture_output=True, text=True, check=True).stdout
    numbers = samples(said)
    assert numbers['deniable_reports_total{collection="a-1",outcome="counted"}'] == 9
    assert numbers["deniable_commit_seconds_count"] == 3
    assert numbers["deniable_housekeeping_led_timestamp_seconds"] == 9
