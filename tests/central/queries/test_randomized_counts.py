"""Counts that were randomized before: what a collection will bring to linear releases."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256

import numpy as np
import pytest

from deniable_central.errors import AdjacencyError
from deniable_central.queries import (
    Counts,
    Mwem,
    OnlinePlan,
    OnlineSession,
    SessionDemand,
    SmallDb,
    mwem_error,
    plan_online,
)
from deniable_central.queries.workload import Integers
from support.oracles.central_queries import FOUR_QUERIES, Tally, error, exchanged_tallies
from support.oracles.mwem_pmf import mwem_pmf
from support.oracles.neighbour_pmfs import check_pure
from support.oracles.online_pmf import online_pmf


@dataclass(frozen=True)
class Randomized:
    """Three-ary responses, p = 2/3, q = 1/6: raw counts less their offset, gain p − q = 1/2."""

    tally: Integers
    gain: Fraction = Fraction(1, 2)

    @property
    def rows(self) -> int:
        return int(self.tally.sum())

    @property
    def domain(self) -> int:
        return len(self.tally)

    @property
    def fingerprint(self) -> bytes:
        return sha256(self.tally.tobytes()).digest()

    def observe(self, queries: Integers) -> Integers:
        offsets: Integers = self.rows * queries.sum(axis=1) // 6  # public, so it may be rounded
        observed: Integers = queries @ self.tally - offsets
        return observed

    def sensitivity(self, queries: Integers) -> int:
        return Counts(np.ones(self.domain, dtype=int)).sensitivity(queries)


def randomized(tally: Tally) -> Randomized:
    return Randomized(np.array(tally, dtype=np.int64))


def expected(truth: Tally) -> Randomized:
    """What reports of these rows are on average: n/6 everywhere, and half of the truth."""
    return randomized(tuple(sum(truth) // 6 + count // 2 for count in truth))


PAIRS = exchanged_tallies(3, [1, 3])


def test_a_small_database_of_randomized_counts_costs_epsilon_a_report() -> None:
    mechanism = SmallDb.of(FOUR_QUERIES, epsilon="2", size=3)
    check_pure(lambda tally: mechanism.pmf(randomized(tally)), PAIRS, mechanism.guarantee)


def test_mwem_of_randomized_counts_costs_epsilon_a_report() -> None:
    mechanism = Mwem.of(FOUR_QUERIES, rounds=1, epsilon="2")
    check_pure(
        lambda tally: mwem_pmf(mechanism, randomized(tally), reach=5), PAIRS, mechanism.guarantee
    )


def test_a_session_on_randomized_counts_costs_epsilon_a_report() -> None:
    data = randomized((1, 1, 1))
    third = Fraction(2, 3)
    plan = OnlinePlan(SessionDemand.of(data, queries=2), (third, third, third), 1, 2)
    check_pure(
        lambda tally: online_pmf(plan, randomized(tally), [[1, 0, 0], [0, 1, 1]], reach=5),
        exchanged_tallies(3, [3]),
        plan.guarantee,
    )


def test_answers_are_about_the_truth_and_not_about_the_reports() -> None:
    truth = (600_000, 0, 300_000)
    data, shares = expected(truth), np.array(truth) / 900_000
    session = OnlineSession.open(data, plan_online(SessionDemand.of(data, queries=9), epsilon="20"))
    assert session.ask([1, 0, 0]).share == pytest.approx(shares[0], abs=session.plan.error)
    synthesis = Mwem.of(FOUR_QUERIES, rounds=30, epsilon="20").release(data).result
    assert error(FOUR_QUERIES, truth, synthesis.weights) < 0.05
    database = SmallDb.of(FOUR_QUERIES, epsilon="20", size=12).release(data).result
    assert database.rows == (0,) * 8 + (2,) * 4


def test_bars_count_what_randomizing_did_where_it_is_said() -> None:
    data = expected((600_000, 0, 300_000))
    near, far = (
        Mwem.of(FOUR_QUERIES, rounds=30, epsilon="20", local_error=local).release(data)
        for local in (0.0, 0.01)
    )
    ends = [release.error_bars[0].upper or 0.0 for release in (near, far)]
    assert ends[1] > ends[0] + 0.02
    exact = mwem_error(
        rows=900_000,
        domain=3,
        queries=4,
        rounds=30,
        epsilon=Fraction(20),
        beta=0.05,
        unit=Fraction(1, 2),
    )
    assert ends[0] == pytest.approx(exact)


def test_the_lemma_promises_nothing_about_counts_that_are_no_rows() -> None:
    release = SmallDb.of(FOUR_QUERIES, epsilon="1", size=3).release(randomized((5, 5, 5)))
    assert release.error_bars[0].quantity.endswith("above the best candidate's")


def test_the_n_of_reports_is_public_so_a_report_more_is_refused() -> None:
    mechanism = SmallDb.of(FOUR_QUERIES, epsilon="1", size=3, adjacency="add/remove")
    with pytest.raises(AdjacencyError, match=r'use adjacency "replace"'):
        mechanism.release(randomized((5, 5, 5)))
