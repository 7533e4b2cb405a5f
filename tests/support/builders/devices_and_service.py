"""Devices and a service in one process; every part can be killed or cut off.

Each device has a collection of its own. So the service's counts for it can be compared exactly with
the reports that it sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import httpx
import numpy as np

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.keys import read_seed
from deniable_aggregator.keys.vouchers import VoucherKeys
from deniable_aggregator.operations.service import Service
from deniable_aggregator.store.protocols import Store
from deniable_aggregator.store.sqlite.store import SqliteStore
from deniable_aggregator.web.app import create_app
from deniable_client import Ceiling, Client, Outcome, Reply, TransportError
from deniable_client.transport import HttpTransport
from deniable_gateway.upload.upload_queue import REASON as UPLOADS
from deniable_shared.manifest.epochs import epoch_at
from deniable_shared.manifest.model import MANIFEST_TYPE, Manifest
from deniable_shared.wire import dsse
from deniable_shared.wire.envelope import Opener
from deniable_shared.wire.report import (
    MEDIA_TYPE,
    Plaintext,
    ReportHeader,
    decode_upload,
    seal_info,
)
from deniable_shared.wire.voucher import format_key, issue
from support.builders.api_world import INGEST, Moment, authored, prepared
from support.doubles.asgi_as_wsgi import with_front
from support.doubles.dying_connections import Fuse, Killed, killable, mortal_clients

__all__ = ["CEILING", "VALUES", "Device", "Sent", "Spine", "Upload"]

CEILING = Ceiling(epsilon_per_report=2, epsilon_permanent=4, epsilon_lifetime=4)
VALUES = ("red", "green", "blue")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Upload:
    """A request as it left a device."""

    url: str
    body: bytes


@dataclass(frozen=True)
class Sent:
    """A report as it left, and its contents."""

    header: ReportHeader
    plaintext: bytes

    @property
    def payload(self) -> bytes:
        return Plaintext.decode(self.plaintext).payload


@dataclass
class Spine:
    """One service over one data directory, started again after each kill."""

    folder: Path
    devices_wanted: int
    repeats: Sequence[str] = ("",)
    clock: Moment = field(default_factory=Moment)
    fuse: Fuse = field(default_factory=Fuse)
    uploads: list[Upload] = field(default_factory=list)
    network: str = "up"
    service: Service | None = None
    openers: dict[int, Opener] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.settings = self.prepare()
        self.operator_seed = read_seed(self.folder / "operator.key")
        self.start()
        self.manifests = [self._register(number) for number in range(self.devices_wanted)]
        self.trust = self._alive().keys.trust

    def prepare(self) -> Settings:
        """Settings of a data directory that is prepared."""
        return prepared(self.folder)

    def open_store(self) -> Store:
        """A store that dies with the fuse."""
        return SqliteStore(self.settings.database, factory=killable(self.fuse))

    def start(self) -> None:
        """Start the service, unless it runs."""
        if self.service is None:
            store = self.open_store()
            self.service = Service.open(self.settings, clock=self.clock, store=store)
            self.app = with_front(create_app(self.service))
            self.http = HttpTransport(httpx.WSGITransport(app=self.app.wsgi_app))
            self._keep_openers()

    def stop(self) -> None:
        """End it. After a kill nothing in memory may be written."""
        self.fuse.put_out()
        if self.service is not None:
            self.service.close()
            self.service = None

    def end(self) -> None:
        """Remove all of it."""
        self.stop()

    def request(
        self,
        method: str,
        url: str,
        *,
        body: bytes | None = None,
        content_type: str | None = None,
        timeout: float = 10.0,
    ) -> Reply:
        """The network between devices and service: up, or losing requests, or losing replies."""
        if body is not None:
            self.uploads.append(Upload(url, body))
        if self.network == "loses requests":
            raise TransportError("the request was lost")
        reply = self.reach(method, url, body=body, content_type=content_type)
        if self.network == "loses replies":
            raise TransportError("the reply was lost")
        return reply

    def reach(
        self, method: str, url: str, *, body: bytes | None, content_type: str | None
    ) -> Reply:
        """The service's reply; none if the request kills the service."""
        if self.service is None:
            raise TransportError("connection refused")
        reply = None
        with suppress(Killed):
            reply = self.http.request(method, url, body=body, content_type=content_type)
        if reply is None or self.service.suspension.reason(UPLOADS):
            self.stop()  # the thread that stores uploads died, and with it the process
            raise TransportError("connection reset")
        return reply

    def rotate(self, suite: int, *, at_once: bool) -> None:
        """The next key of a suite."""
        self._alive().keys.rotate(suite, at_once=at_once, audit=None)
        self._keep_openers()

    def tick(self) -> None:
        """Due epochs close, keys are used, made and destroyed."""
        self._alive().tick()
        self._keep_openers()

    def resend(self, upload: Upload, body: bytes | None = None) -> Reply | None:
        """Send a copy of a request, or of one like it."""
        with suppress(TransportError):
            sent = upload.body if body is None else body
            return self.reach("POST", upload.url, body=sent, content_type=MEDIA_TYPE)
        return None

    def counted(self, manifest: Manifest) -> tuple[int, np.ndarray]:
        """Reports and tally of a collection over all epochs."""
        tally = np.zeros(manifest.mechanism().tally_size, dtype=np.int64)
        n = 0
        for cell in self._alive().store.tallies(manifest.collection, 0, 2**31):
            n += cell.n
            tally += cell.tally
        return n, tally

    def counted_by_epoch(self, manifest: Manifest) -> dict[int, tuple[int, list[int]]]:
        """Epoch → reports and tally."""
        actual: dict[int, tuple[int, list[int]]] = {}
        for cell in self._alive().store.tallies(manifest.collection, 0, 2**31):
            n, tally = actual.get(cell.key.epoch, (0, [0] * len(cell.tally)))
            added = [a + b for a, b in zip(tally, cell.tally.tolist(), strict=True)]
            actual[cell.key.epoch] = (n + cell.n, added)
        return actual

    def sent(self, manifest: Manifest) -> list[Sent]:
        """Every report that ever left for a collection, opened with all keys in memory."""
        actual = []
        for upload in self.uploads:
            if f"/{manifest.collection}/" in upload.url:
                (report,) = decode_upload(upload.body)
                opener = self.openers[report.header.key_id]
                info = seal_info(manifest.collection, manifest.digest, report.header)
                actual.append(Sent(report.header, opener.open(report.sealed, info=info)))
        return actual

    def payloads(self, manifest: Manifest) -> set[bytes]:
        """Every payload that ever left for a collection."""
        return {each.payload for each in self.sent(manifest)}

    def collection(self, manifest: Manifest) -> Collection:
        return self._alive().registry.get(manifest.collection)

    def close_epochs(self) -> None:
        """Close every epoch that was ever answered, at any time of the clock."""
        for manifest in self.manifests:
            for row in self._alive().store.epochs(manifest.collection):
                self._alive().store.close_epoch(
                    manifest.collection, row.epoch, self.clock(), audit=None
                )

    def voucher(self, collection: str, epoch: int) -> str:
        """The operator's backend: all callers are one person."""
        key = VoucherKeys.open(self.settings.data / "keys").of(collection, epoch)
        return issue(format_key(key), collection=collection, epoch=epoch, person="ana")

    def _register(self, number: int) -> Manifest:
        more = self.repeats[number % len(self.repeats)]
        manifest = authored(f"device-{number}", type="choice", labels=VALUES, more=more)
        signed = dsse.sign(manifest.body, payload_type=MANIFEST_TYPE, seed=self.operator_seed)
        self._alive().registry.apply(signed, audit=None)
        return manifest

    def _keep_openers(self) -> None:
        """Keep keys, so that reports can be opened after their key is destroyed."""
        assert self.service is not None
        for key_id in range(256):
            opener = self.service.keys.opener(key_id)
            if opener is not None:
                self.openers[key_id] = opener

    def _alive(self) -> Service:
        self.start()
        assert self.service is not None
        return self.service


