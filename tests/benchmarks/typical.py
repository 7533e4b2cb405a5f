"""Central releases: the error really seen, the bound that holds for all data, the typical error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.measure import Effort, Line
from benchmarks.results import Case, Grid, Result, Verdict
from deniable_aggregator.releases.kinds import prepare
from deniable_aggregator.releases.kinds.contract import ReleaseContext, Tallies, TallyPart
from deniable_central.accounting import Installation
from deniable_estimators.simulation import generator, simulated_tally
from deniable_shared import mechanisms
from deniable_shared.domains import Choice

SETTINGS = ((5, 500, "1"), (5, 3_000, "2"), (20, 20_000, "1"), (20, 200_000, "1"))
"""Labels, reports, ε of the devices."""
MWEM: Mapping[str, object] = {"workload": "prefixes", "epsilon": "2"}
FACTOR = 1.5
REQUESTS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "mwem, prefixes, 2": ("mwem", MWEM),
    "queries, 0.5": ("queries", {"epsilon": "0.5"}),
    "queries, 2": ("queries", {"epsilon": "2"}),
    "exponential, mode, 1": ("exponential", {"epsilon": "1"}),
    "exponential, quantile, 1": ("exponential", {"epsilon": "1", "score": "quantile"}),
    "noisy-max, mode, 1": ("noisy-max", {"epsilon": "1"}),
    "top-k, 3, 1": ("top-k", {"epsilon": "1", "k": 3}),
}
SHAPES: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "even": lambda rank: np.ones(len(rank)),
    "linear": lambda rank: rank[::-1],
    "1/rank": lambda rank: 1 / rank,
    "1/rank, backwards": lambda rank: 1 / rank[::-1],
    "halves": lambda rank: 0.5**rank,
    "two equal": lambda rank: np.where(rank <= 2, 1.0, 0.01),
}
COLUMNS = ("bound", "typical p95", "typical median")
RUNS, ASKED = 60, 40


def run(effort: Effort) -> Result:
    """Every request over every setting and shape, and how far the typical errors were passed."""
    runs, grids, ratios = effort.sized(RUNS, least=5), [], []
    for setting in SETTINGS:
        grid, passed = _grid(*setting, runs)
        grids.append(grid)
        ratios += passed
    line = Line("deniable", "ours", "of the typical p95", tuple(ratios), "each request and shape")
    return Result(
        title="Typical errors of releases",
        cases=(Case("95% quantile of the error seen", (line,)),),
        verdicts=(
            Verdict(
                f"errors seen ≤ {FACTOR} × the typical p95 in {len(ratios)} cells",
                f"{max(ratios):.2f} × at most",
                FACTOR / max(ratios),
                f"quantiles of {runs} releases",
            ),
        ),
        grids=tuple(grids),
        remarks=(
            f"Each cell of a shape: mean / 95% quantile of the errors of {runs} collections and "
            "releases; of mwem and queries in percent, else in true answers. queries: the largest "
            f"error of {ASKED} random questions. The number behind a release is its ε.",
            "bound: holds for all data with probability 0.95. typical: simulated from public facts "
            "alone, for the made-up population that it is worst for.",
        ),
    )


def context(labels: int, n: int, epsilon: str) -> ReleaseContext:
    """One epoch of n reports of `grr/1`."""
    domain = Choice(tuple(f"label {place}" for place in range(labels)))
    device = mechanisms.build("grr/1", domain_size=labels, epsilon=epsilon, permanent=None)
    paid = Installation(1, Fraction(epsilon))
    return ReleaseContext("question-aaaaaa", domain, device, "once", "releases", (0,), n, 1, paid)


def seen(
    name: str, arguments: Mapping[str, object], given: ReleaseContext, shape: str, runs: int
) -> Any:
    """The errors of so many releases, each over a collection of its own: float64[runs]."""
    weights = SHAPES[shape](np.arange(1.0, given.domain.size + 1))
    people = np.diff(np.rint(np.cumsum([0.0, *weights / weights.sum()]) * given.n)).astype(int)
    made, draws, actual = prepare(name, arguments, given), generator(), []
    for _ in range(runs):
        tally = simulated_tally(given.mechanism, np.arange(len(people)), people, draws=draws)
        tallies = Tallies((TallyPart(0, 0, given.n, tally),))
        actual.append(_ERRORS.get(name, _selected)(made, tallies, people))
    return np.array(actual)


def _queried(made: Any, tallies: Tallies, people: np.ndarray) -> float:
    """The largest error of random questions to a session."""
    session, _ = made.open(tallies, lambda record: None)
    draws, worst = generator(), 0.0
    for _ in range(ASKED):
        places = np.flatnonzero(draws.random(len(people)) < 0.5)
        if len(places):
            labels = [made.context.domain.labels[place] for place in places.tolist()]
            share = float(np.clip(session.ask({"labels": labels}).result["share"], 0, 1))
            worst = max(worst, abs(share - people[places].sum() / people.sum()))
    return worst


def _synthesized(made: Any, tallies: Tallies, people: np.ndarray) -> float:
    shares = np.array([row["share"] for row in made.draw(tallies).result["distribution"]])
    off = made.label_sets.workload.matrix @ (shares - people / people.sum())
    return float(np.abs(off).max())


def _selected(made: Any, tallies: Tallies, people: np.ndarray) -> float:
    """How far the true answers of each drawn one are below the best left, or from its rank."""
    result = made.draw(tallies).result
    if made.parameters.get("score") == "quantile":
        upto = np.concatenate([[0], np.cumsum(people)])
        place, rank = result["index"], people.sum() / 2
        return float(max(0.0, rank - upto[place + 1], upto[place] - rank))
    left, worst = people.astype(float), 0.0
    for place in result.get("indices", [result.get("index")]):
        worst = max(worst, float(left.max() - people[place]))
        left[place] = -np.inf
    return worst


_ERRORS: Mapping[str, Callable[[Any, Tallies, np.ndarray], float]] = {
    "mwem": _synthesized,
    "queries": _queried,
}


def _grid(labels: int, n: int, epsilon: str, runs: int) -> tuple[Grid, list[float]]:
    given, rows, ratios = context(labels, n, epsilon), [], []
    for title, (name, arguments) in REQUESTS.items():
        made: Any = prepare(name, arguments, given)
        [typical] = made.typical
        form = "{:.1%}" if name in _ERRORS else "{:,.0f}"
        row = [title, *map(form.format, (made.expected[-1].upper, typical.p95, typical.median))]
        for shape in SHAPES:
            off = seen(name, arguments, given, shape, runs)
            high = float(np.quantile(off, 0.95))
            row.append(f"{form.format(off.mean())} / {form.format(high)}")
            ratios.append(high / typical.p95)
        rows.append(tuple(row))
    title = f"{labels} labels, {n:,} reports at ε = {epsilon}"
    return Grid(title, ("release", *COLUMNS, *SHAPES), tuple(rows)), ratios
