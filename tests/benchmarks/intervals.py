"""Intervals: what `plan` promises against what a collection then has, and how wide that is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from benchmarks.measure import Effort, Line
from benchmarks.results import Case, Grid, Result, Verdict
from deniable_aggregator.collections.planning.plan import Plan, plan
from deniable_estimators.inference.functionals import LinearEstimator
from deniable_estimators.inference.marginals import table_estimator
from deniable_estimators.inference.protocols import Estimator
from deniable_estimators.inference.set_laws import estimate_label_set
from deniable_estimators.inference.tables import IntervalSettings, one_way_tables, table
from deniable_estimators.mechanisms import estimator_for
from deniable_estimators.simulation import generator, simulated_tally
from deniable_shared.domains import Domain, Number, Record
from deniable_shared.mechanisms import Mechanism, build, for_domain

Floats = npt.NDArray[np.float64]
Read = Callable[[Estimator, Mechanism, npt.NDArray[np.int64], int], tuple[Floats, ...]]
"""Values, standard errors, lower and upper limits of a tally of n reports."""

REPEATS = 30
NUMBER = Number(Fraction(0), Fraction(10), Fraction(1))
RECORD = Record(tuple((name, ("no", "yes")) for name in "abcdefgh"))
PROMISED, WIDEST = 0.10, 1.15


def of_mean(
    of: Estimator, _: Mechanism, tally: npt.NDArray[np.int64], n: int
) -> tuple[Floats, ...]:
    """The mean, as a share of the range."""
    if isinstance(of, LinearEstimator):
        result = of.functionals(np.linspace(0, 1, NUMBER.size)[None, :], tally, n)
        return result.values, result.std_errors, result.lower, result.upper
    return of_labels(of, _, tally, n)


def of_ranges(
    of: Estimator, _: Mechanism, tally: npt.NDArray[np.int64], n: int
) -> tuple[Floats, ...]:
    """All ranges of values but the whole."""
    assert isinstance(of, LinearEstimator)
    size = NUMBER.size
    ends = [(i, j) for i in range(size) for j in range(i + 1, size + 1) if j - i < size]
    rows = np.array([[float(i <= v < j) for v in range(size)] for i, j in ends])
    result = of.functionals(rows, tally, n)
    return result.values, result.std_errors, result.lower, result.upper


def of_labels(
    of: Estimator, _: Mechanism, tally: npt.NDArray[np.int64], n: int
) -> tuple[Floats, ...]:
    """Every label."""
    result = of.estimate(tally, n)
    return result.frequencies, result.std_errors, result.lower, result.upper


def of_cells(
    of: Estimator, mechanism: Mechanism, tally: npt.NDArray[np.int64], n: int
) -> tuple[Floats, ...]:
    """The table of the first two attributes."""
    result = table(table_estimator(of, mechanism, RECORD), tally, n, (0, 1), IntervalSettings())
    return result.frequencies, result.std_errors, result.lower, result.upper


def of_attributes(
    of: Estimator, mechanism: Mechanism, tally: npt.NDArray[np.int64], n: int
) -> tuple[Floats, ...]:
    """Each attribute by itself."""
    result = one_way_tables(table_estimator(of, mechanism, RECORD), tally, n, IntervalSettings())
    return result.frequencies, result.std_errors, result.lower, result.upper


def of_first(members: int) -> Read:
    """The set of the first labels."""

    def read(
        of: Estimator, mechanism: Mechanism, tally: npt.NDArray[np.int64], n: int
    ) -> tuple[Floats, ...]:
        result = estimate_label_set(of, mechanism, tally, n, range(members))
        actual = (result.frequency, result.std_error, result.lower, result.upper)
        return tuple(np.array([each]) for each in actual)

    return read


def shown(read: Read, mechanism: Mechanism, n: int, repeats: int) -> tuple[float, float]:
    """Mean half-width of intervals of n people who answer evenly, and of 1.96 standard errors.

    Where 0 or 1 cuts an interval off, that of the other side.
    """
    of, draws, size = estimator_for(mechanism), generator(), mechanism.domain_size
    widths, normal = [], []
    for _ in range(repeats):
        people = draws.multinomial(n, np.full(size, 1 / size))
        tally = simulated_tally(mechanism, np.arange(size), people, draws=draws)
        values, errors, lower, upper = read(of, mechanism, tally, n)
        below = np.where(lower > 0, values - lower, np.nan)
        above = np.where(upper < 1, upper - values, np.nan)
        both = np.stack([below, above])
        some = ~np.isnan(both).all(axis=0)
        widths.append(np.nanmean(both[:, some], axis=0).mean() if some.any() else np.nan)
        normal.append(1.959964 * errors.mean())
    return float(np.nanmean(widths)), float(np.mean(normal))


@dataclass(frozen=True, slots=True)
class Asked:
    """A question; `users` or, if 0, as many as a half-width of `wanted` takes."""

    title: str
    domain: Domain | int
    epsilon: str
    asks: str
    read: Read
    users: int
    wanted: float = 0.01
    before: tuple[str, str] = ("", "")

    def planned(self) -> Plan:
        """For its users, else for as many as it takes."""
        users = self.users or self._plan(1_000).users_needed
        return self._plan(users)

    def _plan(self, users: int) -> Plan:
        return plan(
            self.domain,
            self.epsilon,
            users,
            asks=self.asks,
            half_width=self.wanted,
            frequency=1 / self.domain if isinstance(self.domain, int) else None,
        )

    def mechanism(self, planned: Plan) -> Mechanism:
        """The one that the plan takes."""
        epsilon = Fraction(self.epsilon)
        if isinstance(self.domain, int):
            return build(planned.mechanism, domain_size=self.domain, epsilon=epsilon)
        return for_domain(planned.mechanism, self.domain, epsilon, parameters=planned.parameters)


def _mean(epsilon: str, wanted: float, before: tuple[str, str], users: int = 0) -> Asked:
    title = f"mean, ε = {epsilon}, " + (f"n = {users:,}" if users else f"± {wanted:g}")
    return Asked(title, NUMBER, epsilon, "mean", of_mean, users, wanted, before)


PROMISES = (
    _mean("1", 0.05, ("1,545 users", "0.109")),
    _mean("2", 0.03, ("936 users", "0.074")),
    _mean("4", 0.02, ("312 users", "0.095")),
    _mean("4", 0.01, ("0.0158", "0.0752"), 500),
    _mean("4", 0.01, ("0.0064", "0.0130"), 3_000),
    Asked(
        "range, ε = 1, n = 1,000",
        NUMBER,
        "1",
        "ranges",
        of_ranges,
        1_000,
        before=("0.159", "0.416"),
    ),
    Asked("range, ε = 2, n = 3,000", NUMBER, "2", "ranges", of_ranges, 3_000),
    Asked(
        "cell of two of 8 attributes, ε = 1, n = 20,000",
        RECORD,
        "1",
        "labels",
        of_cells,
        20_000,
        before=("0.078", "0.109"),
    ),
    Asked("cell of two of 8 attributes, ε = 2, n = 2,000", RECORD, "2", "labels", of_cells, 2_000),
    Asked("label of 1,000, ε = 1, n = 5,000", 1_000, "1", "labels", of_labels, 5_000),
    Asked("label of 10, ε = 4, n = 300", 10, "4", "labels", of_labels, 300),
)


@dataclass(frozen=True, slots=True)
class Wide:
    """How wide the intervals of one mechanism are; `before` at the smallest n, and where."""

    title: str
    mechanism: Mechanism
    read: Read
    sizes: tuple[int, ...]
    before: str


def _number(id: str, epsilon: str) -> Mechanism:
    return build(id, domain_size=NUMBER.size, epsilon=epsilon)


def widths() -> Sequence[Wide]:
    """Those that were the widest."""
    few, many = (300, 1_000, 1_050, 3_000, 10_000), (2_000, 10_000, 20_000, 100_000)
    fourier = for_domain("fourier/1", RECORD, Fraction(1))
    pairs = for_domain("pairs/1", RECORD, Fraction(1))
    subset = build("subset/1", domain_size=20, epsilon="1")
    cyclic = build("cyclic/1", domain_size=100, epsilon="1")
    return (
        Wide(
            "mean, optimal-mean/1, ε = 1", _number("optimal-mean/1", "1"), of_mean, few, "1.2–2.1"
        ),
        Wide(
            "mean, optimal-mean/1, ε = 4", _number("optimal-mean/1", "4"), of_mean, few, "2.4–3.0"
        ),
        Wide("mean, haar/1, ε = 4", _number("haar/1", "4"), of_mean, few, "2.1–3.4"),
        Wide("mean, square-wave/1, ε = 1", _number("square-wave/1", "1"), of_mean, few, "2.0–2.4"),
        Wide(
            "ranges, square-wave/1, ε = 1", _number("square-wave/1", "1"), of_ranges, few, "1.2–2.2"
        ),
        Wide("cell of two of 8, fourier/1", fourier, of_cells, many, "1.28–1.49"),
        Wide("one attribute of 8, fourier/1", fourier, of_attributes, many, "1.41"),
        Wide("one attribute of 8, pairs/1", pairs, of_attributes, many, "1.44"),
        Wide("7 of 20 labels, subset/1", subset, of_first(7), many, "1.4"),
        Wide("25 of 100 labels, cyclic/1", cyclic, of_first(25), many, "1.39"),
    )


def run(effort: Effort) -> Result:
    """Forecasts against results, and widths over 1.96 standard errors."""
    repeats = effort.sized(REPEATS, least=2)
    promises, errors = [], []
    for asked in PROMISES:
        planned = asked.planned()
        found, _ = shown(asked.read, asked.mechanism(planned), planned.users, repeats)
        errors.append(abs(planned.half_width / found - 1))
        promises.append(
            (
                asked.title,
                *asked.before,
                planned.mechanism,
                f"{planned.users:,}",
                f"{planned.half_width:.3g}",
                f"{found:.3g}",
            )
        )
    wide, ratios = [], []
    for each in widths():
        for n in each.sizes:
            found, normal = shown(each.read, each.mechanism, n, repeats)
            ratios.append(found / normal)
            wide.append((each.title, f"{n:,}", each.before, f"{ratios[-1]:.3f}"))
    worst, widest = max(errors), max(ratios)
    lines = (Line("deniable", "ours", "× what is shown", (1 + worst,), "the worst forecast"),)
    return Result(
        title="Intervals",
        cases=(Case("forecasts", lines),),
        verdicts=(
            _verdict(
                "forecasts within 10% of what is shown", f"{worst:.1%} at worst", PROMISED, worst
            ),
            _verdict("intervals ≤ 1.15 × 1.96 standard errors", f"{widest:.3f} ×", WIDEST, widest),
        ),
        remarks=(
            "Answers spread evenly over all values; half-widths are means over collections, ranges "
            "and cells, as shares of 1. Before: as an audit of the former rules measured them.",
        ),
        grids=(
            Grid(
                "What plan promises and a collection shows",
                (
                    "asked",
                    "promised before",
                    "shown before",
                    "mechanism",
                    "users",
                    "promised",
                    "shown",
                ),
                tuple(promises),
            ),
            Grid("Width over 1.96 standard errors", ("", "n", "before", "now"), tuple(wide)),
        ),
    )


def _verdict(budget: str, reached: str, limit: float, found: float) -> Verdict:
    return Verdict(
        budget, reached, limit / found if found else math.inf, "the rule of score_limits"
    )
