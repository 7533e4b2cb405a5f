"""The plan of an online session: its cost, how often it may learn, and the error of its answers.

    ε = ε1 + ε2 + ε3      the threshold's noise, the tests of queries, the answers that teach
    c                     how many answers may teach, each by a step of 4g, g = √(ln|X|/(2c))
    U = n · gain · scale  raw units of a share of 1; one row moves a raw answer by at most Δ

    threshold noise   two-sided geometric of decay ε1/Δ     within t1 except with probability β/3
    query noise       decay ε2/(2cΔ), for every query       k of them within t2 except with β/3
    answer noise      decay ε3/(cΔ)                         c of them within gU except with β/3
    threshold         T = ⌈gU + ½⌉ + t1 + t2

So with probability 1 − β the first k answers are within α = (T − 1 + t1 + t2)/U of the truth, about
g + 2(t1 + t2)/U. At most c of them teach: each lowers a relative entropy of at most ln|X| by 2g².
Privacy needs none of this: few rows or many queries cost only accuracy. If the counts were
randomized before, `local_error` bounds the effect on each of the k answers: it is added to g in T,
and again to α.

Hardt, Rothblum 2010; the sparse vector as corrected by Lyu, Su, Li 2017.
Source: docs/mathematics/queries.md, A session of questions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable_central.errors import CountsError
from deniable_central.guarantee import Adjacency, Guarantee
from deniable_central.queries.database_sizes import Accuracy, read_accuracy
from deniable_central.queries.small_db_bounds import fewest
from deniable_central.samplers.noise import tail_quantile
from deniable_central.selection.privacy_parameters import Epsilon, privacy_parameters
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_central.queries.count_data import CountData

_GRID = 1 << 40
_MOST_UPDATES = 1 << 20


@dataclass(frozen=True, slots=True)
class SessionDemand:
    """The public facts about the counts, and the required accuracy of a session.

    moves: Δ, in raw units; `scale` for predicates and fractions of rows that were not randomized.
    queries, beta: so many answers within α, with probability 1 − beta.
    """

    rows: int
    domain: int
    queries: int
    beta: float = 0.05
    scale: int = 1
    moves: int = 1
    gain: Fraction = Fraction(1)
    local_error: float = 0.0

    def __post_init__(self) -> None:
        for name in ("rows", "queries", "scale", "moves"):
            if getattr(self, name) < 1:
                raise ParameterError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.domain < 2:
            raise ParameterError(f"domain must be at least 2 values, got {self.domain}")
        if not 0 < self.beta < 1:
            raise ParameterError(f"beta must lie in (0, 1), got {self.beta}")
        if not 0 <= self.local_error < 1:
            raise ParameterError(f"local_error must lie in [0, 1), got {self.local_error}")

    @classmethod
    def of(
        cls,
        data: CountData,
        *,
        queries: int,
        beta: float = 0.05,
        scale: int = 1,
        moves: int | None = None,
        local_error: float = 0.0,
    ) -> SessionDemand:
        facts = data.rows, data.domain, queries, beta, scale
        return cls(*facts, scale if moves is None else moves, data.gain, local_error)

    @property
    def unit(self) -> float:
        """U."""
        return float(self.rows * self.gain * self.scale)


@dataclass(frozen=True, slots=True)
class OnlinePlan:
    """The public parameters of a session. All are private; `plan_online` returns the best."""

    demand: SessionDemand
    epsilons: tuple[Fraction, Fraction, Fraction]
    updates: int
    threshold: int

    def __post_init__(self) -> None:
        if self.updates < 1:
            raise ParameterError(f"updates must be at least 1, got {self.updates}")
        if min(self.epsilons) <= 0:
            raise ParameterError("each of the three epsilons must be positive")

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the whole session, for any number and kind of queries."""
        return Guarantee.pure(sum(self.epsilons, Fraction(0)), Adjacency.REPLACE)

    @property
    def step(self) -> float:
        """g, as a share."""
        return math.sqrt(math.log(self.demand.domain) / (2 * self.updates))

    @property
    def decays(self) -> tuple[Fraction, Fraction, Fraction]:
        """Decays of the noise on the threshold, on every query, and on the answers that teach."""
        of_threshold, of_test, of_answer = self.epsilons
        each = self.updates * self.demand.moves
        return of_threshold / self.demand.moves, of_test / (2 * each), of_answer / each

    @property
    def reaches(self) -> tuple[int, int]:
        """t1 and t2, in raw units."""
        third = self.demand.beta / 3
        return tail_quantile(self.decays[0], third), tail_quantile(
            self.decays[1], third / self.demand.queries
        )

    @property
    def error(self) -> float:
        """α; 1, no bound, if the threshold or the noise of answers differs from the module's."""
        demand = self.demand
        units = (self.step + demand.local_error) * demand.unit + 0.5
        of_answer = tail_quantile(self.decays[2], demand.beta / (3 * self.updates))
        if self.threshold < units + sum(self.reaches) or of_answer > self.step * demand.unit:
            return 1.0
        central = (self.threshold - 1 + sum(self.reaches)) / demand.unit
        return min(1.0, central + demand.local_error)


