"""`queries`: an online session that answers which share of people has one of some labels.

Opening it is charged; questions are free and may depend on earlier answers. The same question
always gets the same answer. A question that the public weights answer well changes and reveals
nothing; at most c answers are measured (`central.queries.online_plan`, `online`).

Every answer is within α = central part + local part of the truth. Questions may be chosen after
answers that carry the devices' noise, so τ must hold for every set of labels at once, not for the
questions that are asked, and Δ is what one report moves any set by
(`joint_readings.of_any_question`).
It enters twice: the answer is tested against the noisy counts, and may be measured on them.

With few reports no α below 1 can be proven. The session opens anyway, by `heuristic_plan`: its
privacy is the same, its error bar is 1, and `typical` shows the usual error.
"""

from __future__ import annotations

import math
from contextlib import suppress
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
from deniable_aggregator.releases.kinds.error_bars import CONFIDENCE
from deniable_aggregator.releases.kinds.joint_readings import JointReading, joint_reading_of
from deniable_aggregator.releases.kinds.label_workloads import read_label_set
from deniable_aggregator.releases.kinds.query_answers import HALF, QueryErrorBound
from deniable_aggregator.releases.kinds.query_session_errors import query_session_errors
from deniable_central.queries import (
    CountsError,
    OnlinePlan,
    OnlineSession,
    SessionDemand,
    SessionError,
    heuristic_plan,
    plan_online,
)
from deniable_central.release import ErrorBar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from fractions import Fraction

    from deniable_central.guarantee import Guarantee
    from deniable_shared.domains import Domain
    from deniable_shared.randomness.coins import Coins

_MOST_QUESTIONS = 1_000_000
PARAMETERS = (
    Parameter("questions", f"how many questions, from 1 to {_MOST_QUESTIONS:,}", "100"),
    EPSILON,
)
_BELOW_1 = math.nextafter(1, 0)
_QUANTITY = "error of every answer, as a share"


@dataclass(frozen=True, slots=True, eq=False)
class QuerySession:
    """An open session: see `contract.Session`."""

    domain: Domain
    linear: OnlineSession
    error: QueryErrorBound

    def knows(self, question: Mapping[str, object]) -> bool:
        return self.linear.knows(read_label_set(question, self.domain)[0])

    def ask(self, question: Mapping[str, object]) -> ReleaseResult:
        """The share of {"labels": [...]}; ParameterError for another question, by itself alone."""
        row, name = read_label_set(question, self.domain)
        answer = self.linear.ask(row)
        result: dict[str, object] = {**name, "share": answer.share, "measured": answer.taught}
        if answer.error_bar is None:  # more questions than planned
            return ReleaseResult({**result, "lower": None, "upper": None}, ())
        low, high = self.error.limits(answer.share)
        around = ErrorBar("share of the answers", low, high, CONFIDENCE)
        return ReleaseResult({**result, "lower": low, "upper": high}, (around, *self.error.bars))


@dataclass(frozen=True, slots=True, eq=False)
class PreparedQuerySession:
    """A valid request for a session: see `contract.PreparedSession`."""

    mechanism: ClassVar[str] = "queries"
    version: ClassVar[int] = 1

    context: ReleaseContext
    reading: JointReading
    parameters: Mapping[str, object]
    linear: OnlinePlan

    @property
    def law(self) -> str:
        return OnlineSession.law

    @property
    def guarantee(self) -> Guarantee:
        return self.linear.guarantee

    @property
    def expected(self) -> tuple[ErrorBar, ...]:
        return _error(self.linear).bars

    @property
    def questions(self) -> int:
        return self.linear.demand.queries

    @property
    def typical(self) -> tuple[TypicalError, ...]:
        """The usual largest error of the answers to random questions."""
        request = {"mechanism": self.mechanism, **self.parameters}
        return query_session_errors(self.context, self.reading, self.linear, request)

    def draw(self, tallies: Tallies, coins: Coins | None = None) -> ReleaseResult:
        """The result of `open`, without keeping the session."""
        return self.open(tallies, _forget, coins)[1]

    def open(
        self, tallies: Tallies, keep: Callable[[bytes], None], coins: Coins | None = None
    ) -> tuple[QuerySession, ReleaseResult]:
        data = self.reading.counts(tallies)
        session = OnlineSession.open(data, self.linear, journal=keep, coins=coins)
        opening = {
            "labels": list(self.context.domain.labels),
            "questions": self.questions,
            "measured_at_most": self.linear.updates,
            "error": self.linear.error,
        }
        return self._query_session(session), ReleaseResult(opening, self.expected)

    def resume(
        self,
        tallies: Tallies,
        records: Iterable[bytes],
        keep: Callable[[bytes], None],
        coins: Coins | None = None,
    ) -> QuerySession:
        """Raises SessionError unless the records are whole and fit these tallies and this price."""
        data = self.reading.counts(tallies)
        session = OnlineSession.resume(data, records, journal=keep, coins=coins)
        if session.guarantee != self.guarantee:
            raise SessionError("these records belong to a session of another price")
        return self._query_session(session)

    def _query_session(self, session: OnlineSession) -> QuerySession:
        return QuerySession(self.context.domain, session, _error(session.plan))


def prepare(arguments: Mapping[str, object], context: ReleaseContext) -> PreparedQuerySession:
    """The prepared release. Raises ParameterError for arguments that do not fit here."""
    complete = with_defaults("queries", PARAMETERS, arguments)
    reading = joint_reading_of("queries", context)
    epsilon = read_epsilon(complete["epsilon"])
    questions = read_whole("questions", complete["questions"], low=1, high=_MOST_QUESTIONS)
    moves, local = reading.of_any_question(beta=HALF)
    demand = SessionDemand(
        rows=context.n,
        domain=context.domain.size,
        queries=questions,
        beta=HALF,
        moves=moves,
        gain=reading.gain,
        local_error=min(local, _BELOW_1),
    )
    linear = _planned(demand, epsilon, reading)
    return PreparedQuerySession(
        context, reading, {"questions": questions, "epsilon": decimal_text(epsilon)}, linear
    )


def _planned(demand: SessionDemand, epsilon: Fraction, reading: JointReading) -> OnlinePlan:
    """The plan with the least bound; if no bound is below 1, a plan that usually does well."""
    with suppress(CountsError):
        return plan_online(demand, epsilon=epsilon)
    return heuristic_plan(demand, epsilon=epsilon, deviation=reading.deviation)


def _error(linear: OnlinePlan) -> QueryErrorBound:
    """α, and its part without the devices' noise."""
    local = 2 * linear.demand.local_error
    return QueryErrorBound(max(0.0, linear.error - local), linear.error, _QUANTITY)


def _forget(record: bytes) -> None:
    """Keep no record."""
