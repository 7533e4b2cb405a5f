"""The load generator: bounded, honest about what came back, and never sent elsewhere by mistake."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import cast

import pytest

from deniable_aggregator.client.service_client import ServiceClient
from deniable_aggregator.operations.loadgen.__main__ import loadgen
from deniable_aggregator.operations.loadgen.plan import LoadError, LoadPlan, require_this_machine
from deniable_aggregator.operations.loadgen.sealing import fetch_target
from deniable_aggregator.operations.loadgen.sending import (
    LoadResult,
    UploadTarget,
    percentile,
    send,
)
from deniable_shared.manifest.model import MANIFEST_TYPE
from deniable_shared.wire import dsse
from support.builders.api_world import authored
from support.processes.deniable_command import Deniable
from support.processes.live_service import Live, live
from support.tiers import rows


@pytest.fixture(scope="module")
def live_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(tmp_path_factory.mktemp("load")) as started:
        yield started


@pytest.fixture
def generator(live_service: Live) -> Deniable:
    return Deniable(live_service.settings.data.parent, loadgen)


@pytest.mark.processes
@pytest.mark.parametrize(("rate", "reports"), rows([(40, 1), (3, 50)], by_default=[(3, 50)]))
def test_what_is_said_to_be_kept_is_counted(
    live_service: Live, generator: Deniable, rate: int, reports: int
) -> None:
    before = live_service.counted()
    size = ("--rate", str(rate), "--reports-per-request", str(reports), "--duration", "1")
    found = generator.json("settings", *size)
    assert (found["requests"], found["failed"], found["refused"]) == (rate, 0, 0)
    assert found["statuses"] == {"200": rate}
    assert found["accepted"] == rate * reports == live_service.counted() - before
    assert 0 < found["p50_ms"] <= found["p99_ms"]


@pytest.mark.processes
def test_the_relay_token_of_a_load_does_not_outlive_it(
    live_service: Live, generator: Deniable
) -> None:
    generator.json("settings", "--rate", "1", "--duration", "1", *BATCH)
    here = Deniable(live_service.settings.data.parent)
    tokens = here.json("access", "tokens", "list", "--all")["tokens"]
    made = [token for token in tokens if token["label"] == "loadgen"]
    assert made
    assert all(token["revoked"] for token in made)


@pytest.mark.processes
def test_a_person_reads_throughput_and_latency(generator: Deniable) -> None:
    said = generator.done("settings", "--rate", "5", "--duration", "1")
    assert said.startswith("5 of 5 requests answered in ")
    assert "p50 " in said
    assert "HTTP 200: 5" in said


@pytest.mark.processes
def test_an_unknown_collection_is_refused(generator: Deniable) -> None:
    assert "other" in generator.refused("other", "--rate", "1", "--duration", "1")


class Offering:
    """A service that offers one manifest."""

    def manifest(self, collection: str) -> bytes:
        manifest = authored("survey", more='requires = ["voucher/1"]\n')
        return dsse.sign(manifest.body, payload_type=MANIFEST_TYPE, seed=bytes(32))


def test_reports_that_need_a_voucher_are_not_made_up() -> None:
    with pytest.raises(LoadError, match="requires voucher/1, which test reports do not have"):
        fetch_target(cast(ServiceClient, Offering()), "survey")


@pytest.mark.processes
def test_it_is_a_program_of_its_own() -> None:
    program = [sys.executable, "-m", "deniable_aggregator.operations.loadgen", "--help"]
    said = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    assert "Send simulated reports" in said
    options = ("--rate", "--connections", "--reports-per-request", "--duration", "--other-host")
    assert all(option in said for option in (*options, "--url", "--data", "--json"))


BATCH = ("--reports-per-request", "2")


def test_no_load_without_a_running_service(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("stopped")
    Deniable(folder).prepare()
    assert "start `deniable serve`" in Deniable(folder, loadgen).refused("settings")


def test_another_host_is_refused_unless_told(tmp_path_factory: pytest.TempPathFactory) -> None:
    generator = Deniable(tmp_path_factory.mktemp("elsewhere"), loadgen)
    said = generator.refused("settings", "--url", "https://telemetry.example.org")
    assert "--other-host" in said


@pytest.mark.parametrize(
    ("url", "fine"),
    [
        ("http://127.0.0.1:8000", True),
        ("http://[::1]:8000", True),
        ("http://localhost", True),
        ("http://localhost.example.org", False),
        ("http://127.0.0.1.example.org", False),
        ("http://10.0.0.1", False),
        ("", False),
    ],
)
def test_only_the_loopback_is_this_machine(url: str, fine: bool) -> None:
    if fine:
        require_this_machine(url)
    else:
        with pytest.raises(LoadError, match="is not this machine"):
            require_this_machine(url)


@pytest.mark.parametrize(
    ("numbers", "named"),
    [
        ((0, 1, 1, 1), "rate"),
        ((20_001, 1, 1, 1), "rate"),
        ((1, 513, 1, 1), "connections"),
        ((1, 1, 1_001, 1), "reports-per-request"),
        ((1, 1, 1, 3_601), "duration"),
        ((20_000, 1, 1_000, 3_600), "1,000,000"),
    ],
)
def test_every_dimension_of_a_load_is_bounded(
    numbers: tuple[int, int, int, int], named: str
) -> None:
    with pytest.raises(LoadError, match=named):
        LoadPlan(*numbers)


def answering(*answers: bytes) -> tuple[str, threading.Thread]:
    """A server that answers the n-th request with the n-th of these, then hangs up."""
    listening = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        with listening:
            for each in answers:
                connection, _ = listening.accept()
                with connection:
                    connection.recv(65_536)
                    connection.sendall(each)

    thread = threading.Thread(target=answer)
    thread.start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}", thread


def test_refusals_and_lost_answers_are_told_apart() -> None:
    ok = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 17\r\n\r\n" + bytes(17)
    full = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    url, thread = answering(ok, full, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab")
    done: list[int] = []
    outcome = send(UploadTarget(url, "/x"), [b"b"] * 3, LoadPlan(1_000, 1, 1, 1), done.append)
    thread.join()
    assert dict(outcome.statuses) == {200: 1, 503: 1}
    assert (outcome.refused, outcome.accepted, outcome.failed) == (1, 0, 1)
    assert done == [1, 2, 3]


@pytest.mark.slow
def test_percentiles_are_samples() -> None:
    assert [percentile([3.0, 1.0, 2.0], share) for share in (0.01, 0.5, 0.99)] == [1.0, 2.0, 3.0]
    assert json.loads(json.dumps(LoadResult(1).document()))["p50_ms"] is None
