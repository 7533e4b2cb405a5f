"""kill -9 under load: servers, devices and database, again and again.

A storm is one data directory, its server process, the fleets' processes and what lies between.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.keys import initialise, read_seed
from deniable_aggregator.operations.process.serving import free_port
from deniable_aggregator.operations.service import Service
from deniable_gateway.errors import LockedError
from deniable_shared.manifest.model import MANIFEST_TYPE, Manifest
from deniable_shared.randomness.coins import Coins
from deniable_shared.wire import dsse
from support.builders.api_world import TOML
from support.doubles.fault_proxy import Fault, FaultProxy
from support.processes import storm_device
from support.processes.killable_postgres import MortalPostgres
from support.processes.process_tree import family
from support.processes.storm_device import live

__all__ = ["Storm", "blow", "gust"]

FLEETS = 3
LEASE_SECONDS = 31  # a device that died holds its uploader's lease so long
PATIENCE_SECONDS = 240.0
PAUSE_SECONDS = 0.02
PROBE = "probe"
CALM = 14
"""Besides one connection of each kind, so that 5 of 20 are broken."""


@dataclass
class Storm:
    """One data directory, its server process, and the fleets' processes."""

    folder: Path
    database: MortalPostgres | None = None
    workers: int = 1
    devices: int = 120
    server: subprocess.Popen[bytes] | None = None
    fleets: list[subprocess.Popen[bytes]] = field(default_factory=list)
    probes: int = 0

    def __post_init__(self) -> None:
        self.port = free_port()
        self.network = FaultProxy(("127.0.0.1", self.port), Weather())
        self.network.start()
        self.store = self.database.address if self.database else ""
        self.settings = Settings(
            data=self.folder / "data",
            public_url=self.network.url,
            store=self.store,
            workers=self.workers,
        )
        made = initialise(self.settings, operator_key=self.folder / "operator.key", now=time.time())
        self.trust = made.trust
        through, past = self.network.url, f"http://127.0.0.1:{self.port}"
        self.manifests = [self._author(f"device-{n}", through) for n in range(self.devices)]
        self.probe_manifest = self._author(PROBE, past)
        service = Service.open(self.settings)
        for manifest in (*self.manifests, self.probe_manifest):
            service.registry.apply(
                (self.folder / f"{manifest.name}.manifest").read_bytes(), audit=None
            )
        service.close()

    def start_server(self) -> None:
        """A real service in a process group of its own, answering before this returns."""
        arguments = ["serve", "--data", str(self.settings.data), "--port", str(self.port)]
        log = self.log
        environ = {"DENIABLE_STORE": self.store, "DENIABLE_WORKERS": str(self.workers)}
        self.server = _start("-m", "deniable_aggregator", *arguments, log=log, environ=environ)
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            with suppress(httpx.TransportError):
                url = f"http://127.0.0.1:{self.port}/readyz"
                if httpx.get(url, timeout=30.0, trust_env=False).status_code == 200:
                    return
        pytest.fail(log.read_text())

    @property
    def log(self) -> Path:
        """What the server says."""
        return self.folder / "server.log"

    def await_answer(self) -> None:
        """A new device, past the weather, gets a reply for its report; the server never ended.

        Those of the fleets may all be done, or asked to come later: they do not tell.
        """
        (url,) = self.probe_manifest.ingest
        folder = self.folder / f"{PROBE}-{self.probes}"
        folder.mkdir()
        shutil.copy(self.folder / f"{PROBE}.manifest", folder)
        end = time.monotonic() + PATIENCE_SECONDS
        while not live(url, self.trust, time.time, folder, PROBE):
            self.require_alive()
            assert time.monotonic() < end, f"no answer any more:\n{self.log.read_text()}"
            time.sleep(PAUSE_SECONDS)
        self.probes += 1
        self.require_alive()

    def require_alive(self) -> None:
        """The server's process runs."""
        assert self.server is not None
        assert self.server.poll() is None, f"the service has ended:\n{self.log.read_text()}"

    def start_fleets(self, *, round: int) -> None:
        """Devices that go on from where their state files stand, one lease later a round."""
        names = [manifest.name for manifest in self.manifests]
        ahead = str(round * LEASE_SECONDS)
        known = self.acknowledged()
        url, script = self.network.url, str(Path(storm_device.__file__))
        for fleet in range(FLEETS):
            some = [name for name in names[fleet::FLEETS] if name not in known]
            log = self.folder / f"fleet-{fleet}.log"
            arguments = (script, url, self.trust, ahead, str(self.folder), *some)
            self.fleets.append(_start(*arguments, log=log))

    def acknowledged(self) -> set[str]:
        """Names of the devices with a reply that their report is stored."""
        lines = [path.read_text().split("\n") for path in self.folder.glob("fleet-*.log")]
        return {line for some in lines for line in some if line.startswith("device-")}

    def kill(self, processes: Sequence[subprocess.Popen[bytes]]) -> None:
        """kill -9, their children and grandchildren included, all at one stroke."""
        for pid in [pid for process in processes for pid in family(process.pid)]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in processes:
            process.wait()

    def kill_a_worker(self) -> None:
        """One process that serves; where there are others they go on."""
        assert self.server is not None
        *_, worker = family(self.server.pid)
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)

    def kill_the_devices(self) -> None:
        self.kill(self.fleets)
        self.fleets.clear()

    def kill_the_database(self) -> None:
        """It recovers while the service goes on; with SQLite its process is the database's."""
        if self.database is None:
            self.kill_the_server()
            self.start_server()
        else:
            self.database.kill()
            self.database.start()

    def kill_the_server(self) -> None:
        assert self.server is not None
        self.kill([self.server])

    def kill_everything(self) -> None:
        self.kill([*self.fleets, *([self.server] if self.server else [])])
        self.fleets.clear()
        self.server = None

    def counts(self) -> dict[str, tuple[int, int]]:
        """Of each device: reports counted, and the sum of their tally. Probes are counted once."""
        service = self._open_once_the_dead_are_gone()
        try:
            assert _count(service, self.probe_manifest) == (self.probes, self.probes)
            return {m.name: _count(service, m) for m in self.manifests}
        finally:
            service.close()

    def _open_once_the_dead_are_gone(self) -> Service:
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return Service.open(self.settings)
            except (LockedError, StoreError):  # PostgreSQL frees the dead ones' locks in a while
                assert time.monotonic() < end

    def _author(self, name: str, url: str) -> Manifest:
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
        manifest = manifest_from_toml(text, ingest=[url])
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


