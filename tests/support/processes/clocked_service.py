"""A server process whose clocks a test sets.

The service itself knows no such file: `app` opens it with `clock=` and `boot_clock=`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.process import serving
from deniable_aggregator.operations.service import Service
from deniable_aggregator.web import wsgi
from deniable_aggregator.web.front import front_of
from deniable_gateway.background_threads import PeriodicThread
from deniable_gateway.clock.reading import boot_time
from support.processes.deniable_command import wait_until
from support.processes.live_service import Live, live

if TYPE_CHECKING:
    from deniable_gateway.upload.front import Front

__all__ = ["Dial", "app", "clocked"]

FOLDER = "CLOCKED_SERVICE"
TICK_SECONDS = 0.2
FACTORY = "support.processes.clocked_service:app"


@dataclass
class Dial:
    """How far the server's clocks are ahead of the machine's, and how often it has ticked."""

    folder: Path
    wall: float = 0.0
    boot: float = 0.0

    def step(self, seconds: float) -> None:
        """A person sets the server's wall clock; then it ticks twice."""
        self._set(self.wall + seconds, self.boot)

    def pass_time(self, seconds: float) -> None:
        """Both clocks go on; then it ticks twice."""
        self._set(self.wall + seconds, self.boot + seconds)

    def _set(self, wall: float, boot: float) -> None:
        self.wall, self.boot = wall, boot
        draft = self.folder / "draft"
        draft.write_text(f"{wall} {boot}")
        draft.replace(self.folder / "shift")
        before = self.ticks
        wait_until("the server ticked twice", lambda: self.ticks >= before + 2)

    @property
    def ticks(self) -> int:
        path = self.folder / "ticks"
        return path.stat().st_size if path.exists() else 0


@contextmanager
def clocked(folder: Path) -> Iterator[tuple[Live, Dial]]:
    """A running service, and what sets its clocks."""
    dial, port = Dial(folder), serving.free_port()
    (folder / "shift").write_text("0 0")
    arguments = partial(serving.granian_arguments, factory=FACTORY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER, str(folder))
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
        patch.setattr(serving, "granian_arguments", arguments)
        with live(folder, port=port, public_url=f"http://127.0.0.1:{port}") as started:
            yield started, dial


@cache
def app() -> Front:
    """The entry point of the server process."""
    folder = Path(os.environ[FOLDER])

    def shift(which: int) -> float:
        return float((folder / "shift").read_text().split()[which])

    service = Service.open(
        Settings.load(),
        clock=lambda: time.time() + shift(0),
        boot_clock=lambda: boot_time() + shift(1),
    )
    tick = service.tick

    def noted() -> None:
        tick()
        with (folder / "ticks").open("ab") as file:
            file.write(b".")

    service.tick = noted  # type: ignore[method-assign]  # the test replaces it
    often = partial(PeriodicThread, every_seconds=TICK_SECONDS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wsgi, "PeriodicThread", often)
        return front_of(wsgi.with_maintenance(service))
