"""Shuffling: the bound is that of the dominating pair, never below it, and the table's."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache
from importlib import import_module

import numpy as np
import pytest

from deniable_central.accounting import AccountError, shuffled_delta, shuffled_epsilon
from support.oracles.central_accounting import (
    MICRO,
    Law,
    check_shuffles,
    closed_form_2021,
    closed_form_2023,
    hockey_stick,
    randomized_response,
)
from support.tiers import by_tier, grid

_binom = import_module("scipy.stats").binom

TABLE = {  # n: (ε0 = 1, 2, 4), δ = 10^−6
    1_000: (0.149, 0.397, 1.85),
    10_000: (0.043, 0.114, 0.411),
    100_000: (0.012, 0.033, 0.118),
    1_000_000: (0.0035, 0.0095, 0.034),
}
CLOSED = {  # n: (2023, 2021) for ε0 = 1
    1_000: (0.488, 0.566),
    10_000: (0.180, 0.214),
    100_000: (0.060, 0.073),
    1_000_000: (0.019, 0.023),
}


@cache
def exact_epsilon(local: int, reports: int) -> float:
    """Of a published size, at δ = 10^−6."""
    return float(shuffled_epsilon(local=local, reports=reports, delta=MICRO))


def test_small_crowds_are_counted_out() -> None:
    check_shuffles(lambda e, local, n: shuffled_delta(e, local=local, reports=n))


@pytest.mark.parametrize("reports", grid(TABLE, by_default=[1_000, 1_000_000]))
def test_the_table_of_shuffling(reports: int) -> None:
    for local, expected in zip((1, 2, 4), TABLE[reports], strict=True):
        bound = exact_epsilon(local, reports)
        digits = 10 ** (math.floor(math.log10(expected)) - 1)
        assert bound == pytest.approx(expected, abs=digits)


@pytest.mark.parametrize("reports", grid(CLOSED, by_default=[1_000, 1_000_000]))
def test_the_closed_forms_are_far_above(reports: int) -> None:
    for form, expected in zip((closed_form_2023, closed_form_2021), CLOSED[reports], strict=True):
        assert form(1.0, reports, 1e-6) == pytest.approx(expected, abs=6e-4)
    for local in (1, 2, 4):
        exact = exact_epsilon(local, reports)
        for form in (closed_form_2021, closed_form_2023):
            assert (form(local, reports, 1e-6) or math.inf) >= exact


@pytest.mark.parametrize(("reports", "local"), [(20_000, 1.0), (20_000, 4.0), (300_000, 2.0)])
def test_blocks_lose_next_to_nothing_in_large_crowds(reports: int, local: float) -> None:
    epsilon = float(shuffled_epsilon(local=Fraction(local), reports=reports, delta=MICRO))
    t, e = math.tanh(local / 2), math.exp(epsilon)
    hiding = np.arange(reports)
    weights = _binom.pmf(hiding, reports - 1, 1 - t)
    kept = hiding[weights > 1e-30]
    least = np.floor((kept + 1) * (1 + math.tanh(epsilon / 2) / t) / 2) + 1
    p, q = (1 + t) / 2, (1 - t) / 2
    above, from_it = _binom.sf(least - 2, kept, 0.5), _binom.sf(least - 1, kept, 0.5)
    exact = float(weights[kept] @ ((p - e * q) * above - (e * p - q) * from_it))
    assert 0.97e-6 <= exact <= 1e-6


def histogram_pair(local: float, others: int) -> tuple[Law, Law]:
    """The number of ones among binary responses, one person's and those of others that say 0."""
    p = float(randomized_response(local)[0][0])
    rest = _binom.pmf(np.arange(others + 2), others, 1 - p)
    moved = np.concatenate(([0.0], rest[:-1]))
    return p * moved + (1 - p) * rest, (1 - p) * moved + p * rest


@pytest.mark.parametrize(("local", "reports"), [("1", 200), ("2", 1_000), ("4", 1_000)])
def test_real_histograms_hide_more_than_the_bound_says(local: str, reports: int) -> None:
    bound = float(shuffled_epsilon(local=local, reports=reports, delta=MICRO))
    assert hockey_stick(*histogram_pair(float(local), reports - 1), bound) <= 1e-6


@pytest.mark.slow
@pytest.mark.deeper
def test_more_reports_hide_no_less_and_alone_nobody_is_hidden() -> None:
    crowds = [10**k for k in range(0, 10, by_tier(3, 1))]
    bounds = [shuffled_epsilon(local=1, reports=reports, delta=MICRO) for reports in crowds]
    assert all(more <= fewer for fewer, more in itertools.pairwise(bounds))
    assert float(bounds[0]) == pytest.approx(1.0, rel=1e-5)


def test_the_bound_never_exceeds_the_local_epsilon() -> None:
    assert shuffled_epsilon(local=8, reports=3, delta="1e-12") <= 8
    assert shuffled_delta(8.0, local=8, reports=3) == 0


@pytest.mark.slow
def test_a_delta_that_the_crowd_gives_for_nothing_needs_no_epsilon() -> None:
    assert shuffled_epsilon(local=1, reports=10**6, delta=Fraction(1, 2)) == 0


@pytest.mark.parametrize(("local", "reports"), [(0, 10), (21, 10), (1, 0)])
def test_what_is_no_crowd_is_refused(local: int, reports: int) -> None:
    with pytest.raises(AccountError, match="must"):
        shuffled_epsilon(local=local, reports=reports, delta=MICRO)