@dataclass
class Device:
    """One installation: a state file, and one or more open clients on it."""

    spine: Spine
    number: int
    ceiling: Ceiling = CEILING
    fuse: Fuse = field(default_factory=Fuse)
    clients: list[Client] = field(default_factory=list)
    acknowledged: int = 0
    holds: set[int] = field(default_factory=set)
    answers: list[Outcome] = field(default_factory=list)

    @property
    def manifest(self) -> Manifest:
        return self.spine.manifests[self.number]

    @property
    def state(self) -> Path:
        return self.spine.folder / f"device-{self.number}.db"

    def client(self, which: int = 0) -> Client:
        """The app; `which` = 1 is a second process on the same file."""
        while len(self.clients) <= which:
            with mortal_clients(self.fuse):
                self.clients.append(self._open())
        return self.clients[which]

    def record(self, value: str, *, which: int = 0) -> Outcome | None:
        """Record; None if the device died of it."""
        manifest = self.manifest
        self.holds.add(manifest.hold_at(epoch_at(self.spine.clock(), manifest.epoch_seconds)))
        return self._survive(
            lambda: self._note(self.client(which).record(self.manifest.name, value))
        )

    def upload(self, *, which: int = 0) -> None:
        """Send what waits, if the device lives that long."""
        self._survive(lambda: self._upload(which))

    def consent(self, answer: str) -> None:
        self._survive(lambda: self.client().consent(answer))

    def spent(self) -> Fraction:
        return self.client().budget().spent.exact

    def die(self) -> None:
        """End all its processes; what they had not committed is lost."""
        self.fuse.put_out()
        for client in self.clients:
            client._state.close()
        self.clients.clear()

    def _open(self) -> Client:
        spine = self.spine
        signed = dsse.sign(self.manifest.body, payload_type=MANIFEST_TYPE, seed=spine.operator_seed)
        return Client(
            INGEST[0],
            trust=spine.trust,
            manifests=[signed],
            state=self.state,
            ceiling=self.ceiling,
            vouchers=spine.voucher,
            transport=spine,
            clock=spine.clock,
            background=False,
        )

    def _note(self, outcome: Outcome) -> Outcome:
        self.answers.append(outcome)
        return outcome

    def _upload(self, which: int) -> None:
        self.acknowledged += self.client(which).flush(60.0, early=True).accepted

    def _survive(self, act: Callable[[], Result]) -> Result | None:
        try:
            with mortal_clients(self.fuse):
                return act()
        except Killed:
            self.die()
            return None
        finally:
            self.fuse.put_out()
