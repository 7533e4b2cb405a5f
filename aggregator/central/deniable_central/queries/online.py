"""Private multiplicative weights: an online session that answers linear queries as they come.

    P = prediction of the public weights, t = raw answer of the counts
    passes    |t − P| + noise < noisy threshold     returns P; reveals nothing else about counts
    teaches   otherwise                             returns t + new noise, and w moves towards it
    after c teaching answers                        returns P permanently

**What is charged when.** `open` charges all of ε1 + ε2 + ε3 before the first query. All queries are
free, and so is `resume`. Opening again is another charge. Privacy holds for every number of rows
and queries; only the accuracy α needs rows.

**A restart loses nothing.** Each answer is stored by `journal` before it is returned. If the
journal raises, nothing is returned and the session ends. `resume(data, records)` continues with the
same noisy threshold, the same weights and the same updates left. Every query that was answered
keeps its answer.

All comparisons are of integers; noise is exact; the threshold's noise is drawn once. The query's
noise has scale 2c times a row's effect, and is never part of an answer.

Source: docs/mathematics/queries.md, A session of questions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_central.errors import CountsError, SessionError
from deniable_central.queries.domain_weights import OnlineWeights
from deniable_central.queries.online_journal import (
    AnswerRecord,
    OpeningRecord,
    query_key,
    read_journal,
)
from deniable_central.queries.workload import Floats, Integers, checked_integers
from deniable_central.release import ErrorBar
from deniable_central.samplers.noise import two_sided_geometric
from deniable_shared.randomness.coins import Coins

if TYPE_CHECKING:
    from fractions import Fraction

    from deniable_central.guarantee import Guarantee
    from deniable_central.queries.count_data import CountData
    from deniable_central.queries.online_plan import OnlinePlan

Journal = Callable[[bytes], None]
"""Stores a record permanently before it returns, or raises."""

_SALT_BYTES = 16


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a query: raw units, a share of the rows, and whether it taught the session.

    `error_bar` holds for all of the first k distinct queries at once; later answers have none.
    """

    count: int
    share: float
    taught: bool
    error_bar: ErrorBar | None