def _count(service: Service, manifest: Manifest) -> tuple[int, int]:
    cells = service.store.tallies(manifest.collection, 0, 2**31)
    return sum(cell.n for cell in cells), int(sum(cell.tally.sum() for cell in cells))


class Weather:
    """Two of eight connections meet some fault, each kind as likely.

    Of any 20 dealt together each kind meets one.
    """

    def __init__(self) -> None:
        self._dealing = threading.Lock()
        self._deck: list[Fault] = []

    def __call__(self) -> Fault:
        with self._dealing:
            if not self._deck:
                self._deck = [*Fault, *[Fault.PASS] * CALM]
                secrets.SystemRandom().shuffle(self._deck)
            return self._deck.pop()


def blow(storm: Storm, rounds: int) -> None:
    """In each round one thing dies amid the load, then everything; at last all devices finish."""
    victims = (
        storm.kill_the_devices,
        storm.kill_a_worker,
        storm.kill_the_database,
        storm.kill_everything,
    )
    with _over(storm):
        for round in range(rounds):
            storm.start_server()
            storm.start_fleets(round=round)
            _wait(0.3 + Coins.system().below(300) / 1000)
            victim = victims[round % len(victims)]
            victim()
            if storm.database is not None and victim != storm.kill_everything:
                storm.await_answer()
            _wait(Coins.system().below(300) / 1000)
            storm.kill_everything()
            _check(storm)
        _finish(storm, round=rounds)


def gust(storm: Storm) -> None:
    """One round for every day: amid the load a worker dies, the database, then everything.

    The first dies once some devices have a reply that their report is stored, the next one once the
    service has answered since: the database while the worker's heir starts. With SQLite the worker
    is the service.
    """
    with _over(storm):
        storm.start_server()
        storm.start_fleets(round=0)
        _await_more(storm)
        storm.kill_a_worker()
        if storm.database is not None:
            storm.await_answer()
            _wait(Coins.system().below(1_500) / 1000)
            storm.kill_the_database()
            storm.await_answer()
        _wait(Coins.system().below(300) / 1000)
        storm.kill_everything()
        _check(storm)
        _finish(storm, round=1)


@contextmanager
def _over(storm: Storm) -> Iterator[None]:
    """However it ends nothing goes on; if it ends well each device is counted once."""
    try:
        yield
    finally:
        storm.kill_everything()
        storm.network.close()
    assert set(storm.counts().values()) == {(1, 1)}
    assert storm.acknowledged() == {manifest.name for manifest in storm.manifests}
    assert set(storm.network.met) == set(Fault)


def _finish(storm: Storm, *, round: int) -> None:
    storm.start_server()
    storm.start_fleets(round=round)
    assert [fleet.wait(PATIENCE_SECONDS) for fleet in storm.fleets] == [0] * FLEETS


def _await_more(storm: Storm) -> None:
    """Until one to four more devices are done, so that there is load on every machine.

    Before anything is killed: afterwards they may wait, see `Storm.await_answer`.
    """
    wanted = len(storm.acknowledged()) + 1 + Coins.system().below(4)
    end = time.monotonic() + PATIENCE_SECONDS
    while len(storm.acknowledged()) < min(wanted, storm.devices):
        assert time.monotonic() < end, "nothing was acknowledged any more"
        time.sleep(PAUSE_SECONDS)


def _check(storm: Storm) -> None:
    """What was acknowledged is counted, once, in its own cell; what was not, at most once."""
    known, counts = storm.acknowledged(), storm.counts()
    assert {name: counts[name] for name in known if counts[name] != (1, 1)} == {}
    assert set(counts.values()) <= {(0, 0), (1, 1)}


def _wait(seconds: float) -> None:
    """Let the load run; what is killed when must differ from round to round."""
    time.sleep(seconds)
