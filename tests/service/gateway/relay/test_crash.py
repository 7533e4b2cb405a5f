"""A relay killed between any two statements: nothing is lost, nothing below B is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from deniable_gateway.relay.forwarder import Forwarder, UpstreamReply
from deniable_gateway.relay.queue import NAME, ReportQueue
from deniable_gateway.upload.gate import Arrival, Sender
from deniable_gateway.upload.mirror import Mirror, MirroredCollection
from deniable_gateway.upload.sealed_uploads import SealedUploads, UploadLimits
from deniable_shared.manifest.model import Manifest
from deniable_shared.wire.report import (
    ERRORS_MEDIA_TYPE,
    Report,
    ReportHeader,
    decode_upload,
    encode_upload,
)
from support.builders import service_world
from support.builders.data_directory import TODAY, Moment
from support.doubles.statement_crashes import Killed, Killer, killed_before

pytestmark = pytest.mark.slow

BATCH = 3
MANIFEST: Manifest = service_world.authored()
ID = MANIFEST.collection
MIRROR = Mirror(
    keys=b"",
    active=frozenset({1}),
    listed=frozenset({1}),
    log=[],
    log_head="",
    listing=b"",
    collections={ID: MirroredCollection({1: MANIFEST}, open=True)},
    names={},
    envelopes={},
)
REPORTS = [Report(ReportHeader(bytes([n] * 16), TODAY, 1, 1), bytes([n] * 50)) for n in range(1, 6)]


class Aggregator:
    """Counts an id once, and remembers what each request held."""

    def __init__(self) -> None:
        self.requests: list[set[bytes]] = []
        self.counted: dict[bytes, Report] = {}

    def post(self, collection: str, body: bytes) -> UpstreamReply:
        reports = decode_upload(body)
        self.requests.append({report.header.report_id for report in reports})
        for report in reports:
            self.counted.setdefault(report.header.report_id, report)
        return UpstreamReply(200, b"", {"content-type": ERRORS_MEDIA_TYPE, "content-length": "0"})


class Rig:
    """A relay's parts over one file."""

    def __init__(self, path: Path, aggregator: Aggregator) -> None:
        clock = Moment()
        self.acknowledged: list[Report] = []
        self.queue = ReportQueue(path)
        self.intake = SealedUploads(self.queue.accept, limits=UploadLimits(10_000), clock=clock)
        self.intake.mirror = MIRROR
        self.forwarder = Forwarder(self.queue, aggregator.post, min_batch=BATCH, clock=clock)

    def take(self, *reports: Report) -> None:
        for report in reports:
            assert self.intake.take([Arrival(ID, encode_upload([report]), Sender())]) == [[]]
            self.acknowledged.append(report)

    def run(self) -> None:
        self.forwarder.run(MIRROR)


def lives(rig: Rig) -> None:
    """A relay's life: too few, a batch, some more, another batch."""
    rig.take(*REPORTS[:2])
    rig.run()
    rig.take(REPORTS[2])
    rig.run()
    rig.take(REPORTS[0], *REPORTS[3:])
    rig.run()


def kills(folder: Path, life: Callable[[Rig], None]) -> Iterator[tuple[Path, Rig, Aggregator]]:
    """The file a kill before each statement leaves, who was killed, and what had been sent."""
    for at in count():
        source = folder / f"{at}" / NAME
        source.parent.mkdir()
        aggregator = Aggregator()
        killer = Killer(at, source, folder / f"{at}" / "grave")
        made: list[Rig] = []
        with killed_before(killer):
            try:
                made.append(Rig(source, aggregator))
                life(made[0])
            except Killed:
                pass
        if not killer.dead:
            assert at > 20
            return
        if made:
            yield killer.grave / NAME, made[0], aggregator


def test_after_any_kill_all_acknowledged_reports_exist_or_were_sent(
    tmp_path: Path,
) -> None:
    for grave, rig, aggregator in kills(tmp_path, lives):
        kept = {bytes(id) for (id,) in ReportQueue(grave)._read("select id from reports")}
        acknowledged = {report.header.report_id for report in rig.acknowledged}
        assert acknowledged <= kept
        assert set().union(*aggregator.requests, set()) <= kept


def test_after_any_kill_the_next_relay_finishes_and_each_counts_once(
    tmp_path: Path,
) -> None:
    for grave, _rig, aggregator in kills(tmp_path, lives):
        again = Rig(grave, aggregator)
        again.run()
        again.take(*REPORTS)  # every device that heard nothing tries again; so does one that did
        again.run()
        complete = {report.header.report_id: report for report in REPORTS}
        waiting = again.queue.waiting()
        assert all(complete[id] == report for id, report in aggregator.counted.items())
        assert len(aggregator.counted) + waiting == len(REPORTS)
        assert waiting < BATCH
        again.queue.close()


def test_after_any_kill_no_request_has_fewer_new_reports_than_a_batch(
    tmp_path: Path,
) -> None:
    for grave, _rig, aggregator in kills(tmp_path, lives):
        again = Rig(grave, aggregator)
        again.run()
        again.take(*REPORTS)
        again.run()
        known: set[bytes] = set()
        for request in aggregator.requests:
            new = request - known
            assert len(new) >= BATCH or not new  # the same batch once more, never a rest
            assert not new or new == request
            known |= request
        again.queue.close()


def test_counts_of_a_life_without_kills_add_up(tmp_path: Path) -> None:
    rig = Rig(tmp_path / NAME, Aggregator())
    lives(rig)
    counts = rig.queue.counts()
    assert counts == {"accepted": 5, "forwarded": 3}
    assert rig.queue.waiting() == 2
    rig.queue.close()