def plan_online(demand: SessionDemand, *, epsilon: Epsilon) -> OnlinePlan:
    """Return the split of ε and the number of updates with the least α.

    Raises CountsError if no plan has a bound: too few rows for that domain and ε.
    """
    exact = privacy_parameters(epsilon=epsilon, sensitivity=1).epsilon
    best: OnlinePlan | None = None
    for updates in _counts():
        plan = _plan(demand, exact, updates)
        if plan is None:
            break
        if best is None or plan.error < best.error:
            best = plan
        elif plan.updates > 4 * best.updates + 16:
            break
    if best is None or best.error >= 1:
        raise CountsError(
            f"rows must be more than {demand.rows:,} for an online session over {demand.domain} "
            f"values at epsilon {float(exact):g} to promise any error below 1: online_rows says "
            "how many; an OnlinePlan of your own is private all the same"
        )
    return best


def online_rows(
    alpha: Accuracy, *, domain: int, queries: int, epsilon: Epsilon, beta: float = 0.05
) -> int:
    """Return the fewest rows, within 0.1%, for which `queries` predicates are answered within α."""
    target = float(read_accuracy(alpha))

    def enough(rows: int) -> bool:
        try:
            plan = plan_online(SessionDemand(rows, domain, queries, beta), epsilon=epsilon)
        except CountsError:
            return False
        return plan.error <= target

    return fewest(enough)


def _counts() -> Iterator[int]:
    updates = 1
    while updates < _MOST_UPDATES:
        yield updates
        updates += max(1, updates // 32)


def _plan(demand: SessionDemand, epsilon: Fraction, updates: int) -> OnlinePlan | None:
    """Return the plan for this many updates: answers get what they need to be within g."""
    step = math.sqrt(math.log(demand.domain) / (2 * updates))
    within = math.floor(step * demand.unit)
    needed = _decay_within(within, demand.beta / (3 * updates))
    of_answer = _rounded_up(Fraction(updates * demand.moves) * Fraction(needed))
    rest = epsilon - of_answer
    if rest <= 0:
        return None
    threshold_weight = math.sqrt(math.log(3 / demand.beta))
    test_weight = math.sqrt(2 * updates * math.log(3 * demand.queries / demand.beta))
    of_threshold = _rounded_up(rest * Fraction(threshold_weight / (threshold_weight + test_weight)))
    if of_threshold >= rest:
        return None
    epsilons = (of_threshold, rest - of_threshold, of_answer)
    draft = OnlinePlan(demand, epsilons, updates, 0)
    threshold = math.ceil((step + demand.local_error) * demand.unit + 0.5) + sum(draft.reaches)
    return replace(draft, threshold=threshold)


def _decay_within(distance: int, beta: float) -> float:
    """Return about the least decay for which Pr[|N| > distance] ≤ beta."""
    decay = math.log(2 / beta) / (distance + 1)
    for _ in range(3):  # 2z^(t + 1)/(1 + z) ≤ β; each step stays on the safe side
        decay = (math.log(2 / beta) - math.log1p(math.exp(-decay))) / (distance + 1) * (1 + 1e-9)
    return decay


def _rounded_up(epsilon: Fraction) -> Fraction:
    return Fraction(math.ceil(epsilon * _GRID), _GRID)
