"""Online sessions over collections: privacy, restart, adaptive questions, what a record must be."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from deniable_aggregator.releases.kinds import prepare
from deniable_aggregator.releases.kinds.contract import ReleaseContext
from deniable_aggregator.releases.kinds.message_spaces import message_space_of
from deniable_aggregator.releases.kinds.queries import PreparedQuerySession
from deniable_aggregator.releases.kinds.randomized_counts import (
    RandomizedCounts,
    local_error,
    workload_sensitivity,
)
from deniable_central.pmf import Pmf
from deniable_central.queries import (
    OnlinePlan,
    SessionDemand,
    SessionError,
    heuristic_plan,
)
from deniable_shared.errors import DeniableError, ParameterError
from support.builders.release_contexts import Vector, context, neighbours, tallies
from support.builders.small_mechanisms import (
    CHOICES,
    SMALL,
    mechanism,
)
from support.doubles.chosen_coins import Fixed
from support.oracles.central_queries import binomial_tail
from support.oracles.neighbour_pmfs import check_pure
from support.oracles.online_pmf import online_pmf
from support.oracles.selection_checks import FALSE_ALARM
from support.tiers import grid

BUILT = mechanism("grr/1", 4, "2")
N = 200_000
EACH = grid(sorted(CHOICES), by_default=sorted(CHOICES)[::4])
SKEWED = tallies((110_000, 40_000, 30_000, 20_000), N)


def asked(given: ReleaseContext | None = None, **more: object) -> PreparedQuerySession:
    arguments: dict[str, object] = {"epsilon": "1", **more}
    release = prepare("queries", arguments, given or context(BUILT, N))
    assert isinstance(release, PreparedQuerySession)
    return release


def question(*places: int) -> dict[str, object]:
    return {"labels": [f"label {place}" for place in places]}


QUESTIONS = [question(0), question(1, 2), question(0, 1, 2), question(3), question(0, 3)]


@pytest.mark.parametrize("name", EACH)
def test_no_report_replaced_is_told_by_more_than_epsilon(name: str) -> None:
    built, third = CHOICES[name], Fraction(2, 3)
    n, gain = 3 if built.id == "grr/1" else 2, built.p - built.q
    moves = message_space_of(built).label_sensitivity.sets
    demand = SessionDemand(rows=n, domain=built.domain_size, queries=2, gain=gain, moves=moves)
    session = OnlinePlan(demand, (third, third, third), 1, 2)
    queries = list(np.tri(built.domain_size, dtype=np.int64)[:2])

    def law(counts: Vector) -> Pmf[Any]:
        data = RandomizedCounts.of(context(built, n), tallies(counts, n))
        return online_pmf(session, data, queries, reach=4)

    check_pure(law, neighbours(built, n), session.guarantee)


@pytest.mark.slow
@pytest.mark.parametrize("name", EACH)
def test_a_session_allows_for_what_a_report_moves_the_widest_question_by(name: str) -> None:
    built = CHOICES[name]
    release = asked(context(built, 10**9), epsilon="8", questions=9)
    sets = np.array(list(product((0, 1), repeat=built.domain_size)))
    assert release.linear.demand.moves == workload_sensitivity(built, sets)


def test_opening_is_the_charge_of_all_of_epsilon() -> None:
    release = asked(epsilon="0.7")
    assert release.guarantee.epsilon == Fraction(7, 10)
    assert release.guarantee.delta == 0


def test_opening_shows_only_public_facts_and_keeps_the_record_first() -> None:
    release, kept = asked(), list[bytes]()
    _, drawn = release.open(SKEWED, kept.append)
    assert len(kept) == 1
    for counts in [(N, 0, 0, 0), (N - 1, 1, 0, 0), (0, 0, 0, N)]:
        assert release.draw(tallies(counts, N)) == drawn
    assert drawn.error_bars == release.expected


def test_the_same_question_has_the_same_answer_in_whatever_order() -> None:
    session, _ = asked().open(SKEWED, list[bytes]().append)
    first = session.ask(question(2, 0))
    session.ask(question(1))
    assert session.ask(question(0, 2)) == first
    assert first.result["labels"] == ["label 0", "label 2"]


def test_a_restart_answers_as_if_it_had_not_been() -> None:
    release = asked(questions=10)
    whole, broken = list[bytes](), list[bytes]()
    session, _ = release.open(SKEWED, whole.append, Fixed(rest=0x6B))
    expected = [session.ask(one) for one in QUESTIONS]
    release.open(SKEWED, broken.append, Fixed(rest=0x6B))
    sessions = []
    for one in QUESTIONS:
        again = release.resume(SKEWED, list(broken), broken.append, Fixed(rest=0x6B))
        sessions.append(again.ask(one))
    assert sessions == expected
    assert [json.loads(record) for record in broken[1:]] == [json.loads(r) for r in whole[1:]]
    assert any(answer.result["measured"] for answer in sessions)
    last = release.resume(SKEWED, whole, whole.append)
    assert [last.ask(one) for one in QUESTIONS] == expected
    assert len(whole) == len(QUESTIONS) + 1


def refuse(record: bytes) -> None:
    raise OSError("disk full")


def test_what_is_not_kept_is_not_answered() -> None:
    release, kept = asked(), list[bytes]()
    release.open(SKEWED, kept.append)
    session = release.resume(SKEWED, kept, refuse)
    with pytest.raises(OSError, match="disk full"):
        session.ask(question(0))
    with pytest.raises(SessionError, match="resume"):
        session.ask(question(0))
    with pytest.raises(OSError, match="disk full"):
        release.open(SKEWED, refuse)


def test_records_of_other_counts_another_price_or_with_a_gap_are_refused() -> None:
    release, kept = asked(), list[bytes]()
    session, _ = release.open(SKEWED, kept.append)
    session.ask(question(0))
    session.ask(question(1))
    with pytest.raises(SessionError, match="not the counts"):
        release.resume(tallies((N, 0, 0, 0), N), kept, kept.append)
    with pytest.raises(SessionError, match="another price"):
        asked(epsilon="2").resume(SKEWED, kept, kept.append)
    with pytest.raises(SessionError, match="record 1 is missing"):
        release.resume(SKEWED, [kept[0], kept[2]], kept.append)


def population(shares: Any, n: int, built: Any) -> Callable[[], Vector]:
    draw = np.random.default_rng()  # noqa: TID251  (a population)
    chances = float(built.q) + float(built.p - built.q) * np.array(shares)
    return lambda: tuple(draw.multinomial(n, chances / chances.sum()).tolist())


@pytest.mark.statistical
def test_answers_are_within_the_bar_of_the_truth() -> None:
    """200 sessions of 14 questions miss at most 5% each: above 28 is below 1e-6."""
    truth, missed = np.array([0.6, 0.3, 0.1, 0.0]), 0
    release, reports = asked(questions=14), population([0.6, 0.3, 0.1, 0.0], N, BUILT)
    sets = [[v for v in range(4) if bits >> v & 1] for bits in range(1, 15)]
    for _ in range(200):
        session, _ = release.open(tallies(reports(), N), list[bytes]().append)
        results: list[Any] = [session.ask(question(*places)).result for places in sets]
        missed += any(
            not one["lower"] <= float(truth[places].sum()) <= one["upper"]
            for one, places in zip(results, sets, strict=True)
        )
    assert release.linear.error < 0.25
    assert binomial_tail(200, 0.05, missed) > FALSE_ALARM


@pytest.mark.statistical
def test_the_bar_holds_for_the_set_that_the_devices_noise_is_worst_for() -> None:
    """What a question asks may follow the noise: a bound for one question alone would miss.

    256 labels: the worst set is off by 6.4·√n on average, standard deviation 0.6; 1.5·√n is what
    one question is allowed, 9.5·√n what any is: 5.3 standard deviations, 10 collections, so false
    alarms are below 1e-6.
    """
    built, n = mechanism("grr/1", 256, "0.1"), 100_000
    given, reports = context(built, n), population([1 / 256] * 256, n, built)
    one, every = (
        local_error(given, queries=queries, beta=0.025, moves=1) for queries in (1, 1 << 255)
    )
    for _ in range(10):
        data = RandomizedCounts(built, n, np.array(reports()))
        worst = (data.counts > n / 256).astype(np.int64)
        off = abs(float(data.observe(worst[None])[0]) / float(n * data.gain) - worst.mean())
        assert one < off < every
    planned = asked(context(BUILT, N)).linear.demand.local_error
    assert planned == pytest.approx(local_error(context(BUILT, N), queries=8, beta=0.025, moves=1))


def test_past_the_planned_questions_there_is_an_answer_and_no_bar() -> None:
    session, _ = asked(questions=2).open(SKEWED, list[bytes]().append)
    drawn = [session.ask(one) for one in QUESTIONS[:3]]
    assert [len(one.error_bars) for one in drawn] == [4, 4, 0]
    assert drawn[2].result["lower"] is None
    json.dumps([dict(one.result) for one in drawn], allow_nan=False)


@pytest.mark.slow
def test_answers_have_both_parts_of_the_error_and_epochs_widen_one() -> None:
    session, drawn = asked().open(SKEWED, list[bytes]().append)
    around, local, central, both = session.ask(question(0)).error_bars
    assert (local, central, both) == drawn.error_bars
    assert (local.upper or 0) + (central.upper or 0) == pytest.approx(both.upper)
    assert (around.upper or 0) - (around.lower or 0) <= 2 * (both.upper or 0)
    chain, n = SMALL["grr-chain"], 10**8
    once, often = (asked(context(chain, n, epochs=epochs)).expected[0].upper for epochs in (1, 9))
    assert often == pytest.approx(3 * (once or math.nan), rel=1e-3)


REFUSED: list[tuple[ReleaseContext, dict[str, object], str]] = [
    (context(BUILT, N), {"questions": 0}, r"whole number in \[1, 1,000,000\]"),
    (context(BUILT, N), {"epsilon": "0"}, "must lie in"),
    (context(BUILT, 1 << 31), {}, "release fewer epochs"),
    (context(SMALL["rr-2"], N), {}, "one label of several.*use histogram"),
]


@pytest.mark.parametrize(("given", "more", "message"), REFUSED)
def test_what_is_no_request_is_refused_before_the_charge(
    given: ReleaseContext, more: dict[str, object], message: str
) -> None:
    with pytest.raises(DeniableError, match=message):
        asked(given, **more)


@pytest.mark.parametrize(
    "wrong",
    [{}, {"label": "label 0"}, {"labels": []}, {"labels": ["nobody"]}, {"labels": [0]}],
)
def test_what_is_no_question_is_refused_and_keeps_nothing(wrong: dict[str, object]) -> None:
    kept = list[bytes]()
    session, _ = asked().open(SKEWED, kept.append)
    with pytest.raises(ParameterError, match="labels"):
        session.ask(wrong)
    assert len(kept) == 1


FEW: dict[str, tuple[ReleaseContext, str]] = {
    "20,000 over 20 labels, 1 and 0.5": (context(mechanism("grr/1", 20), 20_000), "0.5"),
    "20,000 over 20 labels, 1 and 2": (context(mechanism("grr/1", 20), 20_000), "2"),
    "20,000 over 20 labels, 0.5 and 0.5": (context(mechanism("grr/1", 20, "0.5"), 20_000), "0.5"),
    "12 over 4": (context(BUILT, 12), "1"),
    "1,000 over 4, 2 and 0.01": (context(BUILT, 1000), "0.01"),
    "200,000 over 3,000": (context(mechanism("grr/1", 3000), N), "1"),
}


@pytest.mark.parametrize("name", FEW)
def test_few_reports_open_a_session_whose_bar_promises_nothing(name: str) -> None:
    """No bound below 1 can be proven of these; the price is that of any other session."""
    given, epsilon = FEW[name]
    release, size = asked(given, epsilon=epsilon), given.domain.size
    session, _ = release.open(tallies((given.n, *[0] * (size - 1)), given.n), list[bytes]().append)
    answer = session.ask(question(0, 2))
    assert release.guarantee.epsilon == Fraction(epsilon)
    assert [(bar.lower, bar.upper) for bar in release.expected] == [(0.0, 1.0)]
    assert (answer.result["lower"], answer.result["upper"]) == (0.0, 1.0)


@pytest.mark.parametrize("name", EACH)
def test_a_session_without_a_bound_is_as_private(name: str) -> None:
    built = CHOICES[name]
    n, gain = 3 if built.id == "grr/1" else 2, built.p - built.q
    moves = message_space_of(built).label_sensitivity.sets
    demand = SessionDemand(rows=n, domain=built.domain_size, queries=2, gain=gain, moves=moves)
    session = heuristic_plan(demand, epsilon=2, deviation=0.1)
    queries = list(np.tri(built.domain_size, dtype=np.int64)[:2])

    def law(counts: Vector) -> Pmf[Any]:
        data = RandomizedCounts.of(context(built, n), tallies(counts, n))
        return online_pmf(session, data, queries, reach=4)

    check_pure(law, neighbours(built, n), session.guarantee)
    assert session.guarantee.epsilon == 2


def test_a_session_over_few_reports_learns_what_most_people_say() -> None:
    """9 of 10 people say label 0; a session that learns nothing answers 1 of 20.

    Both random parts of a share, the devices' and the release's, have standard deviations of
    0.03 and of 0.05: 0.4 is 10 of them away.
    """
    given, draw = FEW["20,000 over 20 labels, 1 and 2"][0], np.random.default_rng()  # noqa: TID251  (draws people of a test)
    shares = np.array([0.9, *[0.1 / 19] * 19])
    chances = float(given.mechanism.q) + float(given.mechanism.p - given.mechanism.q) * shares
    reports = draw.multinomial(given.n, chances / chances.sum()).tolist()
    session, _ = asked(given, epsilon="2").open(
        tallies(tuple(reports), given.n), list[bytes]().append
    )
    answer: Any = session.ask(question(0)).result
    assert answer["measured"]
    assert answer["share"] > 0.5


def test_noise_that_cannot_be_drawn_is_refused() -> None:
    demand = SessionDemand(rows=100, domain=4, queries=2, moves=1 << 40)
    with pytest.raises(ParameterError, match="epsilon must be larger"):
        heuristic_plan(demand, epsilon="0.0001", deviation=0.1)


def test_a_plan_has_one_spelling_that_reads_back_as_itself() -> None:
    first = asked(questions="0050", epsilon="1.0")
    again = prepare("queries", first.parameters, context(BUILT, N))
    assert dict(again.parameters) == {"questions": 50, "epsilon": "1"}
