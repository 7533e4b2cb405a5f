"""Whoever answers a relay: only the aggregator's own reply settles a report."""

from __future__ import annotations

import json
from collections.abc import Iterable
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


@pytest.mark.parametrize("case", [pytest.param(c, id=c["name"]) for c in FILE["cases"]])
def test_a_reply_settles_a_report_only_as_the_vector_says(
    case: dict[str, Any], tmp_path: Path
) -> None:
    body = case["text"].encode() if "text" in case else bytes.fromhex(case["hex"])
    answer = UpstreamReply(case["status"], body, case["headers"])
    queue = ReportQueue(tmp_path / NAME)
    header = ReportHeader(bytes.fromhex(FILE["report"]), 20_000, 1, 1)
    queue.accept([SealedReport("settings", Report(header, bytes(50)))])
    Forwarder(queue, lambda *_: answer, min_batch=1, clock=Moment()).run(MIRROR)
    kept = case["does"] in KEPT or case["name"] == "failed: too-early"
    assert queue.waiting() == kept
    assert queue.counts().get("forwarded", 0) == (case["does"] == "done")
    queue.close()


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
