"""The two clocks of a machine, both set by a test."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from deniable_gateway.clock.watch import ClockWatch
from deniable_gateway.suspension import Suspension
from support.builders.data_directory import NOON

__all__ = ["Clocks", "Watched"]


@dataclass
class Clocks:
    """The wall clock and the boot clock."""

    wall: float = NOON
    boot: float = 1_000.0

    def read_wall(self) -> float:
        return self.wall

    def read_boot(self) -> float:
        return self.boot

    def pass_time(self, seconds: float) -> None:
        """Both go on."""
        self.wall += seconds
        self.boot += seconds

    def step(self, seconds: float) -> None:
        """A person sets the wall clock."""
        self.wall += seconds


@dataclass
class Watched:
    """A watch over such clocks, which can be started again."""

    folder: Path | None
    clocks: Clocks = field(default_factory=Clocks)
    synchronised: bool = False
    newest: float = 0.0

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """As a new process of the same machine starts."""
        self.suspension = Suspension()
        self.watch = ClockWatch(
            self.clocks.read_wall,
            self.clocks.read_boot,
            suspension=self.suspension,
            folder=self.folder,
            newest=self.newest,
            synchronised=lambda now: self.synchronised,
        )

    @property
    def reason(self) -> str | None:
        return self.suspension.reason("clock")
