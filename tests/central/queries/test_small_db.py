"""SmallDB: its law by enumeration, privacy under both adjacencies, accuracy, refusals."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import cache, partial
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt
import pytest

from deniable_central.errors import AdjacencyError
from deniable_central.pmf import Pmf
from deniable_central.queries import (
    Counts,
    CountsError,
    EnumerationError,
    SmallDb,
    Workload,
    halfspaces,
    points,
    sampling_size,
    small_db,
    small_db_error,
    useful_rows,
)
from deniable_central.queries.multisets import AllMultisets, DrawnMultisets, multisets
from deniable_shared.errors import ParameterError
from deniable_shared.randomness.coins import Coins
from support.oracles.central_queries import (
    FOUR_QUERIES,
    FRACTIONS,
    Tally,
    all_tallies,
    enlarged_tallies,
    error,
    exact_error,
    exchanged_tallies,
)
from support.oracles.neighbour_pmfs import check_epsilon_is_reached, check_pure
from support.oracles.selection_checks import check_follows
from support.tiers import grid

TWENTY = Workload(np.array([[i >> v & 1 for v in range(8)] for i in range(37, 237, 10)]))


def by_definition(workload: Workload, size: int, epsilon: float, tally: Tally) -> list[float]:
    """e^(−ε·n·max_f|f(x) − f(y)|/2), normalised."""
    n = sum(tally)
    weights = [
        math.exp(-epsilon * n * exact_error(workload, tally, rows) / 2)
        for rows in combinations_with_replacement(range(workload.domain), size)
    ]
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize("workload", [FOUR_QUERIES, FRACTIONS])
@pytest.mark.parametrize("tally", [(3, 0, 1), (0, 5, 2), (1, 1, 1)])
def test_the_law_is_the_definitions(workload: Workload, tally: Tally) -> None:
    mechanism = SmallDb.of(workload, epsilon="1", size=3)
    pmf = mechanism.pmf(Counts(np.array(tally)))
    in_order = dict(zip(pmf.outcomes, pmf.probabilities, strict=True))
    expected = by_definition(workload, 3, 1.0, tally)
    for rows, chance in zip(combinations_with_replacement(range(3), 3), expected, strict=True):
        assert in_order[rows] == pytest.approx(chance, rel=1e-12)


@pytest.mark.parametrize("workload", [FOUR_QUERIES, FRACTIONS])
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("epsilon", ["0.5", "3"])
def test_no_small_data_set_leaks_more_than_epsilon_when_a_row_is_replaced(
    workload: Workload, size: int, epsilon: str
) -> None:
    mechanism = SmallDb.of(workload, epsilon=epsilon, size=size)
    pairs = exchanged_tallies(3, [1, 2, 4])
    check_pure(lambda t: mechanism.pmf(Counts(np.array(t))), pairs, mechanism.guarantee)


@pytest.mark.parametrize("workload", [FOUR_QUERIES, FRACTIONS])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_small_data_set_leaks_more_than_epsilon_for_one_row(
    workload: Workload, size: int
) -> None:
    mechanism = SmallDb.of(workload, epsilon="3", size=size, adjacency="add/remove")
    pairs = enlarged_tallies(3, [0, 1, 3])
    check_pure(lambda t: mechanism.pmf(Counts(np.array(t))), pairs, mechanism.guarantee)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("adjacency", "one", "other"),
    [("replace", (2000, 2000), (2001, 1999)), ("add/remove", (0, 4000), (1, 4000))],
)
def test_epsilon_is_reached_so_the_half_in_the_exponent_is_all_it_takes(
    adjacency: str, one: Tally, other: Tally
) -> None:
    mechanism = SmallDb.of(points(2), epsilon="1", size=100, adjacency=adjacency)
    pairs = [(one, other)]
    check_pure(lambda t: mechanism.pmf(Counts(np.array(t))), pairs, mechanism.guarantee)
    check_epsilon_is_reached(
        lambda t: mechanism.pmf(Counts(np.array(t))), pairs, mechanism.guarantee
    )


def test_candidates_that_public_coins_drew_are_as_private_however_few() -> None:
    for count in (1, 2, 5, 40):
        mechanism = SmallDb.of(FOUR_QUERIES, epsilon="2", size=2, candidates=count)
        chosen = mechanism.candidates

        def by_place(tally: Tally, mechanism: SmallDb = mechanism, count: int = count) -> Pmf[int]:
            pmf = mechanism.pmf(Counts(np.array(tally)))
            return Pmf(tuple(range(count)), pmf.lower, pmf.upper)

        assert len(chosen) == count
        check_pure(by_place, exchanged_tallies(3, [1, 3]), mechanism.guarantee)


@pytest.mark.parametrize(("domain", "size"), [(1, 3), (2, 5), (3, 4), (7, 1), (5, 3)])
def test_all_multisets_are_gone_through_once_each(domain: int, size: int) -> None:
    candidates = AllMultisets(domain, size)
    rows = [candidates.rows(place) for place in range(len(candidates))]
    assert sorted(rows) == list(combinations_with_replacement(range(domain), size))
    with pytest.raises(IndexError):
        candidates.rows(len(candidates))


@pytest.mark.parametrize(("domain", "size"), [(8, 4), (3, 12), (40, 2)])
def test_enumerated_and_drawn_candidates_have_the_scores_of_their_rows(
    domain: int, size: int
) -> None:
    workload = Workload(np.arange(3 * domain).reshape(3, domain) % 5, scale=4)
    tally = np.arange(domain) % 7 + 1
    drawn = SmallDb.of(workload, epsilon="1", size=size, candidates=300)
    for mechanism in (SmallDb.of(workload, epsilon="1", size=size), drawn):
        scores = mechanism.scores(Counts(tally))
        for place in range(0, len(scores), max(1, len(scores) // 100)):
            rows = mechanism.candidates.rows(place)
            off = exact_error(workload, tuple(tally.tolist()), rows)
            assert -scores[place] == off * int(tally.sum()) * size * workload.scale


@pytest.mark.statistical
@pytest.mark.parametrize(("domain", "size"), [(3, 2), (2, 4)])
def test_public_coins_draw_every_multiset_alike(domain: int, size: int) -> None:
    """10,000 draws, chi-square at 10^−6."""
    everything = tuple(combinations_with_replacement(range(domain), size))
    alike = (Fraction(1, len(everything)),) * len(everything)
    drawn = DrawnMultisets.draw(domain, size, 10_000, Coins.system())
    places = iter(range(10_000))
    check_follows(lambda: drawn.rows(next(places)), Pmf(everything, alike, alike), draws=10_000)


@pytest.mark.statistical
def test_draws_follow_the_law() -> None:
    """4,000 draws, chi-square at 10^−6."""
    mechanism, data = SmallDb.of(FOUR_QUERIES, epsilon="1", size=2), Counts(np.array([5, 1, 2]))
    coins = Coins.system()
    check_follows(
        lambda: mechanism.release(data, coins).result.rows, mechanism.pmf(data), draws=4_000
    )


@pytest.mark.parametrize(
    ("domain", "alpha", "count"),
    [
        (4, "0.5", 165),
        (4, "0.4", 455),
        (4, "0.3", 2_024),
        (4, "0.25", 5_456),
        (4, "0.2", 19_600),
        (8, "0.5", 6_435),
        (8, "0.4", 50_388),
        (8, "0.3", 1_184_040),
        (8, "0.25", 10_295_472),
        (16, "0.5", 490_314),
        (16, "0.4", 17_383_860),
        (32, "0.5", 61_523_748),
    ],
)
def test_so_many_small_databases_answer_20_queries(domain: int, alpha: str, count: int) -> None:
    assert multisets(domain, sampling_size(20, alpha)) == count


def errors_of(workload: Workload, size: int, tally: Tally) -> npt.NDArray[np.float64]:
    """The error of every small database, which no epsilon changes."""
    mechanism = SmallDb.of(workload, epsilon=1, size=size)
    errors: npt.NDArray[np.float64] = -mechanism.scores(Counts(np.array(tally))) / (
        sum(tally) * size * workload.scale
    )
    return errors


errors_on_four_queries = cache(partial(errors_of, FOUR_QUERIES))


def failing_mass(
    errors: npt.NDArray[np.float64], epsilon: float, tally: Tally, bound: float
) -> float:
    """Exactly how likely the released database is off by more than the bound."""
    n = sum(tally)
    weights = np.exp(-epsilon * n * (errors - errors.min()) / 2)
    return float(weights[errors > bound + 1e-12].sum() / weights.sum())


@pytest.mark.slow
@pytest.mark.parametrize("beta", grid([0.05, 0.5], by_default=[0.05]))
@pytest.mark.parametrize("epsilon", grid([1.0, 4.0], by_default=[4.0]))
def test_the_error_is_within_the_bound_but_with_probability_beta(
    beta: float, epsilon: float
) -> None:
    """Every data set of 12 rows, and one of 40 of each kind, by exact enumeration."""
    size = 4
    for rows in (12, 40):
        bound = small_db_error(
            rows=rows, domain=3, queries=4, size=size, epsilon=epsilon, beta=beta
        )
        for tally in all_tallies(3, rows):
            errors = errors_on_four_queries(size, tally)
            assert failing_mass(errors, epsilon, tally, bound) <= beta


def test_a_database_for_halfspaces_is_useful_for_every_data_set() -> None:
    """{0, 1}², α = 0.6, δ = 0.05: the rows that the theorem asks for, by exact enumeration."""
    planes, alpha, delta = halfspaces(2), 0.6, 0.05
    size = sampling_size(planes.queries, alpha / 2)
    rows = useful_rows(bits=2, size=size, alpha=alpha, epsilon=1.0, delta=delta)
    for tally in ((rows, 0, 0, 0), (rows // 2, rows - rows // 2, 0, 0), _even(rows, 4)):
        assert failing_mass(errors_of(planes, size, tally), 1.0, tally, alpha) <= delta


@pytest.mark.slow
def test_a_database_for_all_104_halfspaces_of_three_bits_is_useful() -> None:
    planes, alpha, delta = halfspaces(3), 0.9, 0.05
    size = sampling_size(planes.queries, alpha / 2)
    rows = useful_rows(bits=3, size=size, alpha=alpha, epsilon=1.0, delta=delta)
    for tally in ((rows, *(0,) * 7), _even(rows, 8)):
        assert failing_mass(errors_of(planes, size, tally), 1.0, tally, alpha) <= delta


def _even(rows: int, domain: int) -> Tally:
    return tuple(rows // domain + (v < rows % domain) for v in range(domain))


def test_a_released_database_answers_well() -> None:
    tally = (400, 100, 300, 200, 500, 50, 250, 200)
    release = small_db(Counts(np.array(tally)), TWENTY, epsilon="8", alpha="0.4")
    bar = release.error_bars[0]
    assert bar.quantity == "largest error of a query, as a share"
    assert bar.upper is not None
    assert error(TWENTY, tally, release.result.weights) <= bar.upper + 0.05
    assert len(release.result.rows) == 12
    assert Counter(release.result.rows).keys() <= set(range(8))
    assert release.epsilon == 8


def test_drawn_candidates_promise_nothing_but_the_best_of_them() -> None:
    data = Counts(np.array([4000, 3000, 3000]))
    release = small_db(data, FOUR_QUERIES, epsilon="1", size=4, candidates=10)
    bar = release.error_bars[0]
    assert bar.quantity == "largest error of a query, in rows, above the best candidate's"
    assert bar.upper == pytest.approx(2 * math.log(10 / 0.05))


def test_an_empty_data_set_is_a_data_set_where_n_is_private() -> None:
    empty = Counts(np.zeros(3, dtype=np.int64))
    release = small_db(empty, FOUR_QUERIES, epsilon="1", size=2, adjacency="add/remove")
    assert release.error_bars[0].quantity.endswith("above the best candidate's")
    with pytest.raises(CountsError, match="at least 1 row"):
        small_db(empty, FOUR_QUERIES, epsilon="1", size=2)


def test_too_many_candidates_are_refused_with_what_to_use_instead() -> None:
    with pytest.raises(EnumerationError, match="177,100,560 candidates") as refusal:
        SmallDb.of(TWENTY, epsilon="1", alpha="0.2")
    assert "candidates=100_000" in str(refusal.value)
    assert "mwem" in str(refusal.value)
    with pytest.raises(EnumerationError, match=r"e\^[0-9]+ candidates"):
        SmallDb.of(points(1000), epsilon="1", size=900)


def test_too_many_drawn_candidates_are_refused() -> None:
    with pytest.raises(EnumerationError, match=r"candidates must lie in \[1, 16,777,216\]"):
        SmallDb.of(TWENTY, epsilon="1", size=5, candidates=10**8)
    with pytest.raises(EnumerationError, match="got 0"):
        SmallDb.of(TWENTY, epsilon="1", size=5, candidates=0)


def test_exactly_one_of_size_and_alpha_is_given() -> None:
    with pytest.raises(ParameterError, match=r"exactly one of alpha.*got neither"):
        SmallDb.of(TWENTY, epsilon="1")
    with pytest.raises(ParameterError, match=r"exactly one of alpha.*got both"):
        SmallDb.of(TWENTY, epsilon="1", size=3, alpha="0.5")


def test_an_impossible_size_or_domain_or_adjacency_is_refused() -> None:
    with pytest.raises(ParameterError, match="size times the scale"):
        SmallDb.of(FRACTIONS, epsilon="1", size=0)
    with pytest.raises(CountsError, match="over the queries' 8 values, got 2"):
        small_db(Counts(np.array([1, 1])), TWENTY, epsilon="1", size=2)
    with pytest.raises(AdjacencyError, match="adjacency must be"):
        small_db(Counts(np.array([1, 1])), points(2), epsilon="1", size=2, adjacency="hamming")
