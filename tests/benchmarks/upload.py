"""A sealed report from socket to durable tally, compared with empty requests to the same server."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

from benchmarks.load import Load, Outcome
from benchmarks.measure import Effort, Line
from benchmarks.plain import PLACE
from benchmarks.results import Case, Result, Verdict, at_least_share, figure
from benchmarks.server import Served
from benchmarks.stores import on_postgres, postgres
from benchmarks.worker import Plan
from benchmarks.world import Deployment, deployment
from deniable_shared.wire import envelope, report

PROCESSES = 2
CONNECTIONS = 32
RELAY_CONNECTIONS = 8
BATCH = 100
SECONDS = 1.5
ROUNDS = 5
LEAST_SCALE = 0.02
WARM_UP = 0.2
MOST_PER_SECOND = {1: 6_000, BATCH: 40_000}  # what is sealed ahead; a faster server ends early
OPENED = 200
SINGLE_SHARE, RELAY_SHARE = 0.35, 0.7
LINEAR = 0.8
OURS, EMPTY, ALONE = "deniable", "empty Flask POST", "empty Flask POST, one thread"
PLAIN = "plain Flask + SQLite, an insert a request"
WORKERS = (1, 2, 4)
BARE, OPEN = "empty bare ASGI", "HPKE open alone"
FLASK = "benchmarks.empty:flask"
THREADS = 40
"""As many as `deniable serve` had before its event loop."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One slice of load: requests a second, latencies, the server's processor time a request."""

    outcome: Outcome
    cpu_us: float


@dataclass(frozen=True, slots=True)
class Model:
    """How requests arrive."""

    title: str
    fresh: bool
    connections: int
    batch: int


MODELS = (
    Model("one report a request, a fresh connection each", True, CONNECTIONS, 1),
    Model("one report a request, keep-alive", False, CONNECTIONS, 1),
    Model(f"relay, {BATCH} reports a request, keep-alive", False, RELAY_CONNECTIONS, BATCH),
)
KEEP_ALIVE = MODELS[1]
Taken = dict[tuple[str, str], list[Sample]]


def shared(workers: int) -> str:
    """The name of the product over PostgreSQL."""
    return f"deniable, PostgreSQL, {workers} worker{'s' if workers > 1 else ''}"


SHARED = {shared(workers): workers for workers in WORKERS}
KEEPING = (OURS, *SHARED)
ROLES = dict.fromkeys(KEEPING, "ours") | {PLAIN: "peer"}


def run(effort: Effort) -> Result:
    """Start the servers, seal, then let them take turns; the first turn only warms up."""
    rounds = max(1, min(effort.rounds, ROUNDS))
    seconds = SECONDS * max(effort.scale, LEAST_SCALE)
    with ExitStack() as stack:
        made = stack.enter_context(deployment())
        load = stack.enter_context(Load(PROCESSES))
        database = stack.enter_context(postgres())
        plain = str(made.settings.data.with_name("plain.db"))
        servers = {
            name: stack.enter_context(on_postgres(made, database, workers=workers).serve())
            for name, workers in SHARED.items()
        }
        servers |= {
            PLAIN: stack.enter_context(
                made.serve_limit("benchmarks.plain:flask", threads=THREADS, **{PLACE: plain})
            ),
            EMPTY: stack.enter_context(made.serve_limit(FLASK, threads=THREADS)),
            ALONE: stack.enter_context(made.serve_limit(FLASK, threads=1)),
            BARE: stack.enter_context(made.serve_limit("benchmarks.empty:bare")),
            OURS: stack.enter_context(made.serve()),
        }
        for server in servers.values():
            server.wait()
        load.prepare(_needed(rounds * seconds * (1 + WARM_UP), rounds + 1), made.target)
        _turns(made, servers, load, rounds=1, seconds=seconds * WARM_UP)
        samples, opened = _turns(made, servers, load, rounds=rounds, seconds=seconds)
    return _result(samples, tuple(opened))


def _needed(seconds: float, turns: int) -> int:
    """Reports that last: what the server could take in this time, and what the slices end with."""
    taken = sum(MOST_PER_SECOND[model.batch] for model in MODELS) * seconds
    return int(taken) + turns * sum(model.connections * model.batch for model in MODELS)


def _turns(
    made: Deployment, servers: dict[str, Served], load: Load, *, rounds: int, seconds: float
) -> tuple[Taken, list[float]]:
    samples: Taken = defaultdict(list)
    opened: list[float] = []
    open_alone = _opener()
    for _ in range(rounds):
        for model in MODELS:
            for name, server in _racing(model, servers):
                spend = name if name in KEEPING else ""
                sample = measured(made, load, spend, server, model, seconds, SHARED.get(name, 1))
                samples[model.title, name].append(sample)
        opened.append(open_alone(seconds / 3))
    return samples, opened


def _racing(model: Model, servers: dict[str, Served]) -> Iterator[tuple[str, Served]]:
    """The requests of a model: an empty request in place of a hundred reports proves nothing."""
    for name, server in servers.items():
        kept = model.batch == 1 and not model.fresh
        if name == OURS or kept or (name in (EMPTY, ALONE, BARE) and model.batch == 1):
            yield name, server


def measured(
    made: Deployment,
    load: Load,
    spend: str,
    server: Served,
    model: Model,
    seconds: float,
    workers: int = 1,
) -> Sample:
    """One slice; RuntimeError unless every request was answered 200 and no report refused."""
    plan = _plan(made, server, model, seconds, workers)
    sample = _slice(load, server, plan, model.batch, spend=spend)
    _check(spend, sample.outcome)
    return sample


