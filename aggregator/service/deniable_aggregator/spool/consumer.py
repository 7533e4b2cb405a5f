"""The consumer of a spool: it has the keys and counts the reports that the intake wrote.

It accepts no uploads. It counts blocks in random order, mixes their reports, and uses the same
ingest as uploads. A block is deleted after its reports are durable. If the process is killed in
between, the block is counted again, but each id counts once, also with two consumers. A missing
block was counted by another consumer.

The intake checked each report by its own clock, so a report is counted at the last moment when its
epoch accepted reports. The store notes until when a spool is counted, and no process on the same
store closes an epoch that ended later.
"""

from __future__ import annotations

import logging
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from typing import TYPE_CHECKING

from deniable_aggregator.base.roles import RELAY
from deniable_aggregator.collections.registry import UnknownCollection
from deniable_aggregator.spool.public_documents import PublicDocuments
from deniable_gateway.errors import SpoolError
from deniable_gateway.spool import notices
from deniable_gateway.spool.address import open_spool
from deniable_gateway.spool.block_files import blocks, read_block, record_count
from deniable_gateway.spool.relay_tokens import RelayToken, RelayTokens
from deniable_shared.errors import DecodeError
from deniable_shared.manifest.epochs import Clock, closes_at
from deniable_shared.wire.report import MAX_REPORTS, MAX_UPLOAD_BYTES, decode_upload

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from deniable_aggregator.operations.service import Service
    from deniable_gateway.spool.block_format import SpooledReport
    from deniable_gateway.spool.protocol import SpoolFile

MARGIN_SECONDS = 60.0
"""Seconds that the intake's clock may be behind this one, plus the time to spool a report."""

MOST_CLOSED = 400
"""Most recent epochs of a collection in the notices: older ones are closed by the clock."""

PARALLEL_BLOCKS = 16
"""Blocks that are read or deleted at a time: an object store is slow for each."""

_MOST_BYTES = 1 << 26

CollectionEpoch = tuple[str, int]
"""Collection and epoch."""

logger = logging.getLogger(__name__)
_random = secrets.SystemRandom()


