"""Simulated clients: real ones, one each, and sums that add up."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from deniable_client import ConfigurationError, simulate_clients
from deniable_client.simulate_clients import CachingTransport, ClientSimulation, Totals
from deniable_client.testing import FakeClock, RecordingTransport
from deniable_shared.wire.problems import ReportError
from support.builders.client_world import (
    OTHER,
    SETTINGS,
    START,
    URL,
    Aggregator,
    Operator,
    manifest,
    nothing,
)
from support.tiers import by_tier


@pytest.fixture
def aggregator(operator: Operator) -> Aggregator:
    """An aggregator that takes settings."""
    side = Aggregator(operator, FakeClock(START))
    side.add(manifest())
    return side


def build(aggregator: Aggregator, **changes: object) -> ClientSimulation:
    pauses: list[float] = []
    arguments: dict[str, object] = {
        "url": URL,
        "trust": aggregator.operator.trust,
        "manifests": (aggregator.operator.sign(manifest()),),
        "workers": 3,
        "transport": RecordingTransport(aggregator),
        "pause": pauses.append,
        "clock": aggregator.clock,
    }
    return ClientSimulation(**(arguments | changes))  # type: ignore[arg-type]  # one dict has values of many types


def run(aggregator: Aggregator, users: int, **changes: object) -> Totals:
    answers = [{"settings": SETTINGS if user % 2 else OTHER} for user in range(users)]
    return simulate_clients.run(build(aggregator, **changes), answers, lambda totals: None)


@pytest.mark.slow
def test_every_user_is_a_device_of_its_own(aggregator: Aggregator) -> None:
    totals = run(aggregator, 12)
    assert totals.to_json() == {
        "done": 12,
        "sent": 12,
        "accepted": 12,
        "duplicates": 0,
        "rejected": 0,
        "waiting": 0,
        "outcomes": {"queued": 12},
    }
    assert len({each.report.header.report_id for each in aggregator.received}) == 12


def test_users_are_spread_over_the_seconds(aggregator: Aggregator) -> None:
    pauses: list[float] = []
    totals = run(aggregator, 6, workers=2, spacing=2.5, pause=pauses.append)
    assert totals.accepted == 6
    assert pauses == [2.5] * 6


@pytest.mark.slow
def test_a_busy_aggregator_is_asked_again(aggregator: Aggregator) -> None:
    aggregator.script.extend([nothing(503)] * 5)
    totals = run(aggregator, 10, workers=1)
    assert (totals.accepted, totals.sent, totals.waiting) == (10, 15, 0)
    assert totals.to_json()["duplicates"] == 5


def test_an_aggregator_that_stays_away_is_given_up(aggregator: Aggregator) -> None:
    totals = run(aggregator, 2, transport=RecordingTransport())
    assert (totals.accepted, totals.waiting, totals.sent) == (0, 2, 0)


def test_rejected_reports_and_wrong_values_are_counted(aggregator: Aggregator) -> None:
    aggregator.script.append(ReportError.CANNOT_OPEN)
    answers: list[dict[str, object]] = [
        {"settings": SETTINGS},
        {"settings": "nonsense"},
        {"other": 1},
    ]
    totals = simulate_clients.run(build(aggregator, workers=1), answers, lambda totals: None)
    assert totals.rejected == 1
    assert totals.outcomes == {"queued": 1, "invalid-value": 1, "unknown-collection": 1}


@pytest.mark.slow
@pytest.mark.deeper
def test_progress_is_reported_about_every_hundred_users(
    aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten users stand for a hundred, in the default tier."""
    a_line = by_tier(10, simulate_clients._USERS_A_LINE)
    assert simulate_clients._USERS_A_LINE == 100
    monkeypatch.setattr(simulate_clients, "_USERS_A_LINE", a_line)
    progress: list[int] = []
    answers: list[dict[str, object]] = [{}] * (2 * a_line + 5)  # people who are asked nothing
    simulate_clients.run(build(aggregator), answers, lambda totals: progress.append(totals.done))
    assert progress == [a_line, 2 * a_line]


@pytest.mark.slow
def test_the_key_list_is_fetched_once_for_many_users(aggregator: Aggregator) -> None:
    inner = RecordingTransport(aggregator)
    run(aggregator, 12, transport=CachingTransport(inner))
    assert [request.method for request in inner.requests].count("GET") == 1


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", '{"url": 1}', '{"url": "x", "trust": "y", "manifests": [], "answers": 5}'],
)
def test_a_wrong_document_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="one JSON document"):
        simulate_clients.main(io.StringIO(text), io.StringIO())


@pytest.mark.processes
def test_the_module_reads_stdin_and_ends_with_a_final_line(operator: Operator) -> None:
    document = {"url": URL, "trust": operator.trust, "manifests": [], "answers": [{"a": 1}] * 3}
    done = subprocess.run(
        [sys.executable, "-I", "-m", "deniable_client.simulate_clients"],
        input=json.dumps(document),
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["final"] is True
    assert json.loads(line)["outcomes"] == {"unknown-collection": 3}


@pytest.mark.processes
def test_it_ends_when_nobody_reads_its_lines(operator: Operator) -> None:
    """A demo that is killed leaves no clients that wait for its service."""
    document = {"url": URL, "trust": operator.trust, "manifests": [], "answers": [{"a": 1}] * 9}
    process = subprocess.Popen(
        [sys.executable, "-I", "-m", "deniable_client.simulate_clients"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(document | {"seconds": 100_000}).encode())
    process.stdin.close()
    process.stdout.close()
    assert process.wait(timeout=60) == 1


@pytest.mark.processes
def test_a_wrong_document_ends_the_module_with_one_sentence() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-m", "deniable_client.simulate_clients"],
        input="{}",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("stdin must be one JSON document")


@pytest.mark.parametrize("workers", [0, -1, 100_000])
def test_a_number_of_workers_that_cannot_be_is_refused(
    aggregator: Aggregator, workers: int
) -> None:
    with pytest.raises(ConfigurationError, match=f"workers must be 1….*, got {workers}"):
        build(aggregator, workers=workers)


def test_a_failure_is_not_remembered_as_an_answer(aggregator: Aggregator) -> None:
    replies = [nothing(503), nothing(200)]
    transport = CachingTransport(RecordingTransport(lambda request: replies.pop(0)))
    assert [transport.request("GET", URL).status for _ in range(3)] == [503, 200, 200]
