"""The same world in split mode: devices reach a door, and an opener counts, over either database.

The fuse kills the opener at any statement of its database: where it is lit, the opener drains as
soon as the door has taken an upload. The door's deaths are simpler, for it keeps nothing in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import httpx
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from deniable_aggregator.settings import Settings
from deniable_aggregator.spool import blocks, open_spool
from deniable_aggregator.spool.door import Door
from deniable_aggregator.spool.opening import Opening
from deniable_client import Reply
from deniable_client.transport import HttpTransport
from support import postgres_server, s3_server
from support.exactly_once import DEVICES, ExactlyOnce, flipped
from support.killing import Killed
from support.shared_spine import SharedSpine
from support.spine_world import Spine

__all__ = ["SharedSplitExactlyOnce", "SplitExactlyOnce", "SplitSpine", "StoredSplitExactlyOnce"]


@dataclass
class SplitSpine(Spine):
    """`service` is the opener's."""

    opener: Opening | None = None
    door: Door | None = None
    door_options: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        super().__post_init__()
        self.tell_the_door()

    @property
    def spool(self) -> str | Path:
        return self.folder / "spool"

    def make_spool(self) -> None:
        (self.folder / "spool").mkdir(exist_ok=True)

    def start(self) -> None:
        super().start()
        if self.opener is None:
            self.make_spool()
            assert self.service is not None
            limits = {"least": 2, "seconds": 86_400.0}
            self.opener = Opening(self.service, self.spool, clock=self.clock, **limits)  # type: ignore[arg-type]

    def stop(self) -> None:
        super().stop()
        self.opener = None

    def reach(
        self, method: str, url: str, *, body: bytes | None, content_type: str | None
    ) -> Reply:
        alive = self.opener is not None
        if alive and self.fuse.left is None:
            self.tell_the_door()
        door = HttpTransport(httpx.WSGITransport(app=self._opened().app))
        reply = door.request(method, url, body=body, content_type=content_type)
        if alive and self.fuse.left is not None:
            self.drain()
        return reply

    def tick(self) -> None:
        self.start()
        assert self.opener is not None
        self.opener.turn()
        self._keep_openers()

    def close_epochs(self) -> None:
        self.drain()
        super().close_epochs()
        self.tell_the_door()

    def drain(self) -> None:
        """Count all there is, if the opener lives that long."""
        self.start()
        assert self.opener is not None
        try:
            self.opener.turn(at_once=True)
        except Killed:
            self.stop()

    def tell_the_door(self) -> None:
        """The opener writes, the door reads."""
        self.start()
        assert self.opener is not None
        self.opener.publish()
        self._opened().tick()

    def waits(self) -> bool:
        """Whether anything is in the spool."""
        return bool(blocks(open_spool(self.spool)))

    def _opened(self) -> Door:
        if self.door is None:
            settings = Settings(data=self.folder / "nowhere")
            self.door = Door(self.spool, settings, clock=self.clock, **self.door_options)
            self.door.tick()
        return self.door


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
    door_options: ClassVar[dict[str, Any]] = {"block_format": "parquet", "wait_ms": 0}

    @property
    def spool(self) -> str:
        return self.address

    def make_spool(self) -> None:
        self.address = self.address or s3_server.bucket("test:test")


class SplitExactlyOnce(ExactlyOnce):
    """The machine over it. The door answers before anything is counted."""

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
    def kill_the_door(self) -> None:
        self.spine.door = None

    @precondition(lambda self: self.spine.uploads)
    @rule(choice=st.integers(0), place=st.integers(0), bit=st.integers(0, 7))
    def tamper(self, choice: int, place: int, bit: int) -> None:
        """The door cannot open it; whatever it says, nothing is counted."""
        upload = self.spine.uploads[choice % len(self.spine.uploads)]
        self.spine.drain()
        before = self._counts()
        assert self.spine.resend(upload, flipped(upload, place, bit)) is not None
        self.spine.drain()
        assert self._counts() == before

    @rule(hours=st.sampled_from([-30, -1, 1, 25, 80]))
    def move_the_clock(self, hours: int) -> None:
        """Back, once the door knows what is closed: its clock alone would not tell."""
        self.spine.tell_the_door()
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
