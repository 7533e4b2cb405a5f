"""`deniable demo`: the whole way with real processes, and nothing left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
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
LAST_BUT_ONE = "Or read an estimate with a viewer's token:\n"
UPLOADS = {"sent", "accepted", "duplicates", "rejected"}


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


@pytest.mark.statistical
def test_the_document_is_exact_and_its_estimates_are_near_the_truth(
    deniable: Deniable, temporary: Path
) -> None:
    """200 people, 7 labels, |estimate − truth| ≤ 6 standard errors: false alarm below 1e-7."""
    with deniable.process("demo", "--no-serve", "--json", "--people", "200") as process:
        printed, said = process.communicate(timeout=300)
    document = json.loads(printed)
    assert (process.returncode, said) == (0, "")
    assert set(document) == DOCUMENT
    assert document["uploads"] == dict.fromkeys(UPLOADS, 0) | {"sent": 400, "accepted": 400}
    for collection in document["collections"]:
        assert set(collection) == COLLECTION
        assert collection["n"] == 200
        for row in collection["rows"]:
            assert set(row) == ROW
            assert abs(row["frequency"] - row["truth"]) <= 6 * row["std_error"]
    assert [c["mechanism"] for c in document["collections"]] == ["rr-sampled/1", "grr/1"]
    assert nothing_left(temporary)


def test_it_stays_on_until_ctrl_c_and_lets_others_look_in(
    deniable: Deniable, temporary: Path
) -> None:
    with deniable.process("demo", "--people", "40") as process:
        assert process.stdout is not None
        printed = "".join(iter(process.stdout.readline, LAST_BUT_ONE))
        address = re.findall(r"stays on at (http://127.0.0.1:\d+)", printed)[0]
        token = re.findall(r"dn_\S+", process.stdout.readline())[0]
        deniable.environ["DENIABLE_TOKEN"] = token
        shown = deniable.json("estimates", "berth", "--url", address)
        assert (shown["n"], shown["provisional"]) == (40, False)
        link = re.findall(rf"{address}/sign-in\?link=\S+&next=/collections/aboard", printed)[0]
        assert "This link signs you in once" in httpx.get(link, timeout=120, trust_env=False).text
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=120) == 0
    assert "intervals cover the truth" in printed
    assert nothing_left(temporary)


@pytest.mark.parametrize(
    ("number", "code"),
    rows(
        [(signal.SIGINT, 1), (signal.SIGTERM, 1), (signal.SIGKILL, -9)],
        by_default=[(signal.SIGKILL, -9)],
    ),
)
def test_whatever_ends_it_half_way_nothing_is_left(
    deniable: Deniable, temporary: Path, number: signal.Signals, code: int
) -> None:
    with deniable.process("demo", "--no-serve", "--people", "50000") as process:
        wait_until("clients answer", lambda: len(clients(temporary)) > 0)
        process.send_signal(number)
        assert process.wait(timeout=120) == code
        wait_until("nothing is left", lambda: nothing_left(temporary), 120)


def test_clients_that_die_end_it_with_a_sentence(deniable: Deniable, temporary: Path) -> None:
    with deniable.process("demo", "--no-serve", "--people", "50000") as process:
        wait_until("clients answer", lambda: len(clients(temporary)) > 0)
        os.kill(clients(temporary)[0], signal.SIGKILL)
        printed, said = process.communicate(timeout=120)
    assert (process.returncode, printed) == (1, "")
    assert said == "Error: the clients ended before everybody had answered\n"
    assert nothing_left(temporary)


def test_a_port_that_is_taken_is_said(deniable: Deniable, temporary: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port}" in deniable.refused("demo", "--port", str(port), "--people", "1")
    assert nothing_left(temporary)


def test_without_the_client_it_says_what_to_install(
    deniable: Deniable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_processes, "CLIENT", "deniable_client_that_is_not_installed")
    assert deniable.refused("demo") == (
        "the client is not installed here: pip install deniable-client"
    )


def test_people_who_opt_out_of_tracking_can_run_it(deniable: Deniable) -> None:
    deniable.environ |= {"DO_NOT_TRACK": "1", "DENIABLE_DISABLE": "1"}
    document = deniable.json("demo", "--no-serve", "--people", "3")
    assert document["uploads"]["accepted"] == 6
