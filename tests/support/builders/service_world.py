"""A service without its application, and sealed reports with any part made wrong."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.keys import read_seed
from deniable_aggregator.operations.service import Service
from deniable_shared.manifest.model import MANIFEST_TYPE, Manifest
from deniable_shared.wire import dsse
from deniable_shared.wire.envelope import seal
from deniable_shared.wire.key_list import KeyList, verify_key_list
from deniable_shared.wire.report import (
    Extension,
    Plaintext,
    Report,
    ReportHeader,
    encode_upload,
    padded_size,
    seal_info,
)
from support.builders.data_directory import DAY, NOON, TODAY, Moment, prepared

__all__ = ["DAY", "NOON", "TODAY", "TOML", "Moment", "World", "authored", "opened", "prepared"]

TOML = """\
name = "settings"
purpose = "Which settings do people turn on?"
owner = "privacy@example.org"
epsilon = "1"
mechanism = "rr/1"
valid_from = 2027-01-01
expires = 2027-02-01
grace = "2d"
min_batch = 1
[domain]
type = "bits"
labels = ["dark_mode", "beta", "sound"]
"""


@dataclass
class World:
    """A service with one collection, "settings", and the operator who signed it."""

    running: Service
    clock: Moment
    operator_seed: bytes
    manifest: Manifest

    def signed(self, manifest: Manifest) -> bytes:
        return dsse.sign(manifest.body, payload_type=MANIFEST_TYPE, seed=self.operator_seed)

    def key_list(self) -> KeyList:
        keys = self.running.keys
        return verify_key_list(keys.key_list(), trusted=[keys.trust], now=self.clock())

    def header(
        self,
        *,
        report_id: bytes | None = None,
        epoch: int = TODAY,
        manifest_version: int = 1,
        key_id: int = 1,
        extensions: tuple[Extension, ...] = (),
    ) -> ReportHeader:
        """An honest header by default."""
        fresh = report_id or secrets.token_bytes(16)
        return ReportHeader(fresh, epoch, manifest_version, key_id, extensions)

    def report(
        self,
        header: ReportHeader | None = None,
        *,
        payload: bytes = b"\xa0",
        extensions: tuple[Extension, ...] = (),
        plaintext: bytes | None = None,
        manifest: Manifest | None = None,
    ) -> Report:
        """A report sealed to the key its header names, or the active one, under the manifest."""
        header, manifest = header or self.header(), manifest or self.manifest
        if plaintext is None:
            plaintext = Plaintext(payload, extensions).encode(padded_size(len(payload)))
        info = seal_info(manifest.collection, manifest.digest, header)
        listed = {key.id: key for key in self.key_list().keys}
        key = listed.get(header.key_id, self.key_list().active)
        sealed = seal(plaintext, public_key=key.public_key, info=info, suite=key.suite)
        return Report(header, sealed)

    def upload(self, *reports: Report, relay: bool = False) -> list[tuple[bytes, int]]:
        """(report id, code) of those that were not accepted."""
        failed = self.running.ingest.upload(
            self.manifest.collection, encode_upload(reports), prefix="192.0.2", relay=relay
        )
        return [(status.report_id, status.error) for status in failed]

    def n(self, epoch: int = TODAY) -> int:
        """Reports counted in an epoch."""
        rows = self.running.store.epochs(self.manifest.collection)
        return sum(row.n for row in rows if row.epoch == epoch)


def authored(text: str = TOML, previous: Manifest | None = None) -> Manifest:
    """The manifest of a TOML text."""
    return manifest_from_toml(text, ingest=["https://telemetry.example.org"], previous=previous)


@contextmanager
def opened(folder: Path, settings: Settings | None = None) -> Iterator[World]:
    """A service over a prepared folder, its collection registered."""
    clock = Moment()
    service = Service.open(settings or prepared(folder), clock=clock)
    try:
        world = World(service, clock, read_seed(folder / "operator.key"), authored())
        service.registry.apply(world.signed(world.manifest), audit=None)
        yield world
    finally:
        service.close()
