"""`deniable demo`: the whole way with real processes, and nothing left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import httpx
import pytest

from deniable_aggregator.operations.demo import client_processes
from support.processes.command_leftovers import holds, nothing_left, processes_of
from support.processes.deniable_command import Deniable, wait_until
from support.tiers import rows

pytestmark = pytest.mark.processes

DOCUMENT = {"collections", "uploads", "seconds"}
COLLECTION = {"collection", "mechanism", "epsilon", "n", "rows"}
ROW = {"label", "truth", "frequency", "std_error", "lower", "upper"}
UPLOADS = {"sent", "accepted", "duplicates", "rejected"}
MOST_LINES = 12
LAST_LINE = "DENIABLE_TOKEN"


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    return folder


@pytest.fixture
def deniable(tmp_path: Path, temporary: Path) -> Deniable:
    command = Deniable(tmp_path)
    command.environ["TMPDIR"] = str(temporary)
    return command


def clients(temporary: Path) -> list[int]:
    return [
        pid
        for pid in processes_of(temporary)
        if holds(Path(f"/proc/{pid}/cmdline"), b"deniable_client.simulate_clients")
    ]


def lines_of(process: subprocess.Popen[str]) -> list[str]:
    """What is printed before anybody watches."""
    assert process.stdout is not None
    lines: list[str] = []
    while not lines or LAST_LINE not in lines[-1]:
        lines.append(process.stdout.readline())
        assert lines[-1], "the demo ended without its last line"
    return lines


@pytest.mark.statistical
def test_the_document_is_exact_and_its_estimates_are_near_the_truth(
    deniable: Deniable, temporary: Path
) -> None:
    """Some 60 labels, |estimate − truth| ≤ 7 standard errors: false alarm below 1e-9."""
    with deniable.process("demo", "--no-serve", "--json") as process:
        printed, said = process.communicate(timeout=300)
    document = json.loads(printed)
    assert (process.returncode, said) == (0, "")
    assert set(document) == DOCUMENT
    assert document["uploads"] == dict.fromkeys(UPLOADS, 0) | {"sent": 1000, "accepted": 1000}
    for collection in document["collections"]:
        assert set(collection) == COLLECTION
        assert collection["collection"].startswith("simulated-")
        assert collection["n"] > 100_000
        for row in collection["rows"]:
            assert set(row) == ROW
            assert abs(row["frequency"] - row["truth"]) <= 7 * row["std_error"]
    assert len(document["collections"]) == 5
    assert nothing_left(temporary)


def test_it_says_where_to_look_and_stays_until_ctrl_c(deniable: Deniable, temporary: Path) -> None:
    with deniable.process("demo") as process:
        lines = lines_of(process)
        assert len(lines) <= MOST_LINES
        [(link, address)] = re.findall(
            r"^Open ((http://127\.0\.0\.1:\d+)/sign-in\?link=\S+&next=/collections/\S+)$", lines[0]
        )
        token = re.findall(r"dn_\S+", lines[-1])[0]
        deniable.environ["DENIABLE_TOKEN"] = token
        shown = deniable.json("estimates", "simulated-commute", "--url", address)
        assert (shown["n"] > 100_000, len(shown["estimates"])) == (True, 5)
        for _ in range(2):
            page = httpx.get(link, timeout=120, trust_env=False).text
            assert "signs you in until the demo ends" in page
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=120) == 0
    assert nothing_left(temporary)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("number", "code"),
    rows(
        [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGKILL, -9)],
        by_default=[(signal.SIGKILL, -9)],
        long=[(signal.SIGINT, 0), (signal.SIGTERM, 0)],
    ),
)
def test_whatever_ends_it_while_clients_send_nothing_is_left(
    deniable: Deniable, temporary: Path, number: signal.Signals, code: int
) -> None:
    with deniable.process("demo") as process:
        wait_until("clients answer", lambda: len(clients(temporary)) > 0)
        process.send_signal(number)
        assert process.wait(timeout=120) == code
        wait_until("nothing is left", lambda: nothing_left(temporary), 120)


@pytest.mark.parametrize(
    ("number", "code"),
    rows(
        [(signal.SIGINT, 1), (signal.SIGTERM, 1), (signal.SIGKILL, -9)],
        by_default=[(signal.SIGINT, 1)],
    ),
)
def test_whatever_ends_it_while_it_prepares_no_process_is_left(
    deniable: Deniable, temporary: Path, number: signal.Signals, code: int
) -> None:
    """A kill that nothing can answer leaves the files, which the system's own cleaning finds."""
    with deniable.process("demo") as process:
        wait_until("it prepares", lambda: any(temporary.glob("*/data/keys")))
        process.send_signal(number)
        assert process.wait(timeout=120) == code
    assert not processes_of(temporary)
    assert number == signal.SIGKILL or nothing_left(temporary)


@pytest.mark.exhaustive
def test_clients_that_die_end_it_with_a_sentence(deniable: Deniable, temporary: Path) -> None:
    with deniable.process("demo") as process:
        wait_until("clients answer", lambda: len(clients(temporary)) > 0)
        os.kill(clients(temporary)[0], signal.SIGKILL)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 1
    assert said == "Error: the clients ended before everyone had answered\n"
    assert nothing_left(temporary)


def test_a_port_that_is_taken_is_said(deniable: Deniable, temporary: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port}" in deniable.refused("demo", "--port", str(port))
    assert nothing_left(temporary)


def test_without_the_client_it_says_what_to_install(
    deniable: Deniable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_processes, "CLIENT", "deniable_client_that_is_not_installed")
    assert deniable.refused("demo") == (
        "the client is not installed here: pip install deniable-client"
    )


@pytest.mark.exhaustive
def test_people_who_opt_out_of_tracking_can_run_it(deniable: Deniable) -> None:
    deniable.environ |= {"DO_NOT_TRACK": "1", "DENIABLE_DISABLE": "1"}
    document = deniable.json("demo", "--no-serve")
    assert document["uploads"]["accepted"] == 1000
