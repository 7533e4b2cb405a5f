"""Devices, a relay that is killed with -9, and a service: real processes, each report once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from deniable_aggregator.process.serving import free_port
from deniable_client import Ceiling, Client
from support.deniable_command import Deniable, wait_until

BATCH = 4


@dataclass
class Way:
    """A service, a relay before it, and devices that know the relay's address alone."""

    folder: Path
    trust: str = ""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.relay_url, self.url = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.deniable = Deniable(self.folder)
        self.deniable.environ["DENIABLE_PUBLIC_URL"] = self.relay_url
        self.trust = str(self.deniable.json("init")["trust"])
        self.deniable.done("collections", "apply", self.deniable.write("settings.toml"))
        token = self.deniable.json("tokens", "new", "--role", "relay", "--label", "a relay")
        (self.folder / "relay.token").write_text(str(token["token"]))

    def start(self, url: str, *arguments: str) -> subprocess.Popen[bytes]:
        """`deniable …`, listening at the address, once it is ready."""
        command = [sys.executable, "-m", "deniable_aggregator", *arguments]
        process = subprocess.Popen(
            [*command, "--port", url.rpartition(":")[2]],
            cwd=self.folder,
            env=self.deniable.process_environ(),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        wait_until(f"{arguments[0]} is ready", lambda: ready(url), seconds=60)
        return process

    def start_relay(self) -> subprocess.Popen[bytes]:
        to = ("--to", self.url, "--token-file", "relay.token", "--batch", str(BATCH))
        return self.start(self.relay_url, "relay", *to)

    def answer(self, device: int) -> int:
        """How many of a device's reports the relay has acknowledged."""
        state = self.folder / f"device-{device}"
        with Client(
            self.relay_url,
            trust=self.trust,
            state=state,
            ceiling=Ceiling(epsilon_per_report=2, epsilon_permanent=8, epsilon_lifetime=20),
            background=False,
        ) as client:
            client.consent("granted")
            assert client.refresh(timeout=20, names=["settings"]).problems == ()
            assert client.record("settings", {"dark_mode": True, "beta": False}) == "queued"
            sent = client.flush(timeout=20, early=True)
            assert sent.problems == ()
            return sent.accepted

    def counted(self) -> int:
        token = self.deniable.json("tokens", "new", "--role", "viewer", "--label", "me")
        answer = httpx.get(
            f"{self.url}/v1/collections/settings/epochs",
            headers={"Authorization": f"Bearer {token['token']}"},
            trust_env=False,
        )
        return sum(epoch["n"] for epoch in answer.json()["epochs"])


def ready(url: str) -> bool:
    with suppress(httpx.HTTPError):
        return httpx.get(f"{url}/readyz", timeout=2, trust_env=False).is_success
    return False


def kill(process: subprocess.Popen[bytes]) -> None:
    """-9 to a process and its workers, which share its group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture
def way(tmp_path: Path) -> Iterator[Way]:
    way = Way(tmp_path)
    yield way
    for process in way.processes:
        kill(process)


def test_reports_that_a_killed_relay_had_acknowledged_are_counted_once(way: Way) -> None:
    way.start(way.url, "serve")
    relay = way.start_relay()
    assert [way.answer(device) for device in range(BATCH + 1)] == [1] * (BATCH + 1)
    kill(relay)
    assert way.counted() == 0  # its first look was before there was a batch
    relay = way.start_relay()
    wait_until("the batch is counted", lambda: way.counted() == BATCH + 1, seconds=60)
    kill(relay)
    way.start_relay()
    assert way.counted() == BATCH + 1
    counts = way.deniable.json("relay", "status", "--data", way.folder / "relay")
    assert counts == {"accepted": BATCH + 1, "forwarded": BATCH + 1}
