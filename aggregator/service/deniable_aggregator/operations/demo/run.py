"""Runs a demo in a temporary directory: a simulated past, a service, live clients.

The directory is deleted when the block ends, for any reason.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.client.remote import remote
from deniable_aggregator.operations.demo import client_processes
from deniable_aggregator.operations.demo.client_processes import Uploads, UploadTask
from deniable_aggregator.operations.demo.history import PreparedDemo, prepare_demo
from deniable_aggregator.operations.demo.study import NoProgress, ProgressWatcher, Study
from deniable_aggregator.operations.demo_overlay import DemoOverlay, read_overlay
from deniable_aggregator.operations.process import serving
from deniable_gateway.serving import require_free

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.client.service_client import ServiceClient
    from deniable_aggregator.documents.estimates import LabelEstimate

PROCESSES = 2
CONFIDENCE = 0.95
UNLIMITED_REPORTS_A_MINUTE = 10_000_000
TEMPORARY = "deniable-"
LOG_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class LabelResult:
    """One label: its true share, and the estimate with its interval."""

    label: str
    truth: float
    frequency: float | None
    std_error: float | None
    lower: float
    upper: float

    @property
    def covers(self) -> bool:
        """Whether the interval contains the truth."""
        return self.lower <= self.truth <= self.upper


@dataclass(frozen=True, slots=True)
class CollectionResult:
    """One collection's estimates next to the truth."""

    collection: str
    mechanism: str
    epsilon: str
    n: int
    rows: tuple[LabelResult, ...]


@dataclass(frozen=True, slots=True)
class DemoResult:
    """The result of a demo, as `--json` prints it."""

    collections: tuple[CollectionResult, ...]
    uploads: Uploads
    seconds: float

    def document(self) -> dict[str, object]:
        """The JSON document; reports that were given up count as sent but not accepted."""
        document = asdict(self)
        del document["uploads"]["waiting"]
        return document


@dataclass(frozen=True, slots=True)
class RunningDemo:
    """A demo whose service runs, with its past in it."""

    study: Study
    server: serving.Server
    prepared: PreparedDemo
    overlay: DemoOverlay
    folder: Path

    @property
    def link(self) -> str:
        """The address that signs in, as often as it is opened."""
        return f"{self.server.address}/sign-in?link={self.prepared.link}"

    def client(self) -> ServiceClient:
        """A client with the role admin."""
        return remote(self.server.address, self.prepared.admin_token, trust_env=False)

    def send(self, *, seconds: float = 0, watcher: ProgressWatcher | None = None) -> Uploads:
        """Let today's people answer through real clients, spread over `seconds`.

        Raises ClientProcessError if the clients end early.
        """
        total, prepared = len(self.study.people), self.prepared
        watcher = watcher or NoProgress()
        watcher.stage("People answer")
        return client_processes.upload(
            UploadTask(self.server.address, prepared.trust, prepared.envelopes, seconds),
            self.study.answers(),
            processes=min(PROCESSES, os.cpu_count() or 1),
            logs=self.folder,
            progress=lambda done: watcher.people(done, total),
        )

    def results(self) -> tuple[CollectionResult, ...]:
        """The estimates of every question next to the truth."""
        with self.client() as client:
            return tuple(self._result(client, each) for each in self.prepared.collections)

    def _result(self, client: ServiceClient, collection: str) -> CollectionResult:
        n = {row.epoch: row.n or 0 for row in client.epochs(collection).document.epochs}
        document = client.estimates(collection, {"confidence": CONFIDENCE}).document
        truth = self.overlay.shares(collection, n, [row.label for row in document.estimates])
        return CollectionResult(
            collection=document.collection,
            mechanism=document.mechanism,
            epsilon=document.epsilon,
            n=document.n,
            rows=tuple(_row(estimate, truth[estimate.label]) for estimate in document.estimates),
        )


@contextmanager
def run_demo(
    study: Study, *, port: int | None = None, watcher: ProgressWatcher | None = None
) -> Iterator[RunningDemo]:
    """Prepare the past and start the service, which stays up until the block ends.

    Raises ClientProcessError, ListenError, ServingError or ManifestError; leaves no files.
    """
    watcher = watcher or NoProgress()
    client_processes.require_client()
    with _temporary_directory() as folder:
        settings = _settings(folder, port or serving.free_port())
        require_free(settings.host, settings.port)
        prepared = prepare_demo(settings, study, now=time.time(), watcher=watcher)
        overlay = read_overlay(settings)
        assert overlay is not None  # noqa: S101  (it was just written)
        watcher.stage("Starting the service")
        with _service(settings, folder) as server:
            yield RunningDemo(study, server, prepared, overlay, folder)


@contextmanager
def _temporary_directory() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=TEMPORARY))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _service(settings: Settings, folder: Path) -> Iterator[serving.Server]:
    """A service; if it does not start, its log is shown, because the file will be deleted."""
    path = folder / "service.log"
    with path.open("wb") as log:
        try:
            with serving.running(settings, log=log, delete_if_orphaned=folder) as server:
                yield server
        except serving.ServingError as error:
            said = path.read_text(errors="replace").strip()[-LOG_CHARACTERS:]
            raise serving.ServingError(f"{error}: {said}" if said else str(error)) from error


def _settings(folder: Path, port: int) -> Settings:
    return Settings(
        data=folder / "data",
        public_url=f"http://127.0.0.1:{port}",
        port=port,
        reports_per_minute_per_prefix=UNLIMITED_REPORTS_A_MINUTE,
    )


def _row(estimate: LabelEstimate, truth: float) -> LabelResult:
    return LabelResult(
        label=estimate.label,
        truth=truth,
        frequency=estimate.frequency,
        std_error=estimate.std_error,
        lower=0.0 if estimate.lower is None else estimate.lower,
        upper=1.0 if estimate.upper is None else estimate.upper,
    )
