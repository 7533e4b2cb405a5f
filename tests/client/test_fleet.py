"""The fleet: real clients, one each, and sums that add up."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from deniable_client import ConfigurationError, fleet
from deniable_client.fleet import Fleet, SharedReads, Tally
from deniable_client.testing import FakeClock, RecordingTransport
from deniable_shared.problems import ReportError
from support.client_world import (
    OTHER,
    SETTINGS,
    START,
    URL,
    Aggregator,
    Operator,
    manifest,
    nothing,
)


@pytest.fixture
def aggregator(operator: Operator) -> Aggregator:
    """An aggregator that takes settings."""
    side = Aggregator(operator, FakeClock(START))
    side.add(manifest())
    return side


def build(aggregator: Aggregator, **changes: object) -> Fleet:
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
    return Fleet(**(arguments | changes))  # type: ignore[arg-type]


def run(aggregator: Aggregator, users: int, **changes: object) -> Tally:
    answers = [{"settings": SETTINGS if user % 2 else OTHER} for user in range(users)]
    return fleet.run(build(aggregator, **changes), answers, lambda tally: None)


def test_every_user_is_a_device_of_its_own(aggregator: Aggregator) -> None:
    tally = run(aggregator, 40)
    assert tally.to_json() == {
        "done": 40,
        "sent": 40,
        "accepted": 40,
        "duplicates": 0,
        "rejected": 0,
        "waiting": 0,
        "outcomes": {"queued": 40},
    }
    assert len({each.report.header.report_id for each in aggregator.received}) == 40


def test_a_busy_aggregator_is_asked_again(aggregator: Aggregator) -> None:
    aggregator.script.extend([nothing(503)] * 5)
    tally = run(aggregator, 10, workers=1)
    assert (tally.accepted, tally.sent, tally.waiting) == (10, 15, 0)
    assert tally.to_json()["duplicates"] == 5


def test_an_aggregator_that_stays_away_is_given_up(aggregator: Aggregator) -> None:
    tally = run(aggregator, 2, transport=RecordingTransport())
    assert (tally.accepted, tally.waiting, tally.sent) == (0, 2, 0)


def test_rejected_reports_and_wrong_values_are_counted(aggregator: Aggregator) -> None:
    aggregator.script.append(ReportError.CANNOT_OPEN)
    answers: list[dict[str, object]] = [
        {"settings": SETTINGS},
        {"settings": "nonsense"},
        {"other": 1},
    ]
    tally = fleet.run(build(aggregator, workers=1), answers, lambda tally: None)
    assert tally.rejected == 1
    assert tally.outcomes == {"queued": 1, "invalid-value": 1, "unknown-collection": 1}


def test_progress_is_told_about_every_hundred_users(aggregator: Aggregator) -> None:
    told: list[int] = []
    answers = [{"settings": SETTINGS}] * 250
    fleet.run(build(aggregator), answers, lambda tally: told.append(tally.done))
    assert told == [100, 200]


def test_the_key_list_is_fetched_once_for_many_users(aggregator: Aggregator) -> None:
    inner = RecordingTransport(aggregator)
    run(aggregator, 30, transport=SharedReads(inner))
    assert [request.method for request in inner.requests].count("GET") == 1


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", '{"url": 1}', '{"url": "x", "trust": "y", "manifests": [], "answers": 5}'],
)
def test_a_wrong_document_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="one JSON document"):
        fleet.main(io.StringIO(text), io.StringIO())


@pytest.mark.processes
def test_the_module_reads_stdin_and_ends_with_a_final_line(operator: Operator) -> None:
    document = {"url": URL, "trust": operator.trust, "manifests": [], "answers": [{"a": 1}] * 3}
    done = subprocess.run(
        [sys.executable, "-I", "-m", "deniable_client.fleet"],
        input=json.dumps(document),
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["final"] is True
    assert json.loads(line)["outcomes"] == {"unknown-collection": 3}


@pytest.mark.processes
def test_a_wrong_document_ends_the_module_with_one_sentence() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-m", "deniable_client.fleet"],
        input="{}",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("stdin must be one JSON document")
