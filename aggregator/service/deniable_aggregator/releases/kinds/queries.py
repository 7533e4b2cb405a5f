"""`queries`: an online session that answers what share of the answers is one of these labels.

Opening it is the charge: questions are free, may depend on the answers before, and the same one
has the same answer for ever. A question that the public weights answer well teaches nothing and
tells nothing; at most c answers are measured (`central.queries.online_plan`, `online`).

Every answer is within α = central part + local part of the truth. Questions may be chosen after
answers that carry the devices' noise, so τ must hold for every set of labels at once, not for the
questions that are asked: |Q| = 2^(d − 1) in `local_error`, as a set and its complement err alike,
and Δ what one report moves any set by.
It enters twice: the answer is tested against the noisy counts, and may be measured on them.

With few reports no α below 1 can be proven. The session opens anyway, by `heuristic_plan`: its
privacy is the same, its error bar is 1, and `typical` shows the error that is usual.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

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
from deniable_aggregator.releases.kinds.label_counts import LabelCounts
from deniable_aggregator.releases.kinds.label_workloads import read_label_set
from deniable_aggregator.releases.kinds.message_spaces import message_space_of
from deniable_aggregator.releases.kinds.query_answers import HALF, QueryErrorBound
from deniable_aggregator.releases.kinds.query_session_errors import query_session_errors
from deniable_aggregator.releases.kinds.randomized_counts import (
    RandomizedCounts,
    check_joint,
    local_error,
)
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
    Parameter("questions", f"how many may be asked, from 1 to {_MOST_QUESTIONS:,}", "100"),
    EPSILON,
)
_BELOW_1 = math.nextafter(1, 0)
_QUANTITY = "error of every answer, as a share"


@dataclass(frozen=True, slots=True, eq=False)
class QuerySession:
    """A session that was paid for: see `contract.Session`."""

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
        if answer.error_bar is None:  # past the questions that it was planned for
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
        return query_session_errors(self.context, self.linear, request)

    def draw(self, tallies: Tallies, coins: Coins | None = None) -> ReleaseResult:
        """What `open` says of a session that nobody keeps."""
        return self.open(tallies, _forget, coins)[1]

    def open(
        self, tallies: Tallies, keep: Callable[[bytes], None], coins: Coins | None = None
    ) -> tuple[QuerySession, ReleaseResult]:
        data = RandomizedCounts.of(self.context, tallies)
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
        """SessionError unless the records are whole, of these very tallies and of this price."""
        data = RandomizedCounts.of(self.context, tallies)
        session = OnlineSession.resume(data, records, journal=keep, coins=coins)
        if session.guarantee != self.guarantee:
            raise SessionError("these records are of a session that was opened at another price")
        return self._query_session(session)

    def _query_session(self, session: OnlineSession) -> QuerySession:
        return QuerySession(self.context.domain, session, _error(session.plan))


def prepare(arguments: Mapping[str, object], context: ReleaseContext) -> PreparedQuerySession:
    """ParameterError for arguments that are no request in this context."""
    complete = with_defaults("queries", PARAMETERS, arguments)
    check_joint("queries", context)
    epsilon = read_epsilon(complete["epsilon"])
    questions = read_whole("questions", complete["questions"], low=1, high=_MOST_QUESTIONS)
    moves = message_space_of(context.mechanism).label_sensitivity.sets
    local = local_error(context, queries=1 << (context.domain.size - 1), beta=HALF, moves=moves)
    demand = SessionDemand(
        rows=context.n,
        domain=context.domain.size,
        queries=questions,
        beta=HALF,
        moves=moves,
        gain=context.mechanism.p - context.mechanism.q,
        local_error=min(local, _BELOW_1),
    )
    linear = _planned(demand, epsilon, context)
    return PreparedQuerySession(
        context, {"questions": questions, "epsilon": decimal_text(epsilon)}, linear
    )


def _planned(demand: SessionDemand, epsilon: Fraction, context: ReleaseContext) -> OnlinePlan:
    """The plan of the least bound; without any bound below 1 one that usually does well."""
    with suppress(CountsError):
        return plan_online(demand, epsilon=epsilon)
    return heuristic_plan(demand, epsilon=epsilon, deviation=_deviation(context))


def _deviation(context: ReleaseContext) -> float:
    """Of a question about half the labels, by the devices' noise, in an even population."""
    label_counts, labels = LabelCounts.of(context), context.domain.size
    of_label = float(label_counts.variance(np.array([1 / labels]))[0])
    return math.sqrt(of_label * labels / 4) / float(context.n * label_counts.gain)


def _error(linear: OnlinePlan) -> QueryErrorBound:
    """α, and what is left of it without the devices' noise."""
    local = 2 * linear.demand.local_error
    return QueryErrorBound(max(0.0, linear.error - local), linear.error, _QUANTITY)


def _forget(record: bytes) -> None:
    """Keeps nothing."""
