from __future__ import annotations

import math
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

from deniable_estimators.inference.intervals import EXACT_BELOW, clopper_pearson
from support.tiers import grid

stats, special = import_module("scipy.stats"), import_module("scipy.special")


@pytest.mark.parametrize("n", [1, 2, 30, 3000])
@pytest.mark.parametrize("confidence", grid([0.5, 0.95, 0.9999], by_default=[0.95]))
def test_limits_are_clopper_and_pearsons_as_scipy_finds_them(n: int, confidence: float) -> None:
    counts = np.unique(np.linspace(0, n, 20).astype(np.int64))
    lower, upper = clopper_pearson(counts, n, (1 - confidence) / 2)
    for place, hits in enumerate(counts):
        reference = stats.binomtest(int(hits), n).proportion_ci(confidence, method="exact")
        closeness = 1e-9 if min(hits, n - hits) < EXACT_BELOW else 1e-5
        assert lower[place] == pytest.approx(reference.low, abs=closeness)
        assert upper[place] == pytest.approx(reference.high, abs=closeness)


@pytest.mark.parametrize("hits", [0, 1, 7, 19, 20])
def test_at_its_limits_a_count_is_exactly_as_extreme_as_allowed(hits: int) -> None:
    """Binomial sums in rational arithmetic: P(≥ c; lower) = P(≤ c; upper) = 2.5%."""
    lower, upper = (limit[0] for limit in clopper_pearson(np.array([hits]), 20, 0.025))
    at_least = sum(exact_chance(k, 20, float(lower)) for k in range(hits, 21))
    at_most = sum(exact_chance(k, 20, float(upper)) for k in range(hits + 1))
    assert float(at_least) == (1.0 if hits == 0 else pytest.approx(0.025, rel=1e-9))
    assert float(at_most) == (1.0 if hits == 20 else pytest.approx(0.025, rel=1e-9))


@pytest.mark.parametrize("tail", [0.4, 0.1, 0.025, 2.5e-4, 2.5e-6, 1e-12, 1e-21])
@pytest.mark.parametrize("n", [2000, 10_000, 10**6, 10**10])
def test_the_closed_form_leaves_the_tail_it_should_and_hardly_less(n: int, tail: float) -> None:
    rising = np.geomspace(EXACT_BELOW, n // 2, 200).astype(np.int64)
    counts = np.unique(np.concatenate([rising, n - rising])).astype(np.float64)
    lower, upper = clopper_pearson(counts.astype(np.int64), n, tail)
    below = special.betainc(counts, n - counts + 1, lower) / tail
    above = special.betaincc(counts + 1, n - counts, upper) / tail
    least = 0.9999 if tail >= 0.025 else 0.92
    assert least < min(below.min(), above.min()) <= max(below.max(), above.max()) < 1.00003


def test_limits_do_not_jump_where_the_closed_form_takes_over() -> None:
    counts = np.arange(EXACT_BELOW - 3, EXACT_BELOW + 3)
    for limits in clopper_pearson(counts, 10**6, 0.025):
        steps = np.diff(limits)
        assert steps.max() / steps.min() < 1.01


def test_no_support_still_leaves_room_above() -> None:
    lower, upper = clopper_pearson(np.array([0]), 100, 0.025)
    assert lower[0] == 0
    assert upper[0] == pytest.approx(1 - 0.025 ** (1 / 100), rel=1e-12)


def test_full_support_still_leaves_room_below() -> None:
    lower, upper = clopper_pearson(np.array([100]), 100, 0.025)
    assert lower[0] == pytest.approx(0.025 ** (1 / 100), rel=1e-12)
    assert upper[0] == 1


def test_equal_counts_have_equal_limits_wherever_they_stand() -> None:
    lower, upper = clopper_pearson(np.array([5, 2000, 5, 0, 2000]), 10_000, 0.025)
    assert lower[[0, 1]].tolist() == lower[[2, 4]].tolist()
    assert upper[[0, 1]].tolist() == upper[[2, 4]].tolist()


def exact_chance(k: int, n: int, chance: float) -> Fraction:
    hit = Fraction(chance)
    return math.comb(n, k) * hit**k * (1 - hit) ** (n - k)
