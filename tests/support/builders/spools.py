"""Spools of sealed reports, and what a store counted of them."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.keys import initialise, read_seed
from deniable_aggregator.operations.service import Service
from deniable_aggregator.spool.job import Engine, TallySummary, tally_spool
from deniable_gateway.spool import SpooledReport, open_spool, write_block
from deniable_shared.manifest.model import Manifest
from deniable_shared.wire.report import Extension, Report, ReportHeader
from support.builders.service_world import DAY, TODAY, TOML, Moment, World, authored

__all__ = [
    "REPORTS",
    "Cells",
    "Prepared",
    "cells",
    "expected_of",
    "fill",
    "here",
    "mixed",
    "prepare",
    "quiet",
    "spool",
    "spooled",
    "tally",
]

REAL = TOML.replace("2027-01-01", "2026-01-01").replace("2027-02-01", "2099-01-01")
EXTENDED = (Extension(1, b""), Extension(2, bytes(8)))
REPORTS = [
    SpooledReport("settings-aaaaaa", Report(ReportHeader(bytes(16), 1, 1, 1), b"\x01").encode()),
    SpooledReport(
        "b", Report(ReportHeader(b"\xff" * 16, 2**32 - 1, 2**16 - 1, 255, EXTENDED), b"2").encode()
    ),
]
"""The least and the most that a header can say."""

Cells = dict[tuple[int, int, int], tuple[int, list[int]]]


def spooled(world: World, reports: Iterable[Report]) -> list[SpooledReport]:
    """Return the records as the ingest would spool them."""
    return [SpooledReport(world.manifest.collection, report.encode()) for report in reports]


def spool(directory: Path, blocks: Sequence[Sequence[SpooledReport]]) -> Path:
    """A directory of these blocks."""
    directory.mkdir(exist_ok=True)
    fill(directory, blocks)
    return directory


def fill(
    address: str | Path, blocks: Sequence[Sequence[SpooledReport]], format: str = "block"
) -> None:
    """Put these blocks there."""
    for block in blocks:
        write_block(open_spool(address), block, block_format=format)


def mixed(world: World, count: int, today: int = TODAY) -> list[Report]:
    """Reports of every possible payload, of today and the day before: see `expected_of`."""
    return [
        world.report(world.header(epoch=today - number % 2), payload=bytes([number % 8 << 5]))
        for number in range(count)
    ]


def expected_of(count: int, today: int = TODAY) -> Cells:
    """The sums of `mixed`."""
    actual: Cells = {}
    for day in range(2):
        payloads = [number % 8 << 5 for number in range(day, count, 2)]
        bits = [sum(p >> 7 - bit & 1 for p in payloads) for bit in range(3)]
        actual[today - day, 1, 0] = (len(payloads), bits)
    return actual


@dataclass(frozen=True)
class Prepared:
    """A data directory and a spool for real processes, by the real clock."""

    settings: Settings
    manifest: Manifest
    spool: Path
    reports: int
    today: int

    def counted(self) -> Cells:
        """The contents of its store."""
        service = Service.open(self.settings)
        try:
            return cells(service, self.manifest.collection)
        finally:
            service.close()

    def expected(self) -> Cells:
        """The contents that it must have in the end."""
        return expected_of(self.reports, self.today)

    def blocks_done(self) -> int:
        """How many blocks were counted, seen from outside."""
        with closing(sqlite3.connect(self.settings.database)) as db:
            [[n]] = db.execute("select count(*) from counted_blocks").fetchall()
        return int(n)


def prepare(folder: Path, reports: int, blocks: int, store: str = "") -> Prepared:
    """So many reports in so many blocks."""
    settings = Settings(data=folder / "data", store=store)
    seed_file, now = folder / "operator.key", time.time()
    initialise(settings, operator_key=seed_file, now=now)
    manifest = authored(REAL)
    today = int(now) // DAY
    service = Service.open(settings)
    try:
        world = World(service, Moment(now), read_seed(seed_file), manifest)
        service.registry.apply(world.signed(manifest), audit=None)
        records = spooled(world, mixed(world, reports, today))
    finally:
        service.close()
    made = spool(folder / "spool", [records[at::blocks] for at in range(blocks)])
    return Prepared(settings, manifest, made, reports, today)


def tally(
    service: Service, spool: str | Path, engine: Engine, *, job: str = "tally"
) -> TallySummary:
    """A job without a watcher."""
    return tally_spool(service, spool, engine, job=job, progress=quiet)


def quiet(done: int, total: int) -> None:
    """No watcher."""


def cells(service: Service, collection: str) -> Cells:
    """(epoch, manifest version, cohort) → n and tally."""
    return {
        (row.key.epoch, row.key.manifest_version, row.key.cohort): (row.n, row.tally.tolist())
        for row in service.store.tallies(collection, 0, 2**32 - 1)
    }


def here(work: Callable[[str], bytes], paths: Sequence[str]) -> Iterator[bytes]:
    """The engine without any other process."""
    return map(work, paths)
