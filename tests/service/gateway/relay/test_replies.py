"""Whoever answers a relay: only the aggregator's own reply settles a report."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deniable_gateway.relay.forwarder import Forwarder, UpstreamReply
from deniable_gateway.relay.queue import NAME, ReportQueue
from deniable_gateway.upload.mirror import Mirror
from deniable_gateway.upload.sealed_uploads import SealedReport
from deniable_shared.wire.problems import PROBLEM_MEDIA_TYPE, problem_document
from deniable_shared.wire.report import Report, ReportHeader
from support.builders import api_world
from support.builders.data_directory import Moment
from support.builders.relay_reports import sent
from support.builders.relay_world import BATCH, RelayWorld
from support.oracles.vectors import FOLDER

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

FILE: dict[str, Any] = json.loads((FOLDER / "replies.json").read_text())
MIRROR = Mirror(
    keys=b"",
    active=frozenset(),
    listed=frozenset(),
    log=[],
    log_head="",
    listing=b"",
    collections={},
    names={},
    envelopes={},
)
KEPT = {"keep", "drop-and-stop"}
"""A relay has checked what it forwards: a refused message says that one of the two is too old."""


@pytest.mark.slow
def test_a_reply_settles_a_report_only_as_the_vector_says(tmp_path: Path) -> None:
    settled, expected = {}, {}
    for number, case in enumerate(FILE["cases"]):
        queue = ReportQueue(tmp_path / f"{number}-{NAME}")
        header = ReportHeader(bytes.fromhex(FILE["report"]), 20_000, 1, 1)
        queue.accept([SealedReport("settings", Report(header, bytes(50)))])
        answering = partial(answered, reply_of(case))
        Forwarder(queue, answering, min_batch=1, clock=Moment()).run(MIRROR)
        name = case["name"]
        settled[name] = (queue.waiting(), queue.counts().get("forwarded", 0))
        kept = case["does"] in KEPT or name == "failed: too-early"
        expected[name] = (kept, case["does"] == "done")
        queue.close()
    assert settled == expected
    assert len(settled) == len(FILE["cases"])


def answered(reply: UpstreamReply, *request: object) -> UpstreamReply:
    """What an aggregator says, whatever it is sent."""
    return reply


def reply_of(case: dict[str, Any]) -> UpstreamReply:
    body = case["text"].encode() if "text" in case else bytes.fromhex(case["hex"])
    return UpstreamReply(case["status"], body, case["headers"])


def test_reports_of_a_collection_unknown_upstream_delay_no_others(
    relay: RelayWorld,
) -> None:
    lost, found = (relay.aggregator.register(api_world.authored(name)) for name in ("a", "b"))
    relay.renew()
    for each in (lost, found):
        sent(relay, each, BATCH)
    service = relay.wiretap.inner
    document = json.dumps(problem_document("unknown-collection", "no such collection")).encode()
    head = [("Content-Type", PROBLEM_MEDIA_TYPE), ("Content-Length", str(len(document)))]

    def emptied(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] != f"/v1/collections/{lost.id}/reports":
            return service(environ, start_response)
        start_response("404 Not Found", head)
        return [document]

    relay.wiretap.inner = emptied
    relay.tick()
    assert (relay.n(lost.id), relay.n(found.id), relay.running.queue.waiting()) == (0, BATCH, BATCH)
    relay.wiretap.inner = service
    relay.tick(1_000)
    assert (relay.n(lost.id), relay.running.queue.waiting()) == (BATCH, 0)
