"""Devices before a relay or an intake that is killed with -9: real processes, each report once."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.doubles import s3_server
from support.processes.deniable_command import wait_until
from support.processes.servers_and_devices import LongWay, kill

BATCH = 4


@pytest.fixture
def way(tmp_path: Path) -> Iterator[LongWay]:
    way = LongWay(tmp_path)
    yield way
    for process in way.processes:
        kill(process)


def started_relay(way: LongWay, batch: int) -> subprocess.Popen[bytes]:
    to = ("--to", way.url, "--token-file", "relay.token", "--batch", str(batch))
    return way.start(way.front, "relay", *to)


@pytest.mark.exhaustive
@pytest.mark.processes
def test_reports_that_a_killed_relay_had_acknowledged_are_counted_once(way: LongWay) -> None:
    token = way.deniable.json("access", "tokens", "new", "--role", "relay", "--label", "a relay")
    (way.folder / "relay.token").write_text(str(token["token"]))
    way.start(way.url, "serve")
    relay = started_relay(way, 10 * BATCH)
    assert [way.answer(device) for device in range(BATCH + 1)] == [1] * (BATCH + 1)
    kill(relay)
    assert way.counted() == 0  # there was no batch
    relay = started_relay(way, BATCH)
    wait_until("the batch is counted", lambda: way.counted() == BATCH + 1, seconds=180)
    kill(relay)
    started_relay(way, BATCH)
    assert way.counted() == BATCH + 1
    counts = way.deniable.json("relay", "status", "--data", way.folder / "relay")
    assert counts == {"accepted": BATCH + 1, "forwarded": BATCH + 1}


@pytest.mark.processes
def test_reports_that_a_killed_intake_had_acknowledged_are_counted_once(way: LongWay) -> None:
    spool = way.folder / "spool"
    spool.mkdir()
    opening = ("spool", "drain", "--spool", spool, "--once")
    assert way.deniable.done(*opening) == "Drained 0 reports\n"
    intake = way.start(way.front, "serve", "--spool", str(spool), "--data", "nowhere")
    assert [way.answer(device) for device in range(3)] == [1] * 3
    kill(intake)
    assert way.deniable.done(*opening) == "Drained 3 reports\n"
    assert way.deniable.done(*opening) == "Drained 0 reports\n"
    assert way.counted() == 3
    assert not (way.folder / "nowhere").exists()


@pytest.mark.exhaustive
@pytest.mark.processes
def test_the_same_with_a_bucket_between_intake_and_consumer(
    way: LongWay, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = s3_server.bucket()
    for name, value in s3_server.CREDENTIALS.items():
        monkeypatch.setenv(name, value)
        way.deniable.environ[name] = value
    opening = ("spool", "drain", "--spool", spool, "--once")
    assert way.deniable.done(*opening) == "Drained 0 reports\n"
    options = ("--spool-format", "parquet", "--spool-wait-ms", "200")
    intake = way.start(way.front, "serve", "--spool", spool, "--data", "nowhere", *options)
    assert [way.answer(device) for device in range(3)] == [1] * 3
    kill(intake)
    mine = f"/{urlsplit(spool).netloc}/"
    asked = [path for _, path in s3_server.server().requests if path.startswith(mine)]
    assert len({path for path in asked if path.endswith("-1.parquet")}) == 3
    assert way.deniable.done(*opening) == "Drained 3 reports\n"
    assert way.deniable.done(*opening) == "Drained 0 reports\n"
    assert way.counted() == 3
