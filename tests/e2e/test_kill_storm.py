"""kill -9 under load: server and devices die again and again, and each report is counted once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from deniable_aggregator.errors import LockedError
from deniable_aggregator.keys import initialise, read_seed
from deniable_aggregator.process.serving import free_port
from deniable_aggregator.service import Service
from deniable_aggregator.settings import Settings
from deniable_shared import dsse
from deniable_shared.authoring import manifest_from_toml
from deniable_shared.coins import Coins
from deniable_shared.manifest import MANIFEST_TYPE, Manifest
from support import postgres_server, storm_device
from support.api_world import TOML

FLEETS = 3
DEVICES_A_FLEET = 40
ROUNDS = 4
LEASE_SECONDS = 31  # a device that died holds its uploader's lease so long
PATIENCE_SECONDS = 60.0


@dataclass
class Storm:
    """One data directory, its server process, and the fleets' processes."""

    folder: Path
    store: str = ""
    workers: int = 1
    server: subprocess.Popen[bytes] | None = None
    fleets: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self.settings = Settings(
            data=self.folder / "data", public_url=self.url, store=self.store, workers=self.workers
        )
        made = initialise(self.settings, operator_key=self.folder / "operator.key", now=time.time())
        self.trust = made.trust
        self.manifests = [self._author(f"device-{n}") for n in range(FLEETS * DEVICES_A_FLEET)]
        service = Service.open(self.settings)
        for manifest in self.manifests:
            service.registry.apply((self.folder / f"{manifest.name}.manifest").read_bytes())
        service.close()

    def start_server(self) -> None:
        """A real service in a process group of its own, answering before this returns."""
        port = self.url.rpartition(":")[2]
        arguments = ["serve", "--data", str(self.settings.data), "--port", port]
        log = self.folder / "server.log"
        environ = {"DENIABLE_STORE": self.store, "DENIABLE_WORKERS": str(self.workers)}
        self.server = _start("-m", "deniable_aggregator", *arguments, log=log, environ=environ)
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            with suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/readyz").status_code == 200:
                    return
        pytest.fail(log.read_text())

    def start_fleets(self, *, round: int) -> None:
        """Devices that go on from where their state files stand, one lease later a round."""
        names = [manifest.name for manifest in self.manifests]
        ahead = str(round * LEASE_SECONDS)
        for start in range(0, len(names), DEVICES_A_FLEET):
            script = str(Path(storm_device.__file__))
            some = names[start : start + DEVICES_A_FLEET]
            log = self.folder / f"fleet-{start}.log"
            self.fleets.append(
                _start(script, self.url, self.trust, ahead, str(self.folder), *some, log=log)
            )

    def acknowledged(self) -> set[str]:
        """Names of the devices that were told their report is kept."""
        lines = [path.read_text().split("\n") for path in self.folder.glob("fleet-*.log")]
        return {line for some in lines for line in some if line.startswith("device-")}

    def kill(self, processes: Sequence[subprocess.Popen[bytes]]) -> None:
        """kill -9, their children and grandchildren included, all at one stroke."""
        for pid in [pid for process in processes for pid in _family(process.pid)]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in processes:
            process.wait()

    def kill_a_worker(self) -> None:
        """One process that serves; the others go on."""
        assert self.server is not None
        *_, worker = _family(self.server.pid)
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)

    def kill_everything(self) -> None:
        self.kill([*self.fleets, *([self.server] if self.server else [])])
        self.fleets.clear()
        self.server = None

    def counts(self) -> dict[str, tuple[int, int]]:
        """Of each device: reports counted, and the sum of their tally."""
        service = self._open_once_the_dead_are_gone()
        try:
            return {m.name: _count(service, m) for m in self.manifests}
        finally:
            service.close()

    def _open_once_the_dead_are_gone(self) -> Service:
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return Service.open(self.settings)
            except LockedError:
                assert time.monotonic() < end

    def _author(self, name: str) -> Manifest:
        today = datetime.now(UTC).date()
        text = TOML.format(
            name=name,
            read="live",
            min_batch=1,
            epoch="1d",
            valid_from=today - timedelta(days=2),
            expires=today + timedelta(days=300),
            type="choice",
            labels='"red", "green", "blue"',
        )
        manifest = manifest_from_toml(text, ingest=[self.url])
        seed = read_seed(self.folder / "operator.key")
        signed = dsse.sign(manifest.body, payload_type=MANIFEST_TYPE, seed=seed)
        (self.folder / f"{name}.manifest").write_bytes(signed)
        return manifest


def _start(
    *arguments: str, log: Path, environ: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    with log.open("ab") as out:
        return subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env={**os.environ, **(environ or {})},
            start_new_session=True,
        )


def _family(pid: int) -> list[int]:
    """A process and all that come from it."""
    listed = subprocess.run(["/bin/ps", "-eo", "pid=,ppid="], capture_output=True, check=True)
    parents = [tuple(map(int, line.split())) for line in listed.stdout.splitlines()]
    family = [pid]
    for member in family:
        family += [child for child, parent in parents if parent == member]
    return family


def _count(service: Service, manifest: Manifest) -> tuple[int, int]:
    cells = service.store.tallies(manifest.collection, 0, 2**31)
    return sum(cell.n for cell in cells), int(sum(cell.tally.sum() for cell in cells))


@pytest.fixture
def shared_store() -> Iterator[str]:
    """The address of an empty PostgreSQL database."""
    address = postgres_server.empty()
    yield address
    postgres_server.drop(address)


@pytest.mark.processes
def test_storm_of_kills_neither_loses_nor_doubles_what_was_acknowledged(tmp_path: Path) -> None:
    blow(Storm(tmp_path))


@pytest.mark.processes
def test_storm_over_several_workers_on_postgresql_ends_with_the_acknowledged_counts(
    tmp_path: Path, shared_store: str
) -> None:
    blow(Storm(tmp_path, shared_store, workers=3), rounds=2)


def blow(storm: Storm, rounds: int = ROUNDS) -> None:
    """Kill everything some rounds long, then let every device finish."""
    try:
        for round in range(rounds):
            storm.start_server()
            storm.start_fleets(round=round)
            _wait(0.3 + Coins.system().below(500) / 1000)
            storm.kill_everything()
            known = storm.acknowledged()
            counts = storm.counts()
            assert {name for name in known if counts[name] != (1, 1)} == set()
            assert set(counts.values()) <= {(0, 0), (1, 1)}
        storm.start_server()
        storm.start_fleets(round=rounds)
        if storm.workers > 1:
            _wait(0.5)
            storm.kill_a_worker()
        assert [fleet.wait(PATIENCE_SECONDS) for fleet in storm.fleets] == [0] * FLEETS
    finally:
        storm.kill_everything()
    assert set(storm.counts().values()) == {(1, 1)}
    assert storm.acknowledged() == {manifest.name for manifest in storm.manifests}


def _wait(seconds: float) -> None:
    """Let the load run; what is killed when must differ from round to round."""
    time.sleep(seconds)
