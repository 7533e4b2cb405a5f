"""The real system around a measurement: signed collections and a data directory to serve."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.server import HOST, Served, limit, product
from deniable_aggregator import keys
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.operations.process.serving import free_port
from deniable_aggregator.operations.service import Service
from deniable_shared.manifest.model import MANIFEST_TYPE, Manifest
from deniable_shared.wire import dsse
from deniable_shared.wire.key_list import verify_key_list

ORIGIN = "http://127.0.0.1:8000"
LIFE_DAYS = 100
UNLIMITED = 10**9


@dataclass(frozen=True, slots=True)
class Author:
    """An operator's key and the collections it signs."""

    seed: bytes = field(default_factory=dsse.generate_key)
    origin: str = ORIGIN

    @property
    def trust(self) -> str:
        return dsse.public_key(self.seed)

    def bits(self, name: str, labels: Sequence[str], *, epsilon: str = "1") -> Manifest:
        """A collection of yes-or-no questions, answered once, open for some months."""
        return self._manifest(name, "bits", labels, epsilon)

    def choice(self, name: str, labels: Sequence[str]) -> Manifest:
        """A collection of one choice."""
        return self._manifest(name, "choice", labels, "1")

    def _manifest(self, name: str, kind: str, labels: Sequence[str], epsilon: str) -> Manifest:
        expires = (datetime.now(UTC) + timedelta(days=LIFE_DAYS)).date()
        toml = "\n".join(
            [
                f'name = "{name}"',
                'purpose = "What does it cost?"',
                'owner = "benchmarks@example.org"',
                f'epsilon = "{epsilon}"',
                f'mechanism = "{"rr/1" if kind == "bits" else "grr/1"}"',
                'repeat = "once"',
                f"expires = {expires}",
                "[domain]",
                f'type = "{kind}"',
                f"labels = {json.dumps(list(labels))}",
            ]
        )
        return manifest_from_toml(toml, ingest=[self.origin])

    def sign(self, manifest: Manifest) -> bytes:
        """The DSSE envelope that apps ship and the aggregator registers."""
        return dsse.sign(manifest.body, payload_type=MANIFEST_TYPE, seed=self.seed)


@dataclass(frozen=True, slots=True)
class Deployment:
    """A data directory with one collection of eight bits, ready to be served."""

    settings: Settings
    trust: str
    envelope: bytes
    manifest: Manifest
    relay_token: str
    analyst_token: str
    author: Author
    public_key: bytes
    key_id: int

    @property
    def target(self) -> dict[str, str | int]:
        """What the load generator seals for."""
        return {
            "collection": self.manifest.collection,
            "digest": self.manifest.digest.hex(),
            "epoch": int(time.time()) // self.manifest.epoch_seconds,
            "version": self.manifest.version,
            "key_id": self.key_id,
            "public_key": self.public_key.hex(),
        }

    @property
    def path(self) -> str:
        return f"/v1/collections/{self.manifest.collection}/reports"

    def serve(self) -> AbstractContextManager[Served]:
        """The product behind granian, where its manifests say."""
        return product(self.settings)

    def serve_limit(
        self, factory: str, *, threads: int | None = None, **environ: str
    ) -> AbstractContextManager[Served]:
        """Another application behind the same granian."""
        settings = replace(self.settings, port=free_port())
        return limit(factory, settings, threads=threads, **environ)


@contextmanager
def deployment() -> Iterator[Deployment]:
    """Initialise, register, and delete at the end."""
    with TemporaryDirectory() as directory:
        yield _initialised(Path(directory))


def _initialised(directory: Path) -> Deployment:
    settings = Settings(
        data=directory / "data", port=free_port(), reports_per_minute_per_prefix=UNLIMITED
    )
    operator = directory / "operator.key"
    made = keys.initialise(settings, operator_key=operator, now=time.time())
    author = Author(keys.read_seed(operator), f"http://{HOST}:{settings.port}")
    manifest = author.bits("settings", [f"setting_{bit}" for bit in range(8)])
    envelope = author.sign(manifest)
    service = Service.open(settings)
    try:
        service.registry.apply(envelope, audit=None)
        _, relay = service.tokens.create("relay", "load generator", audit=None)
        _, analyst = service.tokens.create("analyst", "load generator", audit=None)
        listed = service.keys.key_list()
    finally:
        service.close()
    key = verify_key_list(listed, trusted=[made.trust], now=time.time()).active
    return Deployment(
        settings=settings,
        trust=made.trust,
        envelope=envelope,
        manifest=manifest,
        relay_token=relay,
        analyst_token=analyst,
        author=author,
        public_key=key.public_key,
        key_id=key.id,
    )
