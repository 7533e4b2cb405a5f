"""What the accuracy theorems promise, and the rows they ask for: the numbers of the reference."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from deniable_central.queries import (
    CountsError,
    SessionDemand,
    best_rounds,
    closed_form_rows,
    laplace_rows,
    mwem_error,
    mwem_rows,
    online_rows,
    plan_online,
    plan_small_db,
    rows_needed,
    sampling_size,
    small_db_error,
    useful_rows,
)
from deniable_central.queries.database_sizes import least_error
from deniable_central.queries.small_db_bounds import log_multisets, selection_error
from deniable_central.samplers.noise import tail_quantile
from deniable_shared.errors import ParameterError
from support.tiers import rows

GUIDANCE = [(64, 1000, 2.5e5, 1.0e5, 7.1e5), (65536, 100_000, 1.1e6, 1.4e7, 2.6e6)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("domain", "queries", "small", "noise", "online"), rows(GUIDANCE, by_default=GUIDANCE[:1])
)
def test_the_rows_needed_at_a_tenth_epsilon_1_and_95_percent(
    domain: int, queries: int, small: float, noise: float, online: float
) -> None:
    needed = rows_needed(domain=domain, queries=queries, alpha="0.1", epsilon="1")
    assert needed.small_db == pytest.approx(small, rel=0.05)
    assert needed.noise == pytest.approx(noise, rel=0.05)
    assert needed.online == pytest.approx(online, rel=0.05)
    assert needed.mwem < 1.5 * needed.online


def test_the_closed_form_needs_an_alpha_of_at_most_1() -> None:
    with pytest.raises(ParameterError, match=r"alpha must lie in \(0, 1\]"):
        closed_form_rows(domain=8, queries=20, alpha=2, epsilon=1.0, beta=0.05)


def test_the_closed_form_is_enough_for_half_of_alpha_each() -> None:
    facts: dict[str, Any] = {"domain": 16, "queries": 50}
    rows = closed_form_rows(**facts, alpha="0.2", epsilon=1.0, beta=0.05)
    size = sampling_size(50, "0.1")
    assert small_db_error(rows=rows, **facts, size=size, epsilon=1.0, beta=0.05) <= 0.2


@pytest.mark.parametrize(("domain", "queries"), [(16, 50), (65536, 10**5)])
def test_a_planned_size_needs_fewer_rows_and_meets_alpha(domain: int, queries: int) -> None:
    facts: dict[str, Any] = {"domain": domain, "queries": queries}
    plan = plan_small_db(**facts, alpha="0.1", epsilon=1.0, beta=0.05)
    assert plan.rows < closed_form_rows(**facts, alpha="0.1", epsilon=1.0, beta=0.05)
    facts |= {"rows": plan.rows, "size": plan.size}
    assert small_db_error(**facts, epsilon=1.0, beta=0.05) <= 0.1
    assert plan.log_candidates == log_multisets(domain, plan.size)


def test_multisets_are_counted_in_logarithms() -> None:
    assert log_multisets(8, 12) == pytest.approx(math.log(math.comb(19, 12)))


def test_a_useful_database_of_halfspaces_takes_these_rows() -> None:
    """(4/(εα))(mk ln 2 + ln(1/δ))."""
    rows = useful_rows(bits=3, size=14, alpha="0.9", epsilon=1.0, delta=0.05)
    assert rows == math.ceil(4 / 0.9 * (14 * 3 * math.log(2) + math.log(20)))


def test_a_bound_above_1_promises_nothing_more_than_1() -> None:
    assert small_db_error(rows=1, domain=8, queries=20, size=4, epsilon=1.0, beta=0.05) == 1
    assert mwem_error(rows=9, domain=8, queries=20, rounds=4, epsilon=Fraction(1), beta=0.05) == 1


@pytest.mark.parametrize("rounds", [5, 10, 50])
@pytest.mark.parametrize("rows", [10**4, 10**6])
def test_the_bound_of_mwem_is_below_the_published_one(rounds: int, rows: int) -> None:
    """2√(ln|X|/T) + 10T ln|Q|/(nε) with probability 1 − 2T/|Q|."""
    domain, queries = 64, 1000
    published = 2 * math.sqrt(math.log(domain) / rounds) + 10 * rounds * math.log(queries) / rows
    ours = mwem_error(
        rows=rows,
        domain=domain,
        queries=queries,
        rounds=rounds,
        epsilon=Fraction(1),
        beta=2 * rounds / queries,
    )
    assert ours < min(1.0, published)


def test_the_best_rounds_are_within_a_percent_of_the_best_there_are() -> None:
    facts: dict[str, Any] = {"rows": 10**5, "domain": 64, "queries": 1000}

    def error(rounds: int) -> float:
        return mwem_error(**facts, rounds=rounds, epsilon=Fraction(1), beta=0.05)

    best = best_rounds(**facts, epsilon=Fraction(1), beta=0.05)
    assert error(best) <= 1.01 * min(error(rounds) for rounds in range(1, 400))


def test_local_error_costs_mwem_at_least_twice_itself() -> None:
    facts: dict[str, Any] = {"rows": 10**6, "domain": 64, "queries": 1000, "rounds": 50}
    near = mwem_error(**facts, epsilon=Fraction(1), beta=0.05)
    far = mwem_error(**facts, epsilon=Fraction(1), beta=0.05, local_error=0.01)
    assert near + 0.02 < far < near + 0.03


@pytest.mark.parametrize("rows", [20_000, 10**6])
@pytest.mark.parametrize("queries", [1, 1000])
def test_an_online_plan_keeps_what_its_proof_uses(rows: int, queries: int) -> None:
    demand = SessionDemand(rows, 64, queries)
    plan = plan_online(demand, epsilon="1")
    assert sum(plan.epsilons) == 1
    units = plan.step * demand.unit
    assert tail_quantile(plan.decays[2], demand.beta / (3 * plan.updates)) <= units
    assert plan.threshold >= units + 0.5 + sum(plan.reaches)
    assert plan.updates * 2 * plan.step**2 >= math.log(64) * (1 - 1e-12)


def test_the_online_error_is_about_g_and_twice_tau() -> None:
    """α = g + 2τ, τ = ln(3/β)/(nε1) + 2c ln(3k/β)/(nε2)."""
    demand = SessionDemand(10**6, 64, 1000)
    plan = plan_online(demand, epsilon="1")
    first, second, _ = map(float, plan.epsilons)
    tau = math.log(60) / first + 2 * plan.updates * math.log(60_000) / second
    assert plan.error == pytest.approx(plan.step + 2 * tau / 10**6, rel=0.01)


def test_the_best_number_of_updates_is_within_a_percent_of_all() -> None:
    """At the optimum of one coordinate, moving a fifth either way must not help by 1%."""
    best = plan_online(SessionDemand(710_000, 64, 1000), epsilon="1")
    assert best.error == pytest.approx(0.1, rel=0.001)
    assert best.updates == pytest.approx(430, rel=0.05)


@pytest.mark.slow
def test_local_error_is_added_to_the_threshold_and_to_the_error() -> None:
    near = plan_online(SessionDemand(10**6, 64, 1000), epsilon="1")
    far = plan_online(SessionDemand(10**6, 64, 1000, local_error=0.01), epsilon="1")
    assert far.error == pytest.approx(near.error + 0.02, abs=0.002)


@pytest.mark.slow
def test_rows_that_are_planned_are_enough_and_1_percent_less_are_not() -> None:
    rows = online_rows("0.1", domain=64, queries=1000, epsilon="1")
    assert plan_online(SessionDemand(rows, 64, 1000), epsilon="1").error <= 0.1
    assert plan_online(SessionDemand(rows * 99 // 100, 64, 1000), epsilon="1").error > 0.1


def test_too_few_rows_for_any_promise_are_refused_with_what_to_ask() -> None:
    with pytest.raises(CountsError, match="online_rows says how many"):
        plan_online(SessionDemand(50, 64, 1000), epsilon="1")


def test_an_alpha_beyond_all_rounds_is_refused() -> None:
    with pytest.raises(ParameterError, match="allow a larger alpha"):
        mwem_rows("0.001", domain=64, queries=10, epsilon=Fraction(1), beta=0.05)


@pytest.mark.parametrize("facts", [{"rows": 0}, {"domain": 1}, {"queries": 0}, {"beta": 1.0}])
def test_impossible_demands_are_refused(facts: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="must"):
        SessionDemand(**({"rows": 10, "domain": 4, "queries": 5} | facts))


def test_impossible_chances_are_refused() -> None:
    with pytest.raises(ParameterError, match="failure probability"):
        selection_error(candidates=5, epsilon=1.0, beta=0.0)
    with pytest.raises(ParameterError, match="epsilon must be positive"):
        laplace_rows(queries=5, alpha="0.1", epsilon=0.0, beta=0.5)
    with pytest.raises(ParameterError, match="local_error"):
        SessionDemand(10, 4, 5, local_error=1.0)


def test_a_size_that_leaves_no_room_for_the_selection_is_passed_over() -> None:
    alpha = least_error(10, 50)
    assert sampling_size(10, alpha) == 50
    assert plan_small_db(domain=4, queries=10, alpha=alpha, epsilon=1, beta=0.05).size > 50
