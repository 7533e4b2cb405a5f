"""Private multiplicative weights: an online session that answers linear queries as they come.

    P = prediction of the public weights, t = raw answer of the counts
    passes    |t − P| + noise < noisy threshold     answered P; nothing about the counts but that
    teaches   otherwise                             answered t + fresh noise, and w moves towards it
    after c teaching answers                        answered P for ever

**What is charged when.** `open` is the charge: all of ε1 + ε2 + ε3, before the first query. Asking
is free, whatever is asked and however often; so is `resume`. Opening again is another charge.
Privacy holds for every number of rows and queries; that answers are within α takes rows.

**A restart loses nothing.** Each answer is given to `journal` before it is shown; if the journal
raises, nothing is shown and the session ends. `resume(data, records)` stands where it stood: same
noisy threshold, same weights, same updates left, and every query once answered has that answer.

Integers are compared with integers throughout; noise is exact; the threshold's noise is drawn once.
The query's noise has twice c times the row's reach, and is never part of an answer.
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
"""Keeps a record for good before it returns, or raises."""

_SALT_BYTES = 16


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query was answered: raw units, a share of the rows, and whether that taught.

    `error_bar` holds for all of the first k distinct queries at once; past them there is none.
    """

    count: int
    share: float
    taught: bool
    error_bar: ErrorBar | None


class OnlineSession:
    """One adaptive conversation about one data set, of one thread. Built by `open` or `resume`."""

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
        """Draw the threshold's noise: from here on the whole of `plan.guarantee` is spent."""
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
        """Go on where the records end, on the same counts, at no cost; SessionError otherwise."""
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
        """What opening charged: it covers every answer there will ever be."""
        return self.plan.guarantee

    @property
    def updates_left(self) -> int:
        """How often the session may still learn; public, like every answer."""
        return self.plan.updates - self._public.updates

    @property
    def query_count(self) -> int:
        """Distinct queries answered so far."""
        return len(self._answers)

    @property
    def weights(self) -> Floats:
        """The synthetic distribution as it stands: public, read-only, free to ask."""
        return self._public.weights

    @property
    def records(self) -> tuple[bytes, ...]:
        """All there is to `resume` from; as secret as the counts."""
        return tuple(self._records)

    def knows(self, query: npt.ArrayLike) -> bool:
        """Whether it was answered before; CountsError as `ask`."""
        return query_key(self._checked(query)) in self._answers

    def ask(self, query: npt.ArrayLike) -> Answer:
        """Answer f(D) = Σ query[v]/scale over the rows, for integers from 0 to scale.

        CountsError for another kind of query, by its own values alone. SessionError once the
        journal has failed.
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
        """Journal first: an answer that is not kept is not given, and may have been a lesson."""
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
