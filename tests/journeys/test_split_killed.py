"""Relay, intake and consumer as real processes, each killed with -9: each report counts once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_aggregator.operations.process.serving import free_port
from deniable_aggregator.store.opening import open_read_only
from deniable_shared.wire.report import decode_upload
from support.builders.databases import KINDS
from support.builders.spools import Prepared, prepare
from support.doubles.fault_proxy import Tap, tapped
from support.processes import postgres_server
from support.processes.deniable_command import bare_environ, wait_until
from support.processes.servers_and_devices import LongWay, kill
from support.tiers import grid

pytestmark = pytest.mark.processes

BATCH = 4
DEVICES = BATCH + 1
REPORTS, BLOCKS = 3_000, 10


@pytest.fixture(params=grid(KINDS, by_default=["postgres"]))
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    address = "" if request.param == "sqlite" else postgres_server.empty()
    yield address
    if address:
        postgres_server.drop(address)


@pytest.fixture
def way(tmp_path: Path, address: str) -> Iterator[LongWay]:
    way = LongWay(tmp_path, address)
    yield way
    for process in way.processes:
        kill(process)


def started_relay(way: LongWay, to: str) -> subprocess.Popen[bytes]:
    how = ("--to", to, "--token-file", "relay.token", "--batch", str(BATCH))
    return way.start(way.front, "relay", *how)


def check_what_the_intake_saw(tap: Tap) -> None:
    """One batch in one request, which says nothing else; an order is no order of devices."""
    heads = [request.partition(b"\r\n\r\n")[0].lower() for request in tap.requests]
    names = {line.partition(b":")[0] for head in heads for line in head.split(b"\r\n")[1:]}
    assert names <= {
        *(b"host", b"accept", b"accept-encoding", b"connection", b"user-agent"),
        *(b"content-type", b"content-length", b"authorization"),
    }
    [post] = [request for request in tap.requests if request.startswith(b"POST")]
    reports = decode_upload(post.partition(b"\r\n\r\n")[2])
    assert len({report.header.report_id for report in reports}) == DEVICES
    assert len({report.header.encode()[16:] for report in reports}) == 1


@pytest.mark.exhaustive
def test_from_a_killed_relay_by_a_killed_intake_to_a_killed_consumer(way: LongWay) -> None:
    spool = way.folder / "spool"
    spool.mkdir()
    token = way.deniable.json("access", "tokens", "new", "--role", "relay", "--label", "a relay")
    (way.folder / "relay.token").write_text(str(token["token"]))
    way.deniable.environ["DENIABLE_RELAY_BATCH"] = str(BATCH)
    opening = ("spool", "drain", "--spool", spool, "--once")
    assert way.deniable.done(*opening) == "Drained 0 reports\n"
    intake_url = f"http://127.0.0.1:{free_port()}"
    intake_arguments = ("serve", "--spool", str(spool), "--data", "nowhere")
    intake = way.start(intake_url, *intake_arguments)
    with tapped(("127.0.0.1", int(intake_url.rpartition(":")[2]))) as tap:
        relay = started_relay(way, tap.url)
        assert [way.answer(device) for device in range(DEVICES)] == [1] * DEVICES
        kill(relay)
        assert list(spool.glob("*.block")) == []
        started_relay(way, tap.url)
        wait_until("the batch is spooled", lambda: list(spool.glob("*.block")))
        kill(intake)
        check_what_the_intake_saw(tap)
    way.start(intake_url, *intake_arguments)
    with way.deniable.process(*opening) as consumer:
        consumer.kill()  # before it has counted anything
    assert way.deniable.done(*opening) == f"Drained {DEVICES} reports\n"
    assert way.deniable.done(*opening) == "Drained 0 reports\n"
    assert way.counted() == DEVICES
    assert way.deniable.done("spool", "drain", "--spool", spool, "--last") == "Drained 0 reports\n"


HELD = """
import sys, time
from deniable_aggregator.cli import main
from deniable_aggregator.spool import consumer

bodies = consumer._bodies

def first(reports):
    yield next(bodies(reports))
    print("counted", flush=True)
    time.sleep(600)

consumer._bodies = first
main(["spool", "drain", "--once", "--spool", sys.argv[1]])
"""
"""A consumer that stops for long after its first commit, so that it does not end before a kill."""


def held_over(prepared: Prepared) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HELD, str(prepared.spool)],
        env=bare_environ() | prepared.settings.environ(),
        stdout=subprocess.PIPE,
        text=True,
    )


def consumer_over(prepared: Prepared) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "deniable_aggregator", "spool", "drain", "--once"]
    return subprocess.Popen(
        [*command, "--spool", str(prepared.spool)],
        env=bare_environ() | prepared.settings.environ(),
        stdout=subprocess.DEVNULL,
    )


def seen(prepared: Prepared) -> int:
    with open_read_only(prepared.settings) as db:
        [[n]] = db.execute("select count(*) from seen").fetchall()
    return int(n)


@pytest.mark.exhaustive
def test_a_killed_consumer_and_its_successors_reach_the_same_integers(
    tmp_path: Path, address: str
) -> None:
    prepared = prepare(tmp_path, REPORTS, BLOCKS, address)
    with held_over(prepared) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "counted\n"
        killed.kill()
    assert 0 < seen(prepared) < REPORTS
    together = [consumer_over(prepared) for _ in range(2 if address else 1)]
    assert [consumer.wait(timeout=120) for consumer in together] == [0] * len(together)
    assert prepared.counted() == prepared.expected()
    assert list(prepared.spool.glob("*.block")) == []


SOCKETS = """
import sys
seen = []
sys.addaudithook(lambda event, given: seen.append(event) if event.startswith("socket.") else None)
from deniable_aggregator.cli import main
main(["spool", "drain", "--once", "--spool", sys.argv[1]], standalone_mode=False)
import socket
socket.socket().close()
print(seen)
"""


def test_a_consumer_opens_no_socket_but_that_of_its_database(tmp_path: Path) -> None:
    prepared = prepare(tmp_path, 8, 2)
    done = subprocess.run(
        [sys.executable, "-c", SOCKETS, str(prepared.spool)],
        env=bare_environ() | prepared.settings.environ(),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout == "Drained 8 reports\n['socket.__new__']\n"  # the one that shows it looks


def test_an_intake_that_can_read_the_keys_says_so_and_does_not_start(tmp_path: Path) -> None:
    way = LongWay(tmp_path)
    (tmp_path / "spool").mkdir()
    said = way.deniable.refused("serve", "--spool", tmp_path / "spool", "--port", "0")
    assert "must not be able to read keys" in said
