"""What slow, idle and many connections of one network cost devices of another.

50 devices of another loopback network send at a fixed rate, and a probe asks /healthz. A table has
one line for each attack: accepted uploads, the probe, memory, how soon all was well again.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.attackers import HOST, KINDS, head
from benchmarks.measure import Effort, Line
from benchmarks.results import Case, Grid, Result, Verdict, at_most, figure
from benchmarks.server import Served
from benchmarks.worker import seal
from benchmarks.world import Deployment, deployment
from deniable_shared.wire.report import MEDIA_TYPE

DEVICES, PER_SECOND = 50, 150
NETWORK, PROBE = "127.0.9.1", "127.0.8.1"
TIME_OUT = 10.0
SECONDS, CONNECTIONS = 60.0, (45, 500, 2000)
TITLE = "Attackers of one network"
BOUND = "attacker, devices, probe and server share the machine's cores"
COLUMNS = (
    *("attack, connections", "accepted", "cut / refused", "p50 / most ms"),
    *("probes over 100 ms", "most ms", "memory, MB", "well again, s"),
)
PROBE_SECONDS = 0.1
RECOVERY_SECONDS = 8.0
WELL = 0.1


def run(effort: Effort) -> Result:
    """Each kind of attack over each number of connections; one kind alone for a short look."""
    seconds = max(0.5, SECONDS * effort.scale)
    numbers, kinds = (
        (CONNECTIONS, tuple(KINDS)) if effort.scale == 1 else (CONNECTIONS[:1], tuple(KINDS)[:1])
    )
    attacks = [(), *((kind, str(number)) for kind in kinds for number in numbers)]
    with deployment() as made, made.serve() as served:
        served.keep_to_first_core()
        wanted = int(len(attacks) * (seconds * PER_SECOND * 1.2 + 200))
        bodies = iter(seal(wanted, made.target))
        outcomes = [measured(made, served, bodies, attack, seconds) for attack in attacks]
    return _result(outcomes, seconds)


def _result(outcomes: Sequence[Outcome], seconds: float) -> Result:
    quiet, *attacked = outcomes
    accepted = min(100 * each.seen.taken / quiet.seen.taken for each in attacked)
    share = Line("uploads of honest devices, of those without an attack", "ours", "%", (accepted,))
    slowest = _worst("slowest answer of /healthz", "ms", [each.slowest_ms for each in outcomes])
    memory = _worst("memory of the aggregator", "MB", [each.memory_mb for each in outcomes])
    recovery_ = _worst(
        "seconds until well again", "s", [each.recovery_seconds for each in outcomes]
    )
    return Result(
        TITLE,
        (Case("the worst of all attacks", (share, slowest, memory, recovery_)),),
        (
            Verdict(
                "attacks: honest uploads accepted", f"{accepted:.1f} of 95 %", accepted / 95, BOUND
            ),
            at_most("attacks: slowest answer of /healthz", 100, slowest, bound=BOUND),
            at_most("attacks: seconds until well again", 2, recovery_, bound=BOUND),
        ),
        (
            f"Each attack lasts {figure(seconds)} s. One process on one core attacks from another "
            f"network than the {DEVICES} devices, which send {PER_SECOND} uploads a second "
            "together, each on a connection of its own. The server keeps to another core.",
        ),
        (Grid("each attack", COLUMNS, tuple(each.row() for each in outcomes)),),
    )


def _worst(name: str, unit: str, values: Sequence[float]) -> Line:
    return Line(name, "ours", unit, (max(values),))


@dataclass
class Seen:
    """What devices and the probe saw."""

    sent: int = 0
    taken: int = 0
    cut: int = 0
    refused: int = 0
    uploads: list[float] = field(default_factory=list)
    probes: list[float] = field(default_factory=list)


async def asked(port: int, source: str, data: bytes) -> int:
    """The status of one request on a connection of its own; 0 where it was cut."""
    reader, writer = await asyncio.open_connection(HOST, port, local_addr=(source, 0))
    try:
        writer.write(data)
        answer = await reader.read(4_096)
    finally:
        writer.close()
    return int(answer[9:12]) if len(answer) > 12 else 0


async def timed(port: int, source: str, data: bytes) -> tuple[int, float]:
    """Its status and how long it took; 0 and the time-out where there was no answer."""
    begun, status = time.perf_counter(), 0
    with suppress(OSError, TimeoutError):
        status = await asyncio.wait_for(asked(port, source, data), TIME_OUT)
    return status, (time.perf_counter() - begun) if status else TIME_OUT


async def devices(made: Deployment, bodies: Iterator[bytes], seen: Seen, until: float) -> None:
    """Each device sends at its own moments of every period."""

    async def device(number: int) -> None:
        period = DEVICES / PER_SECOND
        await asyncio.sleep(period * number / DEVICES)
        while time.monotonic() < until:
            next_at = time.monotonic() + period
            body = next(bodies)
            data = head(made.path, MEDIA_TYPE, len(body)) + body
            seen.sent += 1
            status, seconds = await timed(made.settings.port, NETWORK, data)
            seen.taken += status == 200
            seen.cut += status == 0
            seen.refused += status not in (0, 200)
            seen.uploads.append(seconds)
            await asyncio.sleep(max(0.0, next_at - time.monotonic()))

    await asyncio.gather(*(device(number) for number in range(DEVICES)))


async def probe(port: int, seen: Seen, until: float) -> None:
    while time.monotonic() < until:
        seen.probes.append(
            (await timed(port, PROBE, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"))[1]
        )
        await asyncio.sleep(PROBE_SECONDS)


async def recovery(made: Deployment, bodies: Iterator[bytes]) -> float:
    """Seconds until an upload is taken within a tenth of one."""
    begun = time.monotonic()
    while time.monotonic() < begun + RECOVERY_SECONDS:
        body = next(bodies)
        data = head(made.path, MEDIA_TYPE, len(body)) + body
        status, seconds = await timed(made.settings.port, NETWORK, data)
        if status == 200 and seconds < WELL:
            break
    return time.monotonic() - begun


@dataclass(frozen=True, slots=True)
class Outcome:
    """One line of the table."""

    attack: tuple[str, ...]
    seen: Seen
    memory_mb: float
    recovery_seconds: float

    @property
    def slowest_ms(self) -> float:
        """The slowest answer of the probe."""
        return max(self.seen.probes) * 1e3

    def row(self) -> tuple[str, ...]:
        seen, uploads = self.seen, sorted(self.seen.uploads)
        late = sum(each > WELL for each in seen.probes)
        return (
            " ".join(self.attack) or "none",
            f"{seen.taken} of {seen.sent}",
            f"{seen.cut} / {seen.refused}",
            f"{uploads[len(uploads) // 2] * 1e3:.0f} / {uploads[-1] * 1e3:.0f}",
            f"{late} of {len(seen.probes)}",
            f"{self.slowest_ms:.0f}",
            f"{self.memory_mb:.0f}",
            f"{self.recovery_seconds:.1f}",
        )


def measured(
    made: Deployment,
    served: Served,
    bodies: Iterator[bytes],
    attack: tuple[str, ...],
    seconds: float,
) -> Outcome:
    seen = Seen()
    attacker = _attacker(made, attack, seconds) if attack else None
    memory = asyncio.run(_watched(made, served, bodies, seen, time.monotonic() + seconds))
    if attacker is not None:
        attacker.wait()
    return Outcome(attack, seen, memory, asyncio.run(recovery(made, bodies)))


async def _watched(
    made: Deployment, served: Served, bodies: Iterator[bytes], seen: Seen, until: float
) -> float:
    """Devices and the probe until then; the most memory that was seen, in MB."""
    most = 0.0

    async def watch() -> None:
        nonlocal most
        while time.monotonic() < until:
            most = max(most, served.rss_mb())
            await asyncio.sleep(0.5)

    await asyncio.gather(
        devices(made, bodies, seen, until), probe(made.settings.port, seen, until), watch()
    )
    return most


def _attacker(made: Deployment, attack: Sequence[str], seconds: float) -> subprocess.Popen[bytes]:
    kind, connections = attack
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "benchmarks.attackers", kind, connections),
            *(str(made.settings.port), made.path, str(seconds)),
        ],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        stderr=subprocess.DEVNULL,
    )