class SpoolConsumer:
    """Drains one spool into one service."""

    def __init__(
        self,
        service: Service,
        address: str | Path,
        *,
        min_reports: int = 1_000,
        interval_seconds: float = 3_600.0,
        clock: Clock = time.time,
    ) -> None:
        """Drain once there are `min_reports` reports, and every `interval_seconds`."""
        self._service = service
        self._spool = open_spool(address)
        self._min_reports = min_reports
        self._interval_seconds = interval_seconds
        self._clock = clock
        service.store.set_spool_progress(
            self.where, 0
        )  # from now on an epoch waits for its reports in this spool

    @property
    def where(self) -> str:
        """The spool's address, without credentials."""
        return self._spool.where

    def run_once(self, *, at_once: bool = False) -> int:
        """Drain if due, run maintenance, write the notices; returns the number of drained reports.

        `at_once`: drain even if it is not due. Raises Problem("unavailable") while the clock is in
        doubt: with a wrong time of the spool, epochs would close too early.
        """
        self._require_database()
        self._service.require_clock()
        begun, drained = self._clock(), 0
        timely = at_once or self._is_time(begun)
        if timely or self._are_enough():
            drained = self._drain(blocks(self._spool))
        if timely:  # only then: closing must not depend on the number of reports
            self._service.store.set_spool_progress(self.where, begun - MARGIN_SECONDS)
            self._spool.sweep(begun)
        self._service.tick()
        self.publish()
        return drained

    def finish(self) -> int:
        """Drain all reports; afterwards epochs close without this spool. Returns their number."""
        self._require_database()
        self._service.require_clock()
        drained = self._drain(blocks(self._spool))
        self._service.store.remove_spool(self.where)
        self._service.tick()
        return drained

    def _require_database(self) -> None:
        """Raises Problem("unavailable") for a wrong database: the spool keeps its reports."""
        self._service.database.check()
        self._service.database.require()

    def publish(self) -> None:
        """Write the notices again."""
        notices.publish(
            self._spool,
            PublicDocuments(self._service).get,
            relays=self._relays(),
            closed=self._closed(),
        )

    def _closed(self) -> notices.Closed:
        store = self._service.store
        return frozenset(
            (collection.id, row.epoch)
            for collection in self._service.registry.all()
            for row in store.epochs(collection.id)[-MOST_CLOSED:]
            if row.closed_at is not None
        )

    def _relays(self) -> RelayTokens:
        service = self._service
        tokens = tuple(
            RelayToken(token.hash, token.expires, token.collections)
            for token in service.tokens.list()
            if token.role == RELAY and token.valid(self._clock())
        )
        return RelayTokens(relays_only=service.settings.relay_batch > 0, tokens=tokens)

    def _is_time(self, now: float) -> bool:
        counted = self._service.store.spool_progress().get(self.where, 0)
        return now >= counted + MARGIN_SECONDS + self._interval_seconds

    def _are_enough(self) -> bool:
        waiting = blocks(self._spool)
        return sum(record_count(self._spool, block.name) for block in waiting) >= self._min_reports

    def _drain(self, waiting: Sequence[SpoolFile]) -> int:
        shuffled, drained = list(waiting), 0
        _random.shuffle(shuffled)
        with ThreadPoolExecutor(PARALLEL_BLOCKS) as threads:
            for group in _groups(shuffled):
                reports = [each for block in threads.map(self._read, group) for each in block]
                _random.shuffle(reports)
                self._count(reports)
                list(threads.map(self._spool.remove, group))
                drained += len(reports)
        return drained

    def _read(self, name: str) -> list[tuple[CollectionEpoch, bytes]]:
        """Reports of a block, by collection and epoch; empty if another consumer has counted it.

        A damaged block is set aside and gives none.
        """
        try:
            return [(_keyed(record), record.report) for record in read_block(self._spool, name)]
        except FileNotFoundError:
            return []
        except (DecodeError, SpoolError) as error:
            logger.error("a block cannot be read and is set aside: %s", error)  # noqa: TRY400  (the error says all)
            self._spool.set_aside(name)
            return []

    def _count(self, reports: Sequence[tuple[CollectionEpoch, bytes]]) -> None:
        ordered = sorted(reports, key=_collection_epoch)  # stable: random order in an epoch stays
        for (collection, epoch), group in groupby(ordered, key=_collection_epoch):
            for body in _bodies([report for _, report in group]):
                try:
                    latest = self._latest_time(collection, epoch)
                    self._service.ingest.count(collection, body, now=latest)
                except UnknownCollection as error:
                    logger.error("spooled reports belong to no collection here: %s", error)  # noqa: TRY400  (the error says all)

    def _latest_time(self, collection: str, epoch: int) -> float:
        """Unix seconds of the last moment at which such reports were accepted."""
        newest = self._service.registry.get(collection).manifest
        return closes_at(epoch, newest.epoch_seconds, newest.grace_seconds)


def _collection_epoch(report: tuple[CollectionEpoch, bytes]) -> CollectionEpoch:
    return report[0]


def _keyed(record: SpooledReport) -> CollectionEpoch:
    [report] = decode_upload(record.report)
    return record.collection, report.header.epoch


def _groups(waiting: Sequence[SpoolFile]) -> Iterator[list[str]]:
    """Names of blocks of at most 64 MiB together, and at least one."""
    group: list[str] = []
    size = 0
    for block in waiting:
        if group and size + block.size > _MOST_BYTES:
            yield group
            group, size = [], 0
        group.append(block.name)
        size += block.size
    if group:
        yield group


def _bodies(reports: Sequence[bytes]) -> Iterator[bytes]:
    """Bodies with as many reports as one upload may have."""
    body: list[bytes] = []
    size = 0
    for report in reports:
        if body and (len(body) == MAX_REPORTS or size + len(report) > MAX_UPLOAD_BYTES):
            yield b"".join(body)
            body, size = [], 0
        body.append(report)
        size += len(report)
    if body:
        yield b"".join(body)
