"""`mwem`: a synthetic distribution over the labels that answers many questions at once.

Each round selects the worst answered query by the exponential mechanism on raw counts and measures
it with geometric noise: ε-DP in all. Queries read the debiased counts without projection, and the
bound adds the error that the devices' noise may cause in every query (`queries.mwem_bounds`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from deniable_aggregator.releases.kinds.arguments import (
    EPSILON,
    decimal_text,
    read_epsilon,
    read_whole,
    with_defaults,
)
from deniable_aggregator.releases.kinds.contract import (
    Parameter,
    ReleaseContext,
    ReleaseResult,
    Tallies,
    TypicalError,
)
from deniable_aggregator.releases.kinds.joint_readings import JointReading, joint_reading_of
from deniable_aggregator.releases.kinds.label_workloads import (
    MOST_ENTRIES,
    WORKLOAD,
    LabelWorkload,
    read_workload,
)
from deniable_aggregator.releases.kinds.mwem_errors import workload_errors
from deniable_aggregator.releases.kinds.query_answers import (
    HALF,
    QueryErrorBound,
    answer_rows,
    distribution_rows,
)
from deniable_central.queries import Mwem, best_rounds, mwem_error
from deniable_central.queries.mwem_bounds import MOST_ROUNDS
from deniable_central.selection.privacy_parameters import SMALLEST_EPSILON
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from deniable_central.guarantee import Guarantee
    from deniable_central.release import ErrorBar
    from deniable_shared.randomness.coins import Coins

PARAMETERS = (
    WORKLOAD,
    Parameter("rounds", f"a whole number from 1 to {MOST_ROUNDS:,}, or best", "best"),
    EPSILON,
)
_MOST_STEPS = 64 * MOST_ENTRIES


@dataclass(frozen=True, slots=True, eq=False)
class PreparedMwem:
    """A valid request for a synthetic distribution: see `contract.PreparedRelease`."""

    mechanism: ClassVar[str] = "mwem"
    version: ClassVar[int] = 1

    context: ReleaseContext
    reading: JointReading
    label_sets: LabelWorkload
    linear: Mwem
    error: QueryErrorBound

    @property
    def parameters(self) -> Mapping[str, object]:
        return {
            "workload": self.label_sets.argument,
            "rounds": self.linear.rounds,
            "epsilon": decimal_text(self.linear.epsilon),
        }

    @property
    def law(self) -> str:
        return self.linear.law

    @property
    def guarantee(self) -> Guarantee:
        return self.linear.guarantee

    @property
    def expected(self) -> tuple[ErrorBar, ...]:
        return self.error.bars

    @property
    def typical(self) -> tuple[TypicalError, ...]:
        """The usual largest error of a query of the workload."""
        request = {"mechanism": self.mechanism, **self.parameters}
        return workload_errors(
            self.context, self.reading, self.linear, request, quantity=self.error.quantity
        )

    def draw(self, tallies: Tallies, coins: Coins | None = None) -> ReleaseResult:
        data = self.reading.counts(tallies)
        synthesis = self.linear.release(data, coins).result
        measured = [{"query": m.query, "noisy": m.count} for m in synthesis.measurements]
        result = {
            "distribution": distribution_rows(self.context.domain.labels, synthesis.weights),
            "answers": answer_rows(self.label_sets, synthesis.weights, self.error),
            "measurements": measured,
        }
        return ReleaseResult(result, self.error.bars)


def prepare(arguments: Mapping[str, object], context: ReleaseContext) -> PreparedMwem:
    """The prepared release. Raises ParameterError for arguments that do not fit here."""
    complete = with_defaults("mwem", PARAMETERS, arguments)
    reading = joint_reading_of("mwem", context)
    epsilon = read_epsilon(complete["epsilon"])
    label_sets = read_workload(complete["workload"], context.domain)
    bound = _Bound.of(context, reading, label_sets, epsilon)
    rounds = bound.read_rounds(complete["rounds"])
    linear = Mwem.of(label_sets.workload, rounds=rounds, epsilon=epsilon)
    return PreparedMwem(context, reading, label_sets, linear, bound.error(rounds))


@dataclass(frozen=True, slots=True)
class _Bound:
    """The public facts that give the bound of T rounds."""

    context: ReleaseContext
    queries: int
    epsilon: Fraction
    moves: int
    unit: Fraction
    local: float

    @classmethod
    def of(
        cls,
        context: ReleaseContext,
        reading: JointReading,
        label_sets: LabelWorkload,
        epsilon: Fraction,
    ) -> _Bound:
        queries = label_sets.workload.matrix
        moves = max(1, reading.moves(queries))
        local = reading.local_error(queries, beta=HALF)
        return cls(context, len(queries), epsilon, moves, reading.gain, local)

    @property
    def most_rounds(self) -> int:
        """The most rounds for which each selection's ε can be drawn and a release takes seconds."""
        steps = self.queries * self.context.domain.size
        return min(MOST_ROUNDS, int(self.epsilon / (2 * SMALLEST_EPSILON)), _MOST_STEPS // steps)

    def read_rounds(self, value: object) -> int:
        if self.most_rounds < 1:
            raise ParameterError(
                "epsilon must be at least 0.000002 for mwem, a half of it for each selection, got "
                f"{decimal_text(self.epsilon)}"
            )
        if value != "best":
            return read_whole("rounds", value, low=1, high=self.most_rounds)
        best = best_rounds(
            rows=self.context.n,
            domain=self.context.domain.size,
            queries=self.queries,
            epsilon=self.epsilon,
            beta=HALF,
            moves=self.moves,
            unit=self.unit,
            local_error=self.local,
        )
        return min(best, self.most_rounds)

    def error(self, rounds: int) -> QueryErrorBound:
        central, total = (self._error(rounds, local) for local in (0.0, self.local))
        return QueryErrorBound(central, total)

    def _error(self, rounds: int, local: float) -> float:
        return mwem_error(
            rows=self.context.n,
            domain=self.context.domain.size,
            queries=self.queries,
            rounds=rounds,
            epsilon=self.epsilon,
            beta=HALF,
            moves=self.moves,
            unit=self.unit,
            local_error=local,
        )
