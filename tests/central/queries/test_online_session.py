"""The online session: answers within α, updates that end, a journal that loses nothing."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from deniable_central.queries import (
    Counts,
    CountsError,
    OnlinePlan,
    OnlineSession,
    SessionDemand,
    SessionError,
    plan_online,
)
from deniable_shared.randomness.coins import Coins
from support.doubles.chosen_coins import Counted
from support.oracles.central_queries import Floats

TALLY = np.array([400_000, 0, 0, 100_000, 0, 0, 0, 500_000])
DATA = Counts(TALLY)
PLAN = plan_online(SessionDemand(10**6, 8, 100), epsilon="2")


def queries(count: int) -> list[list[int]]:
    """Distinct predicates of eight values."""
    return [[(place * 37 % 254 + 1) >> v & 1 for v in range(8)] for place in range(count)]


def opened(**kept: object) -> OnlineSession:
    return OnlineSession.open(DATA, PLAN, **kept)  # type: ignore[arg-type]  # one dict has values of many types


class Kept:
    """A journal in memory that stops keeping after so many records."""

    def __init__(self, room: int = 10**9) -> None:
        self.records: list[bytes] = []
        self.room = room

    def __call__(self, record: bytes) -> None:
        if len(self.records) >= self.room:
            raise OSError("disk full")
        self.records.append(record)


@pytest.mark.statistical
def test_all_planned_answers_are_within_alpha_and_updates_within_c() -> None:
    """20 sessions that each fail with probability ≤ 0.05: 9 or more failures are below 10^−6."""
    failed = 0
    for _ in range(20):
        session = opened()
        worst = max(
            abs(session.ask(query).share - float(np.dot(query, TALLY)) / 10**6)
            for query in queries(100)
        )
        failed += worst > PLAN.error
        assert session.updates_left >= 0
    assert failed < 9


def test_skewed_counts_teach_the_session_until_it_predicts_them() -> None:
    session = opened()
    taught = sum(session.ask(query).taught for query in queries(100))
    assert 0 < taught == PLAN.updates - session.updates_left
    truth: Floats = TALLY / 10**6
    assert float(np.abs(session.weights - truth).max()) < 2 * PLAN.error


def test_a_bar_covers_the_truth_and_ends_with_the_planned_queries() -> None:
    plan = OnlinePlan(SessionDemand(10**6, 8, 2), PLAN.epsilons, PLAN.updates, PLAN.threshold)
    session = OnlineSession.open(DATA, plan)
    bars = [session.ask(query).error_bar for query in queries(3)]
    assert bars[0] is not None
    assert bars[0].confidence == 0.95
    assert bars[1] is not None
    assert bars[2] is None


def test_a_plan_that_its_proof_does_not_cover_promises_nothing() -> None:
    low = OnlinePlan(PLAN.demand, PLAN.epsilons, PLAN.updates, PLAN.threshold - 1)
    noisy = OnlinePlan(PLAN.demand, (Fraction(1), Fraction(1), Fraction(1, 10**4)), 1, 10**6)
    assert PLAN.error < 0.1
    assert low.error == noisy.error == 1
    assert OnlineSession.open(DATA, low).guarantee == PLAN.guarantee


def test_opening_charges_everything_and_asking_charges_nothing() -> None:
    session = opened()
    before = session.guarantee
    for query in queries(50):
        session.ask(query)
    assert session.guarantee == before
    assert before.epsilon == 2
    assert before.adjacency == "replace"


def test_a_query_asked_again_has_its_answer_and_draws_nothing() -> None:
    coins = Counted()
    session = opened(coins=coins)
    first = [session.ask(query) for query in queries(30)]
    read = coins.read
    assert [session.ask(np.array(query)) for query in queries(30)] == first
    assert coins.read == read
    assert session.query_count == 30


def test_after_its_last_update_a_session_predicts_without_looking() -> None:
    plan = OnlinePlan(SessionDemand(10**6, 8, 100), (Fraction(1),) * 3, 1, -(10**9))
    coins = Counted()
    session = OnlineSession.open(DATA, plan, coins=coins)
    assert session.ask(queries(1)[0]).taught
    assert session.updates_left == 0
    read = coins.read
    later = [session.ask(query) for query in queries(20)[1:]]
    assert not any(answer.taught for answer in later)
    assert coins.read == read
    predicted = [float(np.dot(q, session.weights)) for q in queries(20)[1:]]
    assert [a.share for a in later] == pytest.approx(predicted, abs=1e-6)


def test_the_journal_has_each_answer_before_it_is_shown() -> None:
    kept = Kept()
    session = opened(journal=kept)
    assert len(kept.records) == 1
    for number, query in enumerate(queries(10), start=1):
        answer = session.ask(query)
        assert len(kept.records) == number + 1
        assert json.loads(kept.records[-1])["count"] == answer.count
    assert tuple(kept.records) == session.records


def test_a_session_resumed_from_its_records_stands_where_it_stood() -> None:
    session = opened()
    answers = [session.ask(query) for query in queries(40)]
    coins = Counted()
    again = OnlineSession.resume(DATA, session.records, coins=coins)
    assert [again.ask(query) for query in queries(40)] == answers
    assert coins.read == 0
    assert again.weights.tolist() == session.weights.tolist()
    assert (again.updates_left, again.query_count) == (session.updates_left, session.query_count)
    assert again.plan == session.plan
    assert again.records == session.records


def test_a_resumed_session_goes_on_and_numbers_its_records() -> None:
    kept = Kept()
    session = opened(journal=kept)
    session.ask(queries(1)[0])
    again = OnlineSession.resume(DATA, kept.records, journal=kept)
    again.ask(queries(2)[1])
    assert [json.loads(record)["number"] for record in kept.records] == [0, 1, 2]
    assert OnlineSession.resume(DATA, kept.records).query_count == 2


@pytest.mark.parametrize("room", range(1, 12))
def test_wherever_the_journal_fails_nothing_shown_is_lost(room: int) -> None:
    kept, answers = Kept(room), []
    session = opened(journal=kept)

    def ask_all() -> None:
        for query in queries(20):
            answers.append(session.ask(query).taught)

    with pytest.raises(OSError, match="disk full"):
        ask_all()
    with pytest.raises(SessionError, match="resume from its records"):
        session.ask(queries(1)[0])
    again = OnlineSession.resume(DATA, kept.records)
    assert PLAN.updates - again.updates_left == sum(answers)
    assert again.query_count == room - 1


def test_an_opening_that_is_not_kept_opens_nothing() -> None:
    with pytest.raises(OSError, match="disk full"):
        opened(journal=Kept(0))


def test_other_counts_are_refused_and_so_is_another_number_of_rows() -> None:
    records = opened().records
    other = TALLY.copy()
    other[0] -= 1
    other[1] += 1
    with pytest.raises(SessionError, match="not the counts that the session was opened on"):
        OnlineSession.resume(Counts(other), records)
    other[1] -= 1
    with pytest.raises(CountsError, match="as planned"):
        OnlineSession.resume(Counts(other), records)


def test_broken_journals_are_refused_and_say_where() -> None:
    session = opened()
    for query in queries(3):
        session.ask(query)
    first, second, third, fourth = session.records
    wrong_format = first.replace(b"deniable-online/1", b"deniable-online/9")
    for records, message in (
        ((), "at least, got no record"),
        ((second, third), "record 0 is missing"),
        ((first, third, fourth), "record 1 is missing"),
        ((first, second, second), "record 2 is missing"),
        ((first, second, third[:-3]), "record 2 cannot be read"),
        ((first, b'{"number":1}'), "record 1 cannot be read"),
        ((wrong_format,), "format deniable-online/1"),
        ((b'{"number":0,"format":"deniable-online/1"}',), "record 0 cannot be read"),
    ):
        with pytest.raises(SessionError, match=message):
            OnlineSession.resume(DATA, records)


def test_a_last_record_whose_writing_failed_may_be_dropped() -> None:
    session = opened()
    for query in queries(3):
        session.ask(query)
    again = OnlineSession.resume(DATA, session.records[:-1])
    assert again.query_count == 2


def test_the_noisy_threshold_is_drawn_once_and_kept() -> None:
    thresholds = {json.loads(opened().records[0])["noisy_threshold"] for _ in range(50)}
    assert len(thresholds) > 1
    session = opened()
    assert OnlineSession.resume(DATA, session.records).records[0] == session.records[0]


def test_queries_of_fractions_are_answered_in_units_of_their_scale() -> None:
    plan = plan_online(SessionDemand(10**6, 8, 10, scale=4, moves=4), epsilon="2")
    session = OnlineSession.open(DATA, plan)
    answer = session.ask([4, 0, 0, 0, 0, 0, 0, 2])
    assert answer.share == pytest.approx(0.65, abs=plan.error)
    assert answer.count == pytest.approx(answer.share * 4 * 10**6)


@pytest.mark.parametrize("query", [[1] * 7, [2] + [0] * 7, [-1] + [0] * 7])
def test_a_query_outside_the_session_is_refused_by_its_own_values(query: list[int]) -> None:
    with pytest.raises(CountsError, match="query must be 8 integers from 0 to scale = 1"):
        opened().ask(query)


def test_a_query_of_floats_is_refused() -> None:
    with pytest.raises(CountsError, match="must be integers"):
        opened().ask([0.5] * 8)


def test_a_query_that_moves_further_than_planned_is_refused_with_the_cure() -> None:
    plan = plan_online(SessionDemand(10**6, 8, 10, scale=4, moves=2), epsilon="2")
    session = OnlineSession.open(DATA, plan)
    assert session.ask([2, 1, 1, 1, 1, 1, 1, 1]).count
    with pytest.raises(CountsError, match="open one with moves=4"):
        session.ask([4, 0, 0, 0, 0, 0, 0, 0])


def test_counts_other_than_planned_open_nothing() -> None:
    with pytest.raises(CountsError, match="10 over 2"):
        OnlineSession.open(Counts(np.array([5, 5])), PLAN)


def test_a_demand_is_read_off_the_data() -> None:
    assert SessionDemand.of(DATA, queries=100) == PLAN.demand
    assert SessionDemand.of(DATA, queries=5, scale=3).moves == 3
    assert OnlineSession.open(DATA, PLAN, coins=Coins.system()).updates_left == PLAN.updates


def test_a_plan_is_the_best_of_the_numbers_of_updates_that_are_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    demand = SessionDemand(rows=100_000, domain=16, queries=20)
    best = plan_online(demand, epsilon=2)
    monkeypatch.setattr("deniable_central.queries.online_plan._MOST_UPDATES", 3)
    few = plan_online(demand, epsilon=2)
    assert few.updates <= 2
    assert few.error >= best.error


def test_a_split_of_which_rounding_leaves_nothing_is_no_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("deniable_central.queries.online_plan._GRID", 1)
    with pytest.raises(CountsError, match="to promise any error below 1"):
        plan_online(SessionDemand(rows=100_000, domain=16, queries=20), epsilon=2)
