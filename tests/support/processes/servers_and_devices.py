"""Processes of `deniable`, and devices that answer once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from deniable_aggregator.operations.process.serving import free_port
from support.processes.deniable_command import Deniable, wait_until

__all__ = ["LongWay", "kill"]


@dataclass
class LongWay:
    """An operator's directory with one collection, and devices that know `front` alone."""

    folder: Path
    store: str = ""
    trust: str = ""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.front, self.url = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.deniable = Deniable(self.folder)
        self.deniable.environ["DENIABLE_PUBLIC_URL"] = self.front
        self.deniable.environ["DENIABLE_STORE"] = self.store
        self.trust = str(self.deniable.json("init")["trust"])
        self.deniable.done("collections", "apply", self.deniable.write("settings.toml"))

    def start(
        self,
        url: str,
        *arguments: str,
        python: str | Path = sys.executable,
        module: str = "deniable_aggregator",
    ) -> subprocess.Popen[bytes]:
        """`deniable …`, or another module, listening at the address, once it is ready."""
        command = [python, "-m", module, *arguments]
        process = subprocess.Popen(
            [*command, "--port", url.rpartition(":")[2]],
            cwd=self.folder,
            env=self.deniable.process_environ(),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        wait_until(f"{arguments[0]} is ready", lambda: _ready(url), seconds=180)
        return process

    def answer(self, device: int) -> int:
        """How many of a device's reports were acknowledged: 1."""
        from deniable_client import Ceiling, Client

        ceiling = Ceiling(epsilon_per_report=2, epsilon_permanent=8, epsilon_lifetime=20)
        state = self.folder / f"device-{device}"
        with Client(
            self.front, trust=self.trust, state=state, ceiling=ceiling, background=False
        ) as client:
            client.consent("granted")
            assert client.refresh(timeout=120, names=["settings"]).problems == ()
            assert client.record("settings", {"dark_mode": True, "beta": False}) == "queued"
            sent = client.flush(timeout=120, early=True)
            assert sent.problems == ()
            return sent.accepted

    def counted(self) -> int:
        """Reports that are counted, by every way that the commands have."""
        epochs = self.deniable.json("collections", "epochs", "list", "settings")["epochs"]
        return sum(epoch["n"] for epoch in epochs)


def kill(process: subprocess.Popen[bytes]) -> None:
    """-9 to a process and its workers, which share its group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _ready(url: str) -> bool:
    with suppress(httpx.HTTPError):
        return httpx.get(f"{url}/readyz", timeout=20, trust_env=False).is_success
    return False
