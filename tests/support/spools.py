"""Spools of sealed reports, and what a store has counted of them, as plain integers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from deniable_aggregator.scale import Engine, Summary, tally_spool
from deniable_aggregator.service import Service
from deniable_aggregator.spool import Spooled, write_block
from deniable_shared.report import Report
from support.core_world import World

__all__ = ["Cells", "cells", "here", "mixed", "quiet", "spool", "spooled", "tally"]

Cells = dict[tuple[int, int, int], tuple[int, list[int]]]


def spooled(world: World, reports: Iterable[Report]) -> list[Spooled]:
    """As the ingest would spool them."""
    return [Spooled(world.manifest.collection, report.encode()) for report in reports]


def spool(directory: Path, blocks: Sequence[Sequence[Spooled]]) -> Path:
    """A directory of these blocks."""
    directory.mkdir(exist_ok=True)
    for block in blocks:
        write_block(directory, block)
    return directory


def mixed(world: World, count: int) -> list[Report]:
    """Reports of every payload there is, in two epochs."""
    today = world.header().epoch
    return [
        world.report(world.header(epoch=today - number % 2), payload=bytes([number % 8 << 5]))
        for number in range(count)
    ]


def tally(service: Service, directory: Path, engine: Engine, *, job: str = "tally") -> Summary:
    """A job that nobody watches."""
    return tally_spool(service, directory, engine, job=job, watch=quiet)


def quiet(done: int, total: int) -> None:
    """Nobody watches."""


def cells(service: Service, collection: str) -> Cells:
    """(epoch, manifest version, cohort) → n and tally."""
    return {
        (row.cell.epoch, row.cell.manifest_version, row.cell.cohort): (row.n, row.tally.tolist())
        for row in service.store.tallies(collection, 0, 2**32 - 1)
    }


def here(work: Callable[[str], bytes], paths: Sequence[str]) -> Iterator[bytes]:
    """The engine without any other process."""
    return map(work, paths)
