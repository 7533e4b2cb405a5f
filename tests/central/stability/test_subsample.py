"""Subsample and aggregate as the notes have it: its exact δ, where it is useless, its draws."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib import import_module
from itertools import pairwise, product

import numpy as np
import numpy.typing as npt
import pytest

from deniable_central.pmf import Pmf
from deniable_central.stability import (
    DeltaError,
    RowsError,
    Subsample,
    subsample,
    subsample_aggregate,
)
from deniable_central.stability.sample_aggregate import BlockAnswer
from deniable_shared.errors import ParameterError
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import exp_bounds
from support.oracles.neighbour_pmfs import hockey_stick
from support.oracles.selection_checks import check_follows
from support.oracles.subsample_pmf import subsample_pmf
from support.tiers import grid

_binom = import_module("scipy.stats").binom

Table = npt.NDArray[np.generic]
Counts = tuple[int, int, int]


def first(block: Table) -> int:
    return int(block[0])


@pytest.mark.parametrize(("rows", "size", "samples"), [(64, 1, 96), (320, 3, 300), (100, 7, 40)])
def test_the_first_delta_is_the_tail_of_a_binomial(rows: int, size: int, samples: int) -> None:
    mechanism = Subsample(Fraction(1), rows, size, samples)
    held = 1 - (1 - Fraction(1, rows)) ** size
    above = range(mechanism.affected + 1, samples + 1)
    exact = sum(math.comb(samples, j) * held**j * (1 - held) ** (samples - j) for j in above)
    assert exact <= mechanism.delta_many < exact + Fraction(1, 2**90)


def test_the_first_delta_of_many_samples_is_what_scipy_says() -> None:
    mechanism = Subsample(Fraction(1), 64_000, 100, 20_000)
    held = -math.expm1(100 * math.log1p(-1 / 64_000))
    expected = _binom.sf(mechanism.affected, 20_000, held)
    assert float(mechanism.delta_many) == pytest.approx(expected, rel=1e-8)


def few_answers(samples: int) -> Iterator[Counts]:
    """How many subsamples give each of three answers."""
    for a in range(samples + 1):
        yield from ((a, b, samples - a - b) for b in range(samples - a + 1))


def law_of_counts(mechanism: Subsample, counts: Counts) -> Pmf[int | None]:
    most = max(counts)
    low, high = mechanism.chance(most)
    return Pmf((counts.index(most), None), (low, 1 - high), (high, 1 - low))


@pytest.mark.slow
@pytest.mark.parametrize("samples", grid([64, 96], by_default=[64]))
@pytest.mark.parametrize("epsilon", grid(["1", "4"], by_default=["1"]))
def test_the_second_delta_is_the_worst_over_all_answers_and_changes(
    samples: int, epsilon: str
) -> None:
    mechanism = Subsample(Fraction(epsilon), 64, 1, samples)
    law = cache(lambda counts: law_of_counts(mechanism, counts))
    moved = mechanism.affected
    worst = Fraction(0)
    for counts in few_answers(samples):
        if max(counts) > samples // 2 + 2 * moved:
            continue  # the most frequent answer is the same: a shift of the noise, e^ε at most
        for into in ((moved, -moved, 0), (moved, 0, -moved), (0, moved, -moved)):
            other = (counts[0] + into[0], counts[1] + into[1], counts[2] + into[2])
            if min(other) >= 0:
                both = (
                    hockey_stick(law(counts), law(other), mechanism.epsilon)[1],
                    hockey_stick(law(other), law(counts), mechanism.epsilon)[1],
                )
                worst = max(worst, *both)
    assert worst <= mechanism.delta_unstable
    assert worst >= Fraction(9, 10) * mechanism.delta_unstable


def test_equal_answers_are_told_apart_by_e_to_the_epsilon_at_most() -> None:
    mechanism = Subsample(Fraction(2), 64, 1, 96)
    bound = exp_bounds(mechanism.epsilon, bits=128)[1]
    for agreeing, moved in product(range(97), range(mechanism.affected + 1)):
        low, high = mechanism.chance(agreeing), mechanism.chance(min(96, agreeing + moved))
        assert high[1] <= bound * low[0] * (1 + Fraction(1, 2**40))
        assert 1 - low[0] <= bound * (1 - high[1]) * (1 + Fraction(1, 2**40))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", grid(["1", "4"], by_default=["4"]))
def test_the_whole_mechanism_keeps_its_delta_on_all_64_rows_of_yes_and_no(epsilon: str) -> None:
    mechanism = Subsample(Fraction(epsilon), 64, 1, 96)
    laws = [
        subsample_pmf(mechanism, np.array([1] * ones + [0] * (64 - ones)), first)
        for ones in range(65)
    ]
    for one, other in pairwise(laws):
        assert hockey_stick(one, other, mechanism.epsilon)[1] <= mechanism.delta
        assert hockey_stick(other, one, mechanism.epsilon)[1] <= mechanism.delta


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("epsilon", "rows"),
    [("4", [0] * 40 + [1] * 20 + [2] * 4), ("0.1", [0] * 64)],
    ids=["what is drawn decides", "noise decides"],
)
def test_draws_follow_the_law(epsilon: str, rows: list[int]) -> None:
    """800 draws over 64 rows, chi-square at 10^−6."""
    mechanism = Subsample(Fraction(epsilon), 64, 1, 96)
    law: Pmf[BlockAnswer | None] = subsample_pmf(mechanism, np.array(rows), first)
    table, coins = np.array(rows), Coins.system()
    check_follows(lambda: mechanism.release(table, first, coins).result, law, draws=800)


def test_the_law_of_pairs_adds_up_and_hides_blocks_without_answer() -> None:
    def none_of_mixed(block: Table) -> int | None:
        return int(block[0]) if block[0] == block[1] else None

    mechanism = Subsample(Fraction(1), 6, 2, 6)
    law = subsample_pmf(mechanism, np.array([0, 0, 0, 1, 1, 1]), none_of_mixed)
    assert set(law.outcomes) == {0, 1, None}
    assert law.probabilities.sum() == pytest.approx(1)


@pytest.mark.slow
def test_as_stated_in_the_notes_it_is_useless() -> None:
    """n = 6,400, m = 100, ε = 1, k = ε(n/m)³: a quarter of a million subsamples and δ = 0.025."""
    mechanism = Subsample(Fraction(1), 6400, 100, 64**3)
    assert float(mechanism.delta_unstable) == pytest.approx(0.025, abs=0.0002)
    assert float(mechanism.delta_unstable) == pytest.approx(math.exp(-3 * 64 / 64) / 2, rel=0.001)
    with pytest.raises(DeltaError, match="size must be about 28 or less for 6400 rows") as refusal:
        subsample_aggregate(np.zeros(6400), first, size=100, epsilon="1", delta="1e-6")
    assert "use sample_aggregate" in str(refusal.value)


@pytest.mark.slow
def test_the_size_that_a_refusal_names_is_accepted() -> None:
    assert Subsample.plan(rows=6400, size=28, epsilon="1", delta="1e-6").delta <= Fraction(1, 10**6)
    with pytest.raises(DeltaError):
        Subsample.plan(rows=6400, size=30, epsilon="1", delta="1e-6")


@pytest.mark.parametrize(("rows", "size"), [(25_600, 100), (64_000, 100), (6_400, 1)])
def test_a_plan_takes_at_most_three_times_n_over_m_times_the_logarithm(
    rows: int, size: int
) -> None:
    plan = Subsample.plan(rows=rows, size=size, epsilon="1", delta="1e-6")
    assert plan.delta <= Fraction(1, 10**6)
    assert plan.samples <= math.ceil(3 * rows / size * math.log(2e6))


def test_a_stable_answer_is_missed_as_seldom_as_promised() -> None:
    """Exactly: three quarters of 256 subsamples say 1, the rest 0."""
    mechanism = Subsample(Fraction(8), 64, 1, 256)
    rows = np.array([1] * 48 + [0] * 16)
    law = subsample_pmf(mechanism, rows, first)
    missed = 1 - float(law.probabilities[law.outcomes.index(1)])
    chernoff = math.exp(-256 / 128) + math.exp(-8 * 64 / 32) / 2
    assert missed <= mechanism.failure() <= chernoff * 1.0001


@pytest.mark.slow
def test_a_planned_mechanism_releases_what_most_subsamples_say() -> None:
    rows = np.zeros(300, dtype=np.int64)
    release = subsample_aggregate(rows, first, size=1, epsilon="2", delta="1e-3")
    assert release.result == 0
    assert release.delta <= Fraction(1, 1000)


def test_impossible_sizes_are_refused() -> None:
    for arguments in ((10, 0, 64), (10, 11, 64), (10, 1, 0)):
        with pytest.raises(RowsError, match="must lie in"):
            Subsample(Fraction(1), *arguments)
    with pytest.raises(RowsError, match=r"samples must be at least n/\(2m\) = 500, got 499"):
        Subsample(Fraction(1), 1000, 1, 499)
    with pytest.raises(RowsError, match="planned for 64 rows"):
        Subsample(Fraction(9), 64, 1, 96).release(np.zeros(63), first)
    with pytest.raises(ParameterError, match="cases are enumerated"):
        subsample_pmf(Subsample(Fraction(1), 64, 4, 64), np.zeros(64), first)


def test_a_majority_of_all_trials_has_no_tail() -> None:
    assert subsample._binomial_tail(10, Decimal("0.1"), 10) == 0


def test_a_tail_of_few_terms_is_summed_to_its_end() -> None:
    chance = Decimal("0.25")
    assert float(subsample._binomial_tail(4, chance, 2)) == pytest.approx(13 / 256)
