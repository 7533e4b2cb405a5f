"""Error: what the mechanism that is chosen by itself reaches, over the least that any can have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from benchmarks import peer_errors
from benchmarks.measure import Effort, Line
from benchmarks.results import Case, Grid, Result, Verdict
from deniable_aggregator.collections.authoring.recommendation import (
    GOOD_ENOUGH_RATIO,
    DomainShape,
    Recommendation,
    recommend,
)
from deniable_estimators.mechanisms import estimator_for
from deniable_estimators.simulation import generator, simulated_tally
from deniable_shared.analysis.optimal_error import least_error

SIZES = (2, 5, 16, 64, 100, 256, 1_000, 10_000, 60_000)
EPSILONS = ("0.1", "0.5", "1", "2", "4", "6")
PEOPLE = 2_000
ANSWERS = 12
REPEATS = 24_000  # of squared errors a round and cell
FEWEST, MOST = 30, 24_000
Cells = dict[tuple[int, str], float]


@dataclass(frozen=True, slots=True)
class Cell:
    """One size and ε: what is chosen, and R* between two rationals' floats."""

    size: int
    epsilon: str
    chosen: Recommendation
    least: float

    @classmethod
    def of(cls, size: int, epsilon: str) -> Cell:
        least, _ = least_error(size, Fraction(epsilon))
        return cls(
            size, epsilon, recommend(DomainShape("choice", size), Fraction(epsilon)), float(least)
        )

    def measured(self, effort: Effort) -> tuple[float, float]:
        """n times the mean of the sum of squared errors, over R*; and its standard error."""
        draws = generator()
        values = np.unique(np.linspace(0, self.size - 1, ANSWERS).astype(np.int64))
        people = np.bincount(np.arange(PEOPLE) ** 2 % len(values), minlength=len(values))
        truth = np.zeros(self.size)
        truth[values] = people / PEOPLE
        mechanism = self.chosen.mechanism
        estimator = estimator_for(mechanism)
        gap, q = float(mechanism.p - mechanism.q), float(mechanism.q)
        wanted = max(FEWEST, min(MOST, effort.rounds * REPEATS // self.size))
        repeats = effort.sized(wanted, least=2)
        actual = np.empty(repeats)
        for turn in range(repeats):
            tally = simulated_tally(mechanism, values, people, draws=draws)
            raw = (estimator.supports(tally) / PEOPLE - q) / gap
            actual[turn] = PEOPLE * float(((raw - truth) ** 2).sum()) / self.least
        return float(actual.mean()), float(actual.std() / math.sqrt(repeats))


def run(effort: Effort) -> Result:
    """Every size and ε: by simulation, by formula, and the best of the peers."""
    cells = [Cell.of(size, epsilon) for size in SIZES for epsilon in EPSILONS]
    measured = {(cell.size, cell.epsilon): cell.measured(effort) for cell in cells}
    formula = {
        (cell.size, cell.epsilon): float(cell.chosen.ratio_to_optimum or math.nan) for cell in cells
    }
    chosen = {(cell.size, cell.epsilon): cell.chosen for cell in cells}
    mean = float(np.mean([value for value, _ in measured.values()]))
    shown = {key: f"{value:.3f} ± {error:.3f}" for key, (value, error) in measured.items()}
    by_formula = {
        key: f"{formula[key]:.4f} {one.id}, {one.mechanism.payload_size} B"
        for key, one in chosen.items()
    }
    grids = [
        _grid("n·MSE over R*, measured ± its standard error", shown),
        _grid("n·MSE over R*, exact, what is chosen, bytes a report", by_formula),
    ]
    if effort.peers:
        grids.append(_grid("n·MSE over R*, the best of the peers", _peers(cells)))
    worst = max(formula.values())
    lines = (
        Line("deniable, measured", "ours", "× R*", (mean,), "mean of all cells"),
        Line(
            "deniable, formula",
            "ours",
            "× R*",
            (float(np.mean(list(formula.values()))),),
            "mean of all cells",
        ),
    )
    return Result(
        title="Error",
        cases=(Case(f"{len(cells)} sizes and ε", lines),),
        verdicts=(
            Verdict(
                f"error, {len(cells)} sizes and ε ≤ {float(GOOD_ENOUGH_RATIO)} × R*",
                f"{worst:.4f} × R* at worst, by formula; the largest deviation of a "
                f"measurement from it is {_largest(measured, formula):.1f} standard errors",
                float(GOOD_ENOUGH_RATIO) / worst,
                "R*: the least error of any mechanism of that ε",
            ),
        ),
        remarks=(
            f"Measured: n = {PEOPLE:,} people with up to {ANSWERS} answers, the vectorised "
            "simulation, whose law is that of the client; the error is the same for every "
            "population. R* is the least n·MSE of all unbiased mechanisms of that ε.",
            "Peers: formula at the parameters that their own objects carry; sets of labels are "
            "as good as ours and as long as they say. multi-freq-ldpy returns clipped and "
            "renormalised frequencies only, so nothing unbiased can be measured.",
        ),
        grids=tuple(grids),
    )


def _largest(measured: dict[tuple[int, str], tuple[float, float]], formula: Cells) -> float:
    return max(
        abs(value - formula[key]) / error for key, (value, error) in measured.items() if error
    )


def _peers(cells: Sequence[Cell]) -> dict[tuple[int, str], str]:
    actual = {}
    for cell in cells:
        best = peer_errors.least(cell.size, float(cell.epsilon))
        result = "–" if best is None else f"{best[1] / cell.least:.3f} {best[0]}"
        actual[cell.size, cell.epsilon] = result
    return actual


def _grid(title: str, cells: dict[tuple[int, str], str]) -> Grid:
    return Grid(
        title,
        ("d", *(f"ε = {epsilon}" for epsilon in EPSILONS)),
        tuple((f"{size:,}", *(cells[size, epsilon] for epsilon in EPSILONS)) for size in SIZES),
    )