def _plan(made: Deployment, server: Served, model: Model, seconds: float, workers: int = 1) -> Plan:
    """Every worker has as many connections as one."""
    headers = {"Content-Type": report.MEDIA_TYPE}
    if model.batch > 1:
        headers["Authorization"] = f"Bearer {made.relay_token}"
    return Plan(server.port, made.path, headers, model.fresh, model.connections * workers, seconds)


def _slice(load: Load, server: Served, plan: Plan, batch: int, *, spend: str) -> Sample:
    before = server.cpu_seconds()
    outcome = load.drive(plan, batch=batch, spend=spend)
    spent = server.cpu_seconds() - before
    return Sample(outcome, spent / max(1, outcome.requests) * 1e6)


def _check(name: str, outcome: Outcome) -> None:
    """A figure counts only if every request was answered 200 and no report was refused."""
    if set(outcome.statuses) != {200} or (name and outcome.refused_bytes):
        raise RuntimeError(
            f"{name}: statuses {outcome.statuses}, {outcome.refused_bytes} bytes of refused reports"
        )


def _opener() -> Callable[[float], float]:
    """Opens a fixed set of envelopes for some seconds on one core; returns opens a second."""
    private, public = envelope.generate()
    opener, pairs = envelope.Opener(private), []
    for number in range(OPENED):
        header = report.ReportHeader(number.to_bytes(16, "big"), 20_000, 1, 1)
        info = report.seal_info("settings-abcdef", bytes(32), header)
        plaintext = report.Plaintext(b"\0").encode(report.padded_size(1))
        pairs.append((envelope.seal(plaintext, public_key=public, info=info), info))

    def open_alone(seconds: float) -> float:
        started, done = time.perf_counter(), 0
        while (elapsed := time.perf_counter() - started) < seconds:
            for sealed, info in pairs:
                opener.open(sealed, info=info)
            done += len(pairs)
        return done / elapsed

    return open_alone


def _result(samples: Taken, opened: tuple[float, ...]) -> Result:
    opening = Line(OPEN, "limit", "reports/s", opened, "one core, no HTTP", True)
    fresh, kept, relay = (_case(model, samples) for model in MODELS)
    relay = Case(relay.title, (*relay.lines, opening))
    bounds = [_bound(samples[model.title, OURS], model, opening) for model in MODELS]
    return Result(
        title="Upload",
        cases=(fresh, kept, relay),
        verdicts=(
            _share(fresh, "a fresh connection each", bounds[0]),
            _share(kept, "keep-alive", bounds[1]),
            at_least_share(
                f"two workers on PostgreSQL ≥ {LINEAR} × twice one",
                2 * LINEAR,
                kept.line(shared(2)),
                kept.line(shared(1)),
                bound="the load, the database and the workers share the machine's cores",
            ),
            at_least_share(
                f"sealed upload, {BATCH} a request ≥ {RELAY_SHARE} × {OPEN}",
                RELAY_SHARE,
                relay.ours,
                opening,
                bound=bounds[2],
            ),
        ),
        remarks=(
            f"{PROCESSES} load processes hold {CONNECTIONS} connections ({RELAY_CONNECTIONS} for "
            "the relay) in a closed loop; every report is sealed before, sent once, and answered "
            "200 only after a durable commit. The empty servers run with the very same granian "
            "options. Latencies are those of a saturated server.",
            f"Over PostgreSQL every worker has {CONNECTIONS} connections; its server runs on the "
            "same cores, with fsync, and its processor time is not in the figure.",
            "The bare line is what the product's server gives an application that answers nothing.",
            f"With {THREADS} threads an empty Flask server loses up to half its speed to their "
            "struggle for the interpreter; one thread is the steadier yardstick.",
        ),
    )


def _bound(taken: list[Sample], model: Model, opening: Line) -> str:
    cpu = median(sample.cpu_us for sample in taken) / model.batch
    hpke = 1e6 / opening.median
    return f"{cpu:,.0f} µs of server processor time a report, {hpke:.0f} of it HPKE under the GIL"


def _share(case: Case, connections: str, bound: str) -> Verdict:
    title = f"sealed upload, one a request, {connections} ≥ {SINGLE_SHARE} × {EMPTY}"
    return at_least_share(title, SINGLE_SHARE, case.ours, case.line(EMPTY), bound=bound)


def _case(model: Model, samples: Taken) -> Case:
    unit = "reports/s" if model.batch > 1 else "requests/s"
    lines = []
    for name in (*KEEPING, PLAIN, EMPTY, ALONE, BARE):
        role = ROLES.get(name, "limit")
        if not (taken := samples[model.title, name]):
            continue
        values = tuple(sample.outcome.per_second * model.batch for sample in taken)
        lines.append(Line(name, role, unit, values, note(taken), higher_is_better=True))
    return Case(model.title, tuple(lines))


def note(taken: list[Sample]) -> str:
    """Latencies and processor time of the middle slice."""
    middle = sorted(taken, key=lambda sample: sample.outcome.per_second)[len(taken) // 2]
    outcome = middle.outcome
    return (
        f"p50 {figure(outcome.p50_ms)} ms, p99 {figure(outcome.p99_ms)} ms, "
        f"server CPU {figure(middle.cpu_us)} µs a request"
    )
