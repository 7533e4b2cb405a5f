"""An intake and consumers over one spool, in one process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.spool.consumer import SpoolConsumer
from deniable_gateway.spool import blocks
from deniable_gateway.spool.intake import KeylessIntake
from deniable_gateway.spool.options import IntakeOptions
from deniable_shared.wire.report import Report, encode_upload
from support.builders import api_world
from support.builders.data_directory import Moment
from support.builders.relay_world import Answer, tell
from support.builders.spool_places import Place, place_of

__all__ = ["YES", "Split", "opened"]

YES = {"dark_mode": True, "beta": False}


class Split:
    """`world` is what the consumer's directory holds; `intake_options` are the intake's own.

    `spool` is the directory where `place` is one.
    """

    def __init__(
        self, folder: Path, world: api_world.World, place: Place, **intake_options: Any
    ) -> None:
        self.spool, self.place = folder / "spool", place
        self.world, self.intake_options = world, intake_options
        self.collection = world.register(api_world.authored())
        self.intake = self.new_intake()
        self.consumer = self.new_consumer()
        self.publish()

    @property
    def clock(self) -> Moment:
        return self.world.clock

    def new_consumer(self, **limits: Any) -> SpoolConsumer:
        return SpoolConsumer(self.world.running, self.place.address, clock=self.clock, **limits)

    def new_intake(self) -> KeylessIntake:
        nowhere = str(self.spool / "nowhere")
        options = IntakeOptions(self.place.address, data=nowhere, **self.intake_options)
        return KeylessIntake(options, clock=self.clock)

    def publish(self) -> None:
        """The consumer says what there is, and the intake hears it."""
        self.consumer.publish()
        self.intake.tick()

    def report(self, **how: Any) -> Report:
        return self.world.report(self.collection, YES, **how)

    def upload(
        self, *reports: Report, role: str | None = None, to: Collection | None = None
    ) -> Answer:
        """To the intake, with the token of that role."""
        headers = self.world.authorization(role)
        path = f"/v1/collections/{to.id}/reports" if to else self.path
        return tell(self.intake.app, "POST", path, body=encode_upload(reports), headers=headers)

    @property
    def path(self) -> str:
        return f"/v1/collections/{self.collection.id}/reports"

    def take(self, number: int, **how: int) -> list[Report]:
        reports = [self.report(**how) for _ in range(number)]
        for report in reports:
            assert self.upload(report).codes == []
        return reports

    def waiting(self) -> list[str]:
        """Names of the blocks in the spool."""
        return [block.name for block in blocks(self.place.spool)]

    def n(self) -> int:
        return sum(row.n for row in self.world.running.store.epochs(self.collection.id))

    def is_closed(self, epoch: int) -> bool:
        return self.world.running.store.is_closed(self.collection.id, epoch)


@contextmanager
def opened(
    folder: Path,
    kind: str = "sqlite",
    place: str = "directory",
    intake_options: Mapping[str, Any] = MappingProxyType({}),
    **settings: Any,
) -> Iterator[Split]:
    """Over a database and a spool of those kinds; the settings are the consumer's."""
    with place_of(place, folder) as made, api_world.opened(folder, kind=kind, **settings) as world:
        yield Split(folder, world, made, **intake_options)