class OnlineSession:
    """An adaptive session of one thread about one data set. Built by `open` or `resume`."""

    law = "private multiplicative weights, sparse vector with geometric noise"

    def __init__(
        self,
        data: CountData,
        opening: OpeningRecord,
        *,
        journal: Journal | None,
        coins: Coins | None,
    ) -> None:
        self._data, self._opening = data, opening
        self._journal, self._coins = journal, coins or Coins.system()
        self._public = OnlineWeights(opening.plan)
        self._answers: dict[str, AnswerRecord] = {}
        self._records = [opening.to_bytes()]
        self._ended = False

    @classmethod
    def open(
        cls,
        data: CountData,
        plan: OnlinePlan,
        *,
        journal: Journal | None = None,
        coins: Coins | None = None,
    ) -> OnlineSession:
        """Draw the threshold's noise. From then on all of `plan.guarantee` is spent."""
        _check(data, plan)
        noise = two_sided_geometric(plan.decays[0], 1, coins)
        salt = os.urandom(_SALT_BYTES)
        opening = OpeningRecord.of(plan, plan.threshold + int(noise[0]), data.fingerprint, salt)
        if journal is not None:
            journal(opening.to_bytes())
        return cls(data, opening, journal=journal, coins=coins)

    @classmethod
    def resume(
        cls,
        data: CountData,
        records: Iterable[bytes],
        *,
        journal: Journal | None = None,
        coins: Coins | None = None,
    ) -> OnlineSession:
        """Continue where the records end, on the same counts, at no cost.

        Raises SessionError if the counts or the records are others.
        """
        opening, answers = read_journal(records)
        _check(data, opening.plan)
        if not opening.is_of(data.fingerprint):
            raise SessionError(
                "these are not the counts that the session was opened on: open another session"
            )
        session = cls(data, opening, journal=journal, coins=coins)
        for answered in answers:
            session._apply(answered)
        return session

    @property
    def plan(self) -> OnlinePlan:
        return self._opening.plan

    @property
    def guarantee(self) -> Guarantee:
        """What opening charged: it covers all answers."""
        return self.plan.guarantee

    @property
    def updates_left(self) -> int:
        """How often the session can still learn; public, like every answer."""
        return self.plan.updates - self._public.updates

    @property
    def query_count(self) -> int:
        """Distinct queries answered so far."""
        return len(self._answers)

    @property
    def weights(self) -> Floats:
        """The present synthetic distribution, float64[domain]: public, read-only, free to use."""
        return self._public.weights

    @property
    def records(self) -> tuple[bytes, ...]:
        """The records that `resume` needs; as secret as the counts."""
        return tuple(self._records)

    def knows(self, query: npt.ArrayLike) -> bool:
        """Return whether the query was answered before. Raises CountsError as `ask` does."""
        return query_key(self._checked(query)) in self._answers

    def ask(self, query: npt.ArrayLike) -> Answer:
        """Answer f(D) = Σ query[v]/scale over the rows, for integers from 0 to scale.

        Raises CountsError for any other query, which depends only on its own values, and
        SessionError once the journal has failed.
        """
        if self._ended:
            raise SessionError("the journal failed, so this session ended: resume from its records")
        checked = self._checked(query)
        key = query_key(checked)
        if key not in self._answers:
            self._keep(self._answered(checked, key))
        return self._public_answer(self._answers[key])

    def _answered(self, query: Integers, key: str) -> AnswerRecord:
        number = len(self._records)
        predicted = self._public.predict(query)
        if self._public.exhausted:
            return AnswerRecord(number, key, predicted, None)
        true = int(self._data.observe(query[None])[0])
        _, of_test, of_answer = self.plan.decays
        if abs(true - predicted) + self._noise(of_test) < self._opening.noisy_threshold:
            return AnswerRecord(number, key, predicted, None)
        return AnswerRecord(number, key, true + self._noise(of_answer), query.tolist())

    def _noise(self, decay: Fraction) -> int:
        return int(two_sided_geometric(decay, 1, self._coins)[0])

    def _keep(self, answered: AnswerRecord) -> None:
        """Store an answer, then apply it: an answer that is not stored is not returned."""
        if self._journal is not None:
            self._ended = True
            self._journal(answered.to_bytes())
            self._ended = False
        self._apply(answered)

    def _apply(self, answered: AnswerRecord) -> None:
        if answered.taught is not None:
            self._public.learn(np.array(answered.taught, dtype=np.int64), answered.count)
        self._answers[answered.key] = answered
        self._records.append(answered.to_bytes())

    def _public_answer(self, answered: AnswerRecord) -> Answer:
        demand = self.plan.demand
        bar = None
        if answered.number <= demand.queries:
            share = min(max(answered.count / demand.unit, 0.0), 1.0)
            low, high = max(0.0, share - self.plan.error), min(1.0, share + self.plan.error)
            bar = ErrorBar("share of the rows", low, high, 1 - demand.beta)
        taught = answered.taught is not None
        return Answer(answered.count, answered.count / demand.unit, taught, bar)

    def _checked(self, query: npt.ArrayLike) -> Integers:
        demand = self.plan.demand
        array = checked_integers(query, argument="query", dimensions=1)
        if len(array) != demand.domain or array.min() < 0 or array.max() > demand.scale:
            raise CountsError(
                f"query must be {demand.domain} integers from 0 to scale = {demand.scale}"
            )
        moves = self._data.sensitivity(array[None])
        if moves > demand.moves:
            raise CountsError(
                f"one row may move this query's answer by {moves}, the session allows "
                f"{demand.moves}: open one with moves={moves}"
            )
        return array


def _check(data: CountData, plan: OnlinePlan) -> None:
    demand = plan.demand
    if (data.rows, data.domain, data.gain) != (demand.rows, demand.domain, demand.gain):
        raise CountsError(
            f"counts must be of {demand.rows:,} rows over {demand.domain} values, as planned, "
            f"got {data.rows:,} over {data.domain}"
        )
