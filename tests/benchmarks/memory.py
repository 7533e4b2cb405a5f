"""How large a device becomes that has uploaded, and the aggregator that has counted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.load import Load
from benchmarks.measure import Effort, Line
from benchmarks.results import Case, Result, Verdict, at_most
from benchmarks.server import HOST, PACKAGE_PARENT, Served
from benchmarks.worker import Plan
from benchmarks.world import Deployment, deployment
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.operations.service import Service
from deniable_aggregator.store.rows import AcceptedReport, TallyKey
from deniable_shared.wire import report

CHOICES = 65_536
UPLOADS = 20_000
BATCH = 100
FILL = 10_000
PROCESSES = 2
CONNECTIONS = 32
DRIVE_SECONDS = 20.0
ESTIMATES = 40
DEVICE_BUDGET_MB, AGGREGATOR_BUDGET_MB = 40.0, 200.0


def run(effort: Effort) -> Result:
    """One deployment, a device before it, then load and questions while its memory is watched."""
    with deployment() as made:
        choice = _register_choice(made, effort.sized(CHOICES, least=256))
        filled = _fill(made, choice, effort.ids)
        with made.serve() as server, Load(PROCESSES) as load:
            device = _device(made, server)
            aggregator = _aggregator(made, server, load, choice, effort)
    ids = f"{filled:,} ids on disk, d = {len(choice.manifest.domain.labels):,}"
    return Result(
        title="Memory",
        cases=(
            Case("device, resident memory in all", device[0]),
            Case(f"aggregator, resident memory of all its processes, {ids}", aggregator),
        ),
        verdicts=(
            at_most("client that has uploaded", DEVICE_BUDGET_MB, device[0][0], bound=DEVICE_BOUND),
            device[1],
            at_most(
                f"aggregator, {ids}", AGGREGATOR_BUDGET_MB, aggregator[0], bound=AGGREGATOR_BOUND
            ),
        ),
        remarks=(
            "Memory shared by granian's two processes is counted twice. The uploads come over "
            f"{CONNECTIONS} connections, so that every thread of the server has worked once; an "
            "estimate answers every label as JSON.",
        ),
    )


DEVICE_BOUND = "the HTTP library and the cryptography it seals with"
AGGREGATOR_BOUND = "libraries, SQLite's page cache, what each thread's allocator keeps"
LIBRARIES = """
import sys
from benchmarks.device import HIDDEN, resident_mb
sys.modules.update(dict.fromkeys(HIDDEN))
import httpcore
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric import ed25519
print(resident_mb())
"""


def _register_choice(made: Deployment, size: int) -> Collection:
    manifest = made.author.choice("wide", [f"c{number}" for number in range(size)])
    service = Service.open(made.settings)
    try:
        service.registry.apply(made.author.sign(manifest), audit=None)
        return service.registry.get("wide")
    finally:
        service.close()


def _fill(made: Deployment, choice: Collection, ids: int) -> int:
    """Count `ids` reports straight into the store, as its ingest would."""
    epoch = int(time.time()) // choice.manifest.epoch_seconds
    cell, size = TallyKey(choice.id, epoch, 1), choice.mechanism.payload_size
    domain = len(choice.manifest.domain.labels)
    service = Service.open(made.settings)
    try:
        for start in range(0, ids, FILL):
            payloads = ((i % domain).to_bytes(size, "big") for i in range(start, start + FILL))
            service.store.commit(
                [AcceptedReport(cell, os.urandom(16), payload) for payload in payloads],
                lambda _, rows: choice.estimator.tally(rows),
            )
    finally:
        service.close()
    return -(-ids // FILL) * FILL


def _device(made: Deployment, server: Served) -> tuple[tuple[Line, ...], Verdict]:
    with TemporaryDirectory() as directory:
        state = Path(directory) / "state"
        first = _live(made, server, state, upload=True)
        again = _live(made, server, state, upload=False)
    if first["accepted"] != 1:
        raise RuntimeError(f"the device's report was not accepted: {first}")
    lines = (
        _mb("deniable, after an upload", "ours", first["uploaded_mb"]),
        _mb("first start, after record()", "step", first["recorded_mb"]),
        _mb("second start, after record()", "step", again["recorded_mb"]),
        _mb("its two libraries alone", "limit", float(_python(["-c", LIBRARIES]))),
    )
    loaded = ", ".join(again["loaded"]) or "neither"
    verdict = Verdict(
        "a start with known manifests and record() load neither httpx nor cryptography",
        f"{loaded} loaded",
        0.5 ** len(again["loaded"]),
        "",
    )
    return lines, verdict


def _live(made: Deployment, server: Served, state: Path, *, upload: bool) -> dict[str, Any]:
    result = {
        "url": f"http://{HOST}:{server.port}",
        "trust": made.trust,
        "envelope": made.envelope.decode(),
        "state": str(state),
        "collection": "settings",
        "answer": dict.fromkeys(made.manifest.domain.labels, True),
        "upload": upload,
    }
    said: dict[str, Any] = json.loads(_python(["-m", "benchmarks.device"], json.dumps(result)))
    return said


def _python(arguments: list[str], document: str = "") -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        input=document,
        env={**os.environ, "PYTHONPATH": str(PACKAGE_PARENT)},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


def _aggregator(
    made: Deployment, server: Served, load: Load, choice: Collection, effort: Effort
) -> tuple[Line, ...]:
    uploads, asked = effort.sized(UPLOADS, least=BATCH * PROCESSES), effort.sized(ESTIMATES)
    load.prepare(2 * uploads, made.target)
    seen = [("after start and one report", server.rss_mb())]
    for part in ("first", "second"):
        sent = _upload(made, server, load, uploads)
        seen.append((f"after the {part} {sent:,} uploads", server.rss_mb()))
    for part in ("first", "second"):
        for _ in range(asked):
            _ask(made, server, choice)
        seen.append((f"after the {part} {asked} estimates of all labels", server.rss_mb()))
    steps = tuple(_mb(name, "step", value) for name, value in seen)
    peak = max(value for _, value in seen)
    return (_mb("deniable, the largest of these", "ours", peak), *steps)


def _upload(made: Deployment, server: Served, load: Load, uploads: int) -> int:
    headers = {
        "Content-Type": report.MEDIA_TYPE,
        "Authorization": f"Bearer {made.relay_token}",
    }
    plan = Plan(
        port=server.port,
        path=made.path,
        headers=headers,
        fresh=False,
        connections=CONNECTIONS,
        seconds=DRIVE_SECONDS,
        most=uploads // BATCH // PROCESSES,
    )
    outcome = load.drive(plan, batch=BATCH, spend="deniable")
    if set(outcome.statuses) != {200} or outcome.refused_bytes:
        raise RuntimeError(f"uploads were refused: {outcome.statuses}")
    return outcome.requests * BATCH


def _ask(made: Deployment, server: Served, choice: Collection) -> None:
    request = urllib.request.Request(
        f"http://{HOST}:{server.port}/v1/collections/{choice.id}/estimates",
        headers={"Authorization": f"Bearer {made.analyst_token}"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310  (loopback http)
        answer.read()


def _mb(name: str, role: str, value: float) -> Line:
    return Line(name, role, "MB", (value,))
