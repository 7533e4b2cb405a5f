"""Devices, an intake, a spool and its consumer, over either database.

The fuse kills the consumer at any statement of its database. While it is lit, the consumer drains
as soon as the intake has taken an upload. The intake's deaths are simpler: it keeps nothing in
memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import httpx
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from deniable_aggregator.spool.consumer import SpoolConsumer
from deniable_client import Reply
from deniable_client.transport import HttpTransport
from deniable_gateway.spool import blocks, open_spool
from deniable_gateway.spool.intake import KeylessIntake
from deniable_gateway.spool.options import IntakeOptions
from support.builders.devices_and_service import Spine
from support.builders.devices_and_workers import SharedSpine
from support.builders.exactly_once_machine import DEVICES, ExactlyOnce, flipped
from support.doubles import s3_server
from support.doubles.asgi_as_wsgi import AsgiAsWsgi
from support.doubles.dying_connections import Killed
from support.processes import postgres_server

__all__ = ["SharedSplitExactlyOnce", "SplitExactlyOnce", "SplitSpine", "StoredSplitExactlyOnce"]


@dataclass
class SplitSpine(Spine):
    """One consumer, `service`, and one intake."""

    consumer: SpoolConsumer | None = None
    intake: KeylessIntake | None = None
    intake_options: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        super().__post_init__()
        self.tell_the_intake()

    @property
    def spool(self) -> str | Path:
        return self.folder / "spool"

    def make_spool(self) -> None:
        (self.folder / "spool").mkdir(exist_ok=True)

    def start(self) -> None:
        super().start()
        if self.consumer is None:
            self.make_spool()
            assert self.service is not None
            limits = {"min_reports": 2, "interval_seconds": 86_400.0}
            self.consumer = SpoolConsumer(self.service, self.spool, clock=self.clock, **limits)  # type: ignore[arg-type]  # one dict has values of many types

    def stop(self) -> None:
        super().stop()
        self.consumer = None

    def reach(
        self, method: str, url: str, *, body: bytes | None, content_type: str | None
    ) -> Reply:
        alive = self.consumer is not None
        if alive and self.fuse.left is None:
            self.tell_the_intake()
        intake = HttpTransport(httpx.WSGITransport(app=AsgiAsWsgi(self._opened().app)))
        reply = intake.request(method, url, body=body, content_type=content_type)
        if alive and self.fuse.left is not None:
            self.drain()
        return reply

    def tick(self) -> None:
        self.start()
        assert self.consumer is not None
        self.consumer.run_once()
        self._keep_openers()

    def close_epochs(self) -> None:
        self.drain()
        super().close_epochs()
        self.tell_the_intake()

    def drain(self) -> None:
        """Count everything, if the consumer lives that long."""
        self.start()
        assert self.consumer is not None
        try:
            self.consumer.run_once(at_once=True)
        except Killed:
            self.stop()

    def tell_the_intake(self) -> None:
        """The consumer writes, the intake reads."""
        self.start()
        assert self.consumer is not None
        self.consumer.publish()
        self._opened().tick()

    def waits(self) -> bool:
        """Whether anything is in the spool."""
        return bool(blocks(open_spool(self.spool)))

    def _opened(self) -> KeylessIntake:
        if self.intake is None:
            nowhere = str(self.folder / "nowhere")
            options = IntakeOptions(str(self.spool), data=nowhere, **self.intake_options)
            self.intake = KeylessIntake(options, clock=self.clock)
            self.intake.tick()
        return self.intake


@dataclass
class SharedSplitSpine(SplitSpine):
    """Over PostgreSQL."""

    prepare = SharedSpine.prepare
    open_store = SharedSpine.open_store

    def end(self) -> None:
        self.stop()
        postgres_server.drop(self.settings.store)


@dataclass
class StoredSplitSpine(SplitSpine):
    """Blocks in Parquet, in an object store."""

    address: str = ""
    intake_options: ClassVar[dict[str, Any]] = {"block_format": "parquet", "wait_ms": 0}

    @property
    def spool(self) -> str:
        return self.address

    def make_spool(self) -> None:
        self.address = self.address or s3_server.bucket("test:test")


class SplitExactlyOnce(ExactlyOnce):
    """The machine over it. The intake answers before anything is counted."""

    spine: SplitSpine

    def begin(self, folder: Path) -> Spine:
        return SplitSpine(folder, DEVICES)

    def teardown(self) -> None:
        try:
            self.spine.drain()
            self.what_was_acknowledged_is_counted()
        finally:
            super().teardown()

    @rule()
    def drain(self) -> None:
        self.spine.drain()

    @rule(at=st.integers(0, 14), after=st.booleans())
    def drain_and_be_killed(self, at: int, after: bool) -> None:
        self.spine.start()
        self.spine.fuse.light(at, after=after)
        self.spine.drain()
        self.spine.fuse.put_out()

    @rule()
    def kill_the_intake(self) -> None:
        self.spine.intake = None

    @precondition(lambda self: self.spine.uploads)
    @rule(choice=st.integers(0), place=st.integers(0), bit=st.integers(0, 7))
    def tamper(self, choice: int, place: int, bit: int) -> None:
        """The intake cannot open it; its replies count nothing."""
        upload = self.spine.uploads[choice % len(self.spine.uploads)]
        self.spine.drain()
        before = self._counts()
        assert self.spine.resend(upload, flipped(upload, place, bit)) is not None
        self.spine.drain()
        assert self._counts() == before

    @rule(hours=st.sampled_from([-30, -1, 1, 25, 80]))
    def move_the_clock(self, hours: int) -> None:
        """Move it back once the intake knows what is closed: its clock alone would not show it."""
        self.spine.tell_the_intake()
        self.spine.clock.now += hours * 3600

    @invariant()
    def what_was_acknowledged_is_counted(self) -> None:
        if not self.spine.waits():
            for device in self.devices:
                assert self.spine.counted(device.manifest)[0] >= device.acknowledged


class SharedSplitExactlyOnce(SplitExactlyOnce):
    """Over PostgreSQL."""

    def begin(self, folder: Path) -> Spine:
        return SharedSplitSpine(folder, DEVICES)


class StoredSplitExactlyOnce(SplitExactlyOnce):
    """Over an object store."""

    def begin(self, folder: Path) -> Spine:
        return StoredSplitSpine(folder, DEVICES)
