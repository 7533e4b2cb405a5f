"""Mistakes in notes, papers and libraries, each proved by a counterexample in exact fractions.

Those of selection, queries, stability, accounting and auctions are in tests/central. All are listed
in docs/mathematics/errors-in-sources.md, The lecture notes. e^ε is a rational number here.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from deniable_estimators.inference.intervals import clopper_pearson
from deniable_shared import mechanisms

E = Fraction(2718281828, 10**9)


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 3), Fraction(1)])
def test_the_printed_debias_returns_minus_the_share(share: Fraction) -> None:
    """Printed: factor (1 + E)/(1 − E). Correct: (E + 1)/(E − 1)."""
    p, q = E / (1 + E), 1 / (1 + E)
    mean = q + (p - q) * share
    assert (mean - q) * (1 + E) / (1 - E) == -share
    assert (mean - q) * (E + 1) / (E - 1) == share


def one_report(labels: int, first: Fraction, second: Fraction) -> Fraction:
    """Ratio of one report that went through two rounds: the way over a third label counts, too."""
    wrong, other = (1 - first) / (labels - 1), (1 - second) / (labels - 1)
    same = first * second + (labels - 1) * wrong * other
    apart = first * other + wrong * second + (labels - 2) * wrong * other
    return same / apart


def published_second_round(labels: int, first: Fraction, ratio: Fraction) -> Fraction:
    """p2 with (p1·p2 + q1·q2)/(p1·q2 + q1·p2) = e^ε1, q2 = (1 − p2)/(k − 1): no third label."""
    wrong = (1 - first) / (labels - 1)
    others = labels - 1
    return (ratio * first - wrong) / (
        others * first - wrong + ratio * first - ratio * others * wrong
    )


@pytest.mark.parametrize("labels", [3, 10, 30])
def test_a_second_round_without_third_labels_wastes_epsilon(labels: int) -> None:
    """As published for choices; of 30 labels at 2 and 1 a report spends 0.405 in place of 1."""
    first = E**2 / (E**2 + labels - 1)
    published = published_second_round(labels, first, E)
    wrong, other = (1 - first) / (labels - 1), (1 - published) / (labels - 1)
    assert (first * published + wrong * other) / (first * other + wrong * published) == E
    assert one_report(labels, first, published) < E
    single = E / (E + labels - 1)
    exact = (single - wrong) / (first - wrong)
    assert one_report(labels, first, exact) == E
    if labels == 30:
        assert math.log(one_report(labels, first, published)) == pytest.approx(0.405, abs=1e-3)


def test_two_labels_have_no_third_and_the_published_round_is_right() -> None:
    first = E**2 / (E**2 + 1)
    assert one_report(2, first, published_second_round(2, first, E)) == E


def test_sets_that_should_miss_the_truth_drawn_from_all_labels_are_biased() -> None:
    """1.58 times the share of a label, of 1,000 at ε = 1."""
    labels, size = 1000, 269
    p = size * E / (size * E + labels - size)
    q = (size - p) / (labels - 1)
    drawn_from_all = p + (1 - p) * Fraction(size, labels)
    others = p * Fraction(size - 1, labels - 1) + (1 - p) * Fraction(size, labels)
    assert float((drawn_from_all - q) / (p - q)) == pytest.approx(1.58, abs=0.01)
    assert float((others - q) / (p - q)) == pytest.approx(0, abs=0.01)


def total_error(labels: int, size: int, ratio: Fraction) -> Fraction:
    weight = size * ratio + labels - size
    scale = labels * size * (labels - size) * (ratio - 1) ** 2
    return (labels - 1) ** 2 * weight**2 / scale - Fraction(labels - 1, labels)


@pytest.mark.parametrize("labels", [6, 8, 10])
def test_one_label_is_not_best_for_every_d_below_three_e_and_two(labels: int) -> None:
    """The textbook's d < 3E + 2 compares one label with unary encodings alone."""
    assert labels < 3 * E + 2
    assert (labels - 1) * (labels - 2) > 2 * E**2
    assert total_error(labels, 2, E) < total_error(labels, 1, E)


def test_sets_of_a_size_rounded_up_cost_up_to_sixty_percent() -> None:
    """Of three labels below E = 2, ⌈d/(1 + E)⌉ = 2 where 1 is best: 1.6 times the error there."""
    below = Fraction(1999, 1000)
    assert math.ceil(3 / (1 + below)) == 2
    loss = total_error(3, 2, below) / total_error(3, 1, below)
    assert Fraction(159, 100) < loss < Fraction(16, 10)
    assert total_error(3, 2, Fraction(2)) / total_error(3, 1, Fraction(2)) == Fraction(16, 10)


def test_a_pool_of_hash_functions_is_biased_however_many_reports_come() -> None:
    """Two functions of two cells: labels 0 and 1 meet in both, so their shares never part."""
    cells, pool = 2, [(0, 0, 1, 1), (0, 0, 1, 0)]
    p = E / (E + cells - 1)
    shares = (Fraction(1, 2), Fraction(0), Fraction(1, 4), Fraction(1, 4))

    def limit(label: int) -> Fraction:
        """What the estimate with q = 1/g goes to."""
        meets = Fraction(0)
        for hashed, other in itertools.product(pool, range(4)):
            chance = p if hashed[other] == hashed[label] else (1 - p) / (cells - 1)
            meets += shares[other] * chance / len(pool)
        return (meets - Fraction(1, cells)) / (p - Fraction(1, cells))

    def stated(label: int) -> Fraction:
        """bias_v = g/(g − 1)·Σ f_u(C_uv − 1/g)."""
        bias = Fraction(0)
        for other in set(range(4)) - {label}:
            meet = Fraction(sum(h[other] == h[label] for h in pool), len(pool))
            bias += shares[other] * (meet - Fraction(1, cells))
        return shares[label] + Fraction(cells, cells - 1) * bias

    assert [limit(label) for label in range(4)] == [stated(label) for label in range(4)]
    assert limit(0) == limit(1)


def test_a_debiased_share_moves_by_more_than_one_in_n() -> None:
    """Taking 1/n for its sensitivity protects a bit 2.16 times too little at ε = 1."""
    mechanism = mechanisms.build("rr/1", domain_size=1, epsilon="1")
    moved = 1 / (mechanism.p - mechanism.q)
    assert float(moved) == pytest.approx(2.164, abs=1e-3)


def test_the_empirical_variance_covers_39_of_100_where_95_are_claimed() -> None:
    """ε = 6, n = 200, the label is absent: without a support the interval has no width."""
    n, q = 200, 1 / (1 + math.exp(6))
    p = 1 - q

    def covered(limits: dict[int, tuple[float, float]]) -> float:
        return sum(
            math.comb(n, c) * q**c * (1 - q) ** (n - c)
            for c, (low, high) in limits.items()
            if (low - q) / (p - q) <= 0 <= (high - q) / (p - q)
        )

    counts = range(n + 1)
    half = {c: 1.96 * math.sqrt(c / n * (1 - c / n) / n) for c in counts}
    empirical = {c: (c / n - half[c], c / n + half[c]) for c in counts}
    assert covered(empirical) == pytest.approx(0.39, abs=0.01)
    exact = _clopper_pearson(n)
    assert covered(exact) >= 0.95


def _clopper_pearson(n: int) -> dict[int, tuple[float, float]]:
    lower, upper = clopper_pearson(np.arange(n + 1), n, 0.025)
    return {c: (float(lower[c]), float(upper[c])) for c in range(n + 1)}
