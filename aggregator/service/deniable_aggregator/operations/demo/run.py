"""The whole way on one machine: a service of its own, real clients, truth beside estimate.

Everything lives in a temporary directory that is deleted when the block ends, however it ends.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.client.remote import remote
from deniable_aggregator.client.service_client import ServiceClient
from deniable_aggregator.collections.authoring import registration as authored
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.documents.estimates import LabelEstimate
from deniable_aggregator.keys import initialise, read_seed
from deniable_aggregator.operations.demo import client_processes
from deniable_aggregator.operations.demo.client_processes import Uploads, UploadTask
from deniable_aggregator.operations.demo.study import Study, StudyCollection
from deniable_aggregator.operations.process import serving

PROCESSES = 2
CONFIDENCE = 0.95
UNLIMITED_REPORTS_A_MINUTE = 10_000_000
PREFIX = "deniable-"
LOG_CHARACTERS = 400


class ProgressWatcher(Protocol):
    """Hears how far a simulation is."""

    def stage(self, what: str) -> None: ...
    def people(self, done: int, total: int) -> None: ...


class NoProgress:
    """A watcher that says nothing."""

    def stage(self, what: str) -> None:
        """Nothing."""

    def people(self, done: int, total: int) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True)
class LabelResult:
    """One label: the share it is true of, and the estimate of that share with its interval."""

    label: str
    truth: float
    frequency: float | None
    std_error: float | None
    lower: float
    upper: float

    @property
    def covers(self) -> bool:
        """Whether the interval holds the truth."""
        return self.lower <= self.truth <= self.upper


@dataclass(frozen=True, slots=True)
class CollectionResult:
    """One collection's estimates beside the truth."""

    collection: str
    mechanism: str
    epsilon: str
    n: int
    rows: tuple[LabelResult, ...]


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """What a simulation showed, as `--json` prints it."""

    collections: tuple[CollectionResult, ...]
    uploads: Uploads
    seconds: float

    def document(self) -> dict[str, object]:
        """The JSON document; reports that were given up show as sent and not accepted."""
        document = asdict(self)
        del document["uploads"]["waiting"]
        return document


@dataclass(frozen=True, slots=True)
class Simulation:
    """A finished simulation, its service still running."""

    outcome: SimulationResult
    server: serving.Server
    admin_token: str
    first_name: str


@dataclass(frozen=True, slots=True)
class RegisteredCollection:
    """A collection of the study, and the collection that it became."""

    study_collection: StudyCollection
    collection: str
    envelope: str


@contextmanager
def run_study(
    study: Study, *, port: int | None = None, watcher: ProgressWatcher | None = None
) -> Iterator[Simulation]:
    """Run the study; the service stays up until the block ends.

    Raises ClientProcessError, ServingError, ManifestError or ServiceError; nothing is left behind.
    """
    watcher = watcher or NoProgress()
    began = time.monotonic()
    client_processes.require_client()
    with _temporary_directory() as folder:
        watcher.stage("Preparing keys and database")
        settings = _settings(folder, port or serving.free_port())
        keys = initialise(settings, operator_key=settings.operator_key, now=time.time())
        watcher.stage("Starting the service")
        with (
            _service(settings, folder) as server,
            remote(server.address, keys.admin_token, trust_env=False) as client,
        ):
            registered = _register(client, study, settings)
            envelopes = tuple(entry.envelope for entry in registered)
            task = UploadTask(server.address, keys.trust, envelopes)
            watcher.stage("People answer")
            uploads = _upload(task, study, folder, watcher)
            watcher.stage("Reading estimates")
            results = tuple(_result(client, entry, study) for entry in registered)
            outcome = SimulationResult(results, uploads, round(time.monotonic() - began, 3))
            yield Simulation(outcome, server, keys.admin_token, study.collections[0].name)


@contextmanager
def _temporary_directory() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _service(settings: Settings, folder: Path) -> Iterator[serving.Server]:
    """A service whose log is told when it does not come up: the file is about to be deleted."""
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


def _register(
    client: ServiceClient, study: Study, settings: Settings
) -> list[RegisteredCollection]:
    """Author, sign and put one manifest a collection."""
    seed = read_seed(settings.operator_key)
    done = []
    for collection in study.collections:
        manifest = manifest_from_toml(collection.toml(time.time()), ingest=[settings.public_url])
        envelope = authored.sign(manifest, seed)
        client.apply(manifest.collection, envelope)
        done.append(RegisteredCollection(collection, manifest.collection, envelope.decode()))
    return done


def _upload(task: UploadTask, study: Study, folder: Path, watcher: ProgressWatcher) -> Uploads:
    total = len(study.people)
    return client_processes.upload(
        task,
        study.people,
        processes=min(PROCESSES, os.cpu_count() or 1),
        logs=folder,
        progress=lambda done: watcher.people(done, total),
    )


def _result(client: ServiceClient, entry: RegisteredCollection, study: Study) -> CollectionResult:
    """Close the epochs that hold reports, then read what their tallies say."""
    for epoch in client.epochs(entry.collection).document.epochs:
        if epoch.n:
            client.close_epoch(entry.collection, epoch.epoch)
    document = client.estimates(entry.collection, {"confidence": CONFIDENCE}).document
    rows = zip(document.estimates, entry.study_collection.truth(study.people), strict=True)
    return CollectionResult(
        collection=document.collection,
        mechanism=document.mechanism,
        epsilon=document.epsilon,
        n=document.n,
        rows=tuple(_row(estimate, truth) for estimate, truth in rows),
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
