"""Central releases: one candidate out of many, against the peers; many linear queries at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from benchmarks.measure import Contender, Effort, Line, race
from benchmarks.peer_selectors import SENSITIVITY, select_one
from benchmarks.results import Case, Result, Verdict, at_most, figure
from deniable_central import queries, selection
from deniable_central.samplers.noise import two_sided_geometric

EPSILON = "1"
LARGEST = 1_000_000
GOLDEN = 2654435761  # Knuth's multiplicative hash: scores without a generator
HIGHEST, SPIKE = 1000, 40
BUDGETS = {10: (50.0, "µs"), 1000: (60.0, "µs"), LARGEST: (4.0, "ms")}
PER_SECOND = {"µs": 1e6, "ms": 1e3}
DOMAIN, QUERIES, ROWS, SIZE = 8, 20, 2000, 12
DRAWN = 10_000
RELEASES = 20
Shares = np.ndarray
Answers = Callable[[], Shares]


def run(effort: Effort) -> Result:
    """Selection from three sizes and two shapes of scores; SmallDB, MWEM, an online session."""
    shapes = {"uniform": _uniform, "one spike": _spike}
    cases = [
        (limit, _selection(shape, make(effort.sized(size, least=10)), effort, unit))
        for size, (limit, unit) in BUDGETS.items()
        for shape, make in shapes.items()
    ]
    return Result(
        title="Central releases",
        cases=(*(case for _, case in cases), *_linear(effort)),
        verdicts=tuple(_verdict(limit, case) for limit, case in cases),
        remarks=(
            "A selection is one whole call from a vector of int64: the checks, the declaration, "
            "the draw, and for ours the guarantee and the error bar. Peers that want a list get "
            f"one, made beforehand. Uniform scores are spread over 0 to {HIGHEST:,}; the spike is "
            f"one candidate {SPIKE} above all the others.",
            "opendp draws candidates until one is accepted, so that a release takes longer the "
            "lonelier the best one is, by luck as well as by the scores; ours does the same work "
            "for all scores of one range.",
            f"Linear queries: {QUERIES} predicates over {DOMAIN} values, {ROWS:,} rows falling off "
            f"as 1/rank, ε = {EPSILON} for all answers; errors are the largest of all queries, "
            "means of some releases a round. No peer here has any of the three. A database of "
            f"{SIZE} rows has 50,388 candidates.",
            f"{QUERIES} queries are few, so noise on every answer is nearest; and for an online "
            f"session {ROWS:,} rows are too few to learn from: it answers from its first guess.",
        ),
    )


def _uniform(count: int) -> np.ndarray:
    scattered = (np.arange(count, dtype=np.uint64) * GOLDEN) % (1 << 32)
    return (scattered * (HIGHEST + 1) >> 32).astype(np.int64)


def _spike(count: int) -> np.ndarray:
    scores = np.zeros(count, dtype=np.int64)
    scores[count // 2] = SPIKE
    return scores


def _selection(shape: str, scores: np.ndarray, effort: Effort, unit: str) -> Case:
    def ours() -> object:
        return selection.exponential(scores, epsilon=EPSILON, sensitivity=SENSITIVITY)

    contenders = [
        Contender("deniable", "ours", ours, note="exact, operating system's entropy"),
        Contender("numpy max", "limit", scores.max, note="reading the scores once"),
        *(select_one(scores) if effort.peers else []),
    ]
    title = f"exponential mechanism, {len(scores):,} candidates, {shape}"
    return Case(title, race(contenders, effort, unit=unit, per_second=PER_SECOND[unit]))


def _verdict(limit: float, case: Case) -> Verdict:
    once = case.line("numpy max")
    bound = f"reading the scores once takes {figure(once.median)} {once.unit} of it"
    return at_most(case.title, limit, case.ours, bound=bound)


def _linear(effort: Effort) -> tuple[Case, Case]:
    """The same releases twice: what one takes, and how far off its answers are."""
    workload, counts = _workload(), _counts()
    releases = _releases(workload, counts)
    title = f"{QUERIES} linear queries, {DOMAIN} values, {ROWS:,} rows"
    contenders = [Contender(name, role, run, note=note) for name, role, run, note in releases]
    times = race(contenders, effort, unit="ms", per_second=1e3)
    truth = workload.values(counts.tally / ROWS)
    most = effort.sized(RELEASES)
    errors = tuple(
        _errors(name, role, run, truth, rounds=effort.rounds, releases=most)
        for name, role, run, _ in releases
    )
    return Case(f"{title}: time", times), Case(f"{title}: mean of the largest error", errors)


def _errors(
    name: str, role: str, run: Answers, truth: Shares, *, rounds: int, releases: int
) -> Line:
    values = [[float(np.abs(run() - truth).max()) for _ in range(releases)] for _ in range(rounds)]
    means = tuple(sum(round_) / releases for round_ in values)
    return Line(name, role, "of the rows", means, f"{releases} releases a round")


def _workload() -> queries.Workload:
    """Distinct predicates: an odd multiple of 1, 2, 3 …, modulo 2^8, as bits."""
    numbers = 37 * np.arange(1, QUERIES + 1) % (1 << DOMAIN)
    return queries.Workload(numbers[:, None] >> np.arange(DOMAIN) & 1)


def _counts() -> queries.Counts:
    weights = 1 / np.arange(1, DOMAIN + 1)
    counts = (ROWS * weights / weights.sum()).astype(np.int64)
    counts[0] += ROWS - counts.sum()
    return queries.Counts(counts)


def _releases(
    workload: queries.Workload, counts: queries.Counts
) -> Sequence[tuple[str, str, Answers, str]]:
    plan = queries.plan_online(queries.SessionDemand.of(counts, queries=QUERIES), epsilon=EPSILON)

    def every() -> Shares:
        release = queries.small_db(counts, workload, epsilon=EPSILON, size=SIZE)
        return workload.values(release.result.weights)

    def drawn() -> Shares:
        release = queries.small_db(counts, workload, epsilon=EPSILON, size=SIZE, candidates=DRAWN)
        return workload.values(release.result.weights)

    def mwem() -> Shares:
        return workload.values(queries.mwem(counts, workload, epsilon=EPSILON).result.weights)

    def online() -> Shares:
        session = queries.OnlineSession.open(counts, plan)
        return np.array([session.ask(query).share for query in workload.matrix])

    def noise() -> Shares:
        decay = Fraction(EPSILON) / QUERIES
        return (workload.matrix @ counts.tally + two_sided_geometric(decay, QUERIES)) / ROWS

    return (
        ("MWEM", "ours", mwem, "rounds chosen by its bound"),
        ("SmallDB, every candidate", "ours", every, f"{SIZE} rows"),
        ("SmallDB, public candidates", "ours", drawn, f"{DRAWN:,} of them"),
        ("online session", "ours", online, "private multiplicative weights, all queries asked"),
        ("noise on every answer", "limit", noise, f"ε/{QUERIES} each; geometric, ours"),
    )
