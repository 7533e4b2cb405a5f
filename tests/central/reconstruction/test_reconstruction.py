"""Reconstruction reads exact counts back into rows, and private ones no better than guessing."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from itertools import product
from math import comb, exp

import numpy as np
import numpy.typing as npt
import pytest

from deniable_central.guarantee import Adjacency, Guarantee
from deniable_central.reconstruction import (
    PrivateCounts,
    Subsets,
    SubsetsError,
    best_share,
    demonstrate,
    guessing_range,
    reconstruct,
)
from deniable_central.reconstruction.least_squares import least_squares
from deniable_central.samplers.noise import probability
from deniable_central.samplers.uniform import uniform_integers
from deniable_shared.errors import ParameterError
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import exp_bounds
from support.tiers import grid, rows

Hits = npt.NDArray[np.bool_]

FALSE_ALARM = Fraction(1, 10**6)


def every_subset(rows: int) -> Subsets:
    return Subsets(np.array(list(product((0, 1), repeat=rows))))


def most_hits(rows: int, chance: Fraction) -> int:
    """The least count that a binomial exceeds with probability FALSE_ALARM at most; exact."""
    p, q, whole = chance.numerator, chance.denominator - chance.numerator, chance.denominator**rows
    beyond, hits = 0, rows
    while (beyond + comb(rows, hits) * p**hits * q ** (rows - hits)) <= FALSE_ALARM * whole:
        beyond += comb(rows, hits) * p**hits * q ** (rows - hits)
        hits -= 1
    return hits


def attacked(times: int, *, rows: int, epsilon: str) -> Iterator[Hits]:
    """Which rows the attack says right, for new secrets and subsets each time."""
    for _ in range(times):
        subsets, coins = Subsets.drawn(rows=rows, queries=4 * rows), Coins.system()
        secret = uniform_integers(2, rows, coins)
        noisy_counts = PrivateCounts.of(subsets, epsilon=epsilon).release(secret, coins).result
        yield reconstruct(subsets, noisy_counts) == secret


@pytest.mark.parametrize("rows", [1, 2, 3, 6])
def test_counts_of_all_subsets_give_every_secret_away(rows: int) -> None:
    subsets = every_subset(rows)
    for secret in product((0, 1), repeat=rows):
        assert reconstruct(subsets, subsets.counts(secret)).tolist() == list(secret)


def test_an_error_of_a_fifth_of_a_row_in_every_count_hides_no_row() -> None:
    subsets = every_subset(6)
    for number, secret in enumerate(product((0, 1), repeat=6)):
        noise = 0.2 * np.cos(np.arange(subsets.queries) * (number + 1))
        assert reconstruct(subsets, subsets.counts(secret) + noise).tolist() == list(secret)


@pytest.mark.parametrize(
    ("rows", "queries"),
    rows(
        [(1, 1), (5, 3), (12, 48), (30, 20), (60, 240)],
        by_default=lambda case: case[1] < 100,
    ),
)
def test_the_attack_finds_the_least_squares_that_scipy_finds(rows: int, queries: int) -> None:
    subsets = Subsets.drawn(rows=rows, queries=queries)
    for far in (0, 1, 40):
        noisy_counts = subsets.counts(np.arange(rows) % 2) + far * np.sin(np.arange(queries))
        lsq_linear = import_module("scipy.optimize").lsq_linear
        theirs = lsq_linear(subsets.matrix.astype(float), noisy_counts, bounds=(0, 1), tol=1e-12).x
        ours = least_squares(subsets, noisy_counts)
        residuals = [subsets.matrix @ guess - noisy_counts for guess in (ours, theirs)]
        errors = [float((residual**2).sum()) for residual in residuals]
        assert ours.min() >= 0
        assert ours.max() <= 1
        assert errors[0] <= errors[1] * (1 + 1e-6) + 1e-6


def test_rows_that_no_subset_holds_are_said_to_be_something() -> None:
    assert len(reconstruct(Subsets(np.zeros((3, 4), dtype=int)), [0, 0, 0])) == 4


@pytest.mark.parametrize("queries", [1, 2, 3])
def test_one_bit_moves_all_answers_by_at_most_the_sensitivity(
    queries: int,
) -> None:
    for cells in product((0, 1), repeat=2 * queries):
        subsets = Subsets(np.array(cells).reshape(queries, 2))
        moved = [
            int(np.abs(subsets.counts(one) - subsets.counts(other)).sum())
            for one in product((0, 1), repeat=2)
            for other in ((1 - one[0], one[1]), (one[0], 1 - one[1]))
        ]
        assert max(moved) == subsets.sensitivity or (max(moved) == 0 and subsets.sensitivity == 1)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_likelihood_ratios_reach_but_never_exceed_e_to_the_epsilon(
    epsilon: Fraction,
) -> None:
    subsets = Subsets(np.array([[1, 0], [1, 1]]))
    decay = PrivateCounts.of(subsets, epsilon=epsilon).decay
    largest = Fraction(0)
    for one, other in product(product((0, 1), repeat=2), repeat=2):
        if sum(a != b for a, b in zip(one, other, strict=True)) == 1:
            for noisy_counts in product(range(-2, 5), repeat=2):
                likely, least = Fraction(1), Fraction(1)
                for said, here, there in zip(
                    noisy_counts, subsets.counts(one), subsets.counts(other), strict=True
                ):
                    likely *= probability(decay, said - int(here))[1]
                    least *= probability(decay, said - int(there))[0]
                largest = max(largest, likely / least)
    low, high = exp_bounds(epsilon, bits=128)
    assert low * (1 - Fraction(1, 10**9)) <= largest <= high * (1 + Fraction(1, 10**9))


def test_noise_for_each_answer_alone_costs_all_of_them_together() -> None:
    subsets = Subsets(np.array([[1, 0, 1], [1, 1, 0], [1, 0, 0], [0, 0, 1]]))
    mechanism = PrivateCounts.unaccounted(subsets, epsilon="0.5")
    assert mechanism.guarantee.epsilon == Fraction(3, 2)
    assert mechanism.decay == Fraction(1, 2)
    assert PrivateCounts.of(subsets, epsilon="0.5").decay == Fraction(1, 6)


def test_releases_of_two_neighbours_differ_in_nothing_but_the_answers() -> None:
    mechanism = PrivateCounts.of(every_subset(3), epsilon="1")
    one, other = (mechanism.release(secret) for secret in ((0, 1, 1), (1, 1, 1)))
    assert (one.law, one.guarantee, one.error_bars) == (
        other.law,
        other.guarantee,
        other.error_bars,
    )


def test_private_counts_are_the_counts_and_noise_of_the_declared_decay() -> None:
    subsets, coins = every_subset(4), (Coins.derive(b"attack"), Coins.derive(b"attack"))
    mechanism = PrivateCounts.of(subsets, epsilon="2")
    here, there = (
        mechanism.release(secret, toss).result - subsets.counts(secret)
        for secret, toss in zip(((0, 0, 0, 0), (1, 1, 0, 1)), coins, strict=True)
    )
    assert (here == there).all()
    assert (here != 0).any()


@pytest.mark.parametrize(("epsilon", "share"), [("0", 0.5), ("1", 0.7310586), ("2300", 1.0)])
def test_pure_epsilon_lets_through_at_most_randomized_response(epsilon: str, share: float) -> None:
    best = best_share(Guarantee(Fraction(epsilon), None, Fraction(0), Adjacency.REPLACE))
    assert float(best) == pytest.approx(share, abs=1e-7)


@pytest.mark.parametrize("epsilon", grid(["0.5", "1", "8"], by_default=["1"]))
def test_no_rule_guesses_a_row_above_the_bound_even_knowing_all_others(
    epsilon: str,
) -> None:
    mechanism = PrivateCounts.of(Subsets(np.array([[1], [1], [1]])), epsilon=epsilon)
    window = range(-9, 11)
    chances = [[float(probability(mechanism.decay, n - bit)[1]) for n in window] for bit in (0, 1)]
    zero, one = (np.multiply.outer(np.multiply.outer(c, c), c) for c in map(np.array, chances))
    right = float(np.maximum(zero, one).sum()) / 2  # what is cut off is left out
    assert right <= best_share(mechanism.guarantee)


def test_many_counts_at_small_epsilon_hide_more_than_their_sum_implies() -> None:
    mechanism = PrivateCounts.of(Subsets(np.ones((400, 1), dtype=int)), epsilon="1")
    assert mechanism.guarantee.rho == pytest.approx(1 / 800, rel=1e-5)
    assert best_share(mechanism.guarantee) < Fraction(52, 100)


@pytest.mark.parametrize("rows", [1, 2, 7, 200])
def test_guessing_falls_in_its_range_as_often_as_stated(rows: int) -> None:
    low, high = guessing_range(rows)
    inside = [Fraction(comb(rows, hits), 2**rows) for hits in range(low, high + 1)]
    assert low + high == rows
    assert sum(inside) >= Fraction(95, 100)
    assert high - low <= 1 or sum(inside[1:-1]) < Fraction(95, 100)


@pytest.mark.statistical
def test_exact_counts_give_every_row_and_unaccounted_noise_nearly_all() -> None:
    """5 × 200 rows.

    800 random subsets fail to have full rank with probability below 2^−500; the
    error of a row behind noise of ε = 1 each has a deviation of 0.11, so 11 wrong of 200 have a
    probability far below 1e-6.
    """
    for _ in range(5):
        exact, unaccounted, _ = demonstrate(rows=200, epsilon="1").attempts
        assert exact.recovered == 200
        assert unaccounted.recovered >= 190


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", ["0.01", "1", "4"])
def test_private_counts_give_no_more_than_epsilon_lets_through(epsilon: str) -> None:
    """20 × 200 rows.

    Given the release and the rows before it, a row is said right with probability
    p = e^ε/(1 + e^ε) at most, so hits exceed a bound no likelier than a binomial of 4,000 and p:
    at 1e-6. At ε = 0.01 that is guessing, but for a quarter of a percent.
    """
    p = Fraction(exp(float(epsilon)) / (1 + exp(float(epsilon)))).limit_denominator(10**6)
    hits = sum(int(hit.sum()) for hit in attacked(20, rows=200, epsilon=epsilon))
    assert hits <= most_hits(4_000, p)


@pytest.mark.statistical
def test_private_counts_at_epsilon_one_are_no_better_than_guessing() -> None:
    """The first row of each of 2,000 secrets of 20.

    They are independent, and guessed right with a probability below 54%, for every attack
    (√(ρ/2), Δ1 ≥ 40). That binomial exceeds the bound at 1e-6.
    """
    hits = sum(int(hit[0]) for hit in attacked(2_000, rows=20, epsilon="1"))
    assert hits <= most_hits(2_000, Fraction(54, 100))
    assert best_share(PrivateCounts.of(Subsets(np.ones((40, 1), int)), epsilon="1").guarantee) < (
        Fraction(54, 100)
    )


@pytest.mark.parametrize(
    "refused",
    [
        lambda: Subsets(np.array([[0, 2]])),
        lambda: Subsets(np.array([[0.5, 1.0]])),
        lambda: Subsets(np.array([0, 1])),
        lambda: Subsets.drawn(rows=0, queries=3),
        lambda: every_subset(2).counts([0, 1, 1]),
        lambda: every_subset(2).counts([0, 7]),
        lambda: reconstruct(every_subset(2), [1, 2, 3]),
        lambda: guessing_range(0),
        lambda: guessing_range(5, confidence=Fraction(1)),
        lambda: demonstrate(rows=5, epsilon="0"),
    ],
)
def test_what_cannot_be_attacked_is_refused(refused: object) -> None:
    assert callable(refused)
    with pytest.raises((SubsetsError, ParameterError)):
        refused()


def test_steps_that_run_out_leave_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable_central.reconstruction.least_squares._MOST_STEPS", 1)
    queries = Subsets(np.eye(3, dtype=np.int64))
    actual = least_squares(queries, np.array([1.0, 0.0, 1.0]))
    assert ((actual >= 0) & (actual <= 1)).all()
