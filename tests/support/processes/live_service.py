"""A server process with one collection that is open today."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.client.remote import remote
from deniable_aggregator.client.service_client import ServiceClient
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.keys import initialise, read_seed
from deniable_aggregator.operations.process import serving
from deniable_aggregator.operations.process.serving import Server, free_port, running
from deniable_aggregator.operations.service import Service
from deniable_shared.manifest.model import MANIFEST_TYPE, Manifest
from deniable_shared.wire import dsse
from support.processes.deniable_command import SETTINGS_TOML

__all__ = ["Live", "bounded", "live", "prepare"]


@dataclass
class Live:
    """The process, and what a test has to know to speak to it."""

    settings: Settings
    server: Server
    manifest: Manifest

    @property
    def place(self) -> tuple[str, int]:
        """Host and port, for sockets."""
        parts = urlsplit(self.server.address)
        assert parts.hostname
        assert parts.port
        return parts.hostname, parts.port

    @property
    def path(self) -> str:
        return f"/v1/collections/{self.manifest.collection}/reports"

    def connect(self) -> ServiceClient:
        """With the admin's token."""
        return remote(self.server.address, self.server.token, trust_env=False)

    def counted(self) -> int:
        """Reports, by the service's own word."""
        with self.connect() as client:
            epochs = client.epochs(self.manifest.collection).document.epochs
        return sum(epoch.n or 0 for epoch in epochs)


def prepare(settings: Settings, *, text: str = SETTINGS_TOML, ahead: float = 0.0) -> Manifest:
    """A data directory with one collection, "settings"; `ahead`: seconds its clock is ahead."""
    operator = settings.data.parent / "operator.key"
    initialise(settings, operator_key=operator, now=time.time() + ahead)
    manifest = manifest_from_toml(text, ingest=[settings.public_url])
    seed = read_seed(operator)
    signed = dsse.sign(manifest.body, payload_type=MANIFEST_TYPE, seed=seed)
    service = Service.open(settings)
    try:
        service.registry.apply(signed, audit=None)
    finally:
        service.close()
    return manifest


@contextmanager
def bounded(*, body_seconds: float, uploads: int) -> Iterator[None]:
    """Services that start within the block give bodies so long, and hold so many uploads."""
    arguments = partial(serving.granian_arguments, factory="support.processes.bounded_app:app")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEST_BODY_SECONDS", str(body_seconds))
        patch.setenv("TEST_UPLOADS", str(uploads))
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
        patch.setattr(serving, "granian_arguments", arguments)
        yield


@contextmanager
def live(folder: Path, *, text: str = SETTINGS_TOML, **changes: object) -> Iterator[Live]:
    """Started, and stopped at the end."""
    settings = Settings(data=folder / "data", port=free_port())
    settings = replace(settings, **changes)  # type: ignore[arg-type]  # one dict has values of many types
    manifest = prepare(settings, text=text)
    with (folder / "server.log").open("wb") as log, running(settings, log=log) as server:
        yield Live(settings, server, manifest)
