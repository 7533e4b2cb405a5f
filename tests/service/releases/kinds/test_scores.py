"""Scores over raw tallies: their best is the debiased answer, and no report moves them further."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, lru_cache
from itertools import product

import numpy as np
import pytest

from deniable_aggregator.releases.kinds.label_counts import LabelCounts
from deniable_aggregator.releases.kinds.ordered_scores import (
    Quantile,
    Revenue,
    propose_first_crossing,
)
from deniable_aggregator.releases.kinds.scores import Mode, Score, Threshold
from deniable_central.stability import find_violation, propose_quantile
from deniable_estimators.mechanisms import estimator_for
from deniable_shared.domains import Bits
from deniable_shared.mechanisms.protocols import Mechanism
from support.builders.release_contexts import (
    PRICES,
    all_tallies,
    context,
    messages,
    neighbours,
    sensitivity_of,
)
from support.builders.small_mechanisms import (
    CHOICES,
    SMALL,
    mechanism,
)
from support.oracles.message_laws import MessageLaw
from support.tiers import grid

NAMES = sorted(SMALL)
SHARES = [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]
TRUTH = mechanism("grr/1", 4, "20")  # p = 1 but for 10^−8


def debiased(built: Mechanism, counts: tuple[int, ...], n: int) -> list[Fraction]:
    supports = estimator_for(built).supports(np.array(counts)).tolist()
    return [(c - n * built.q) / (built.p - built.q) for c in supports]


@pytest.mark.parametrize("name", NAMES)
def test_a_reading_has_exactly_the_mean_it_is_debiased_by(name: str) -> None:
    law, label_counts = MessageLaw(SMALL[name]), LabelCounts.of(context(SMALL[name], 1))
    rows = [label_counts(tally).tolist() for tally in law.tallies]
    for value in law.inputs:
        chances = law.probabilities({value: Fraction(1)})
        for label, held in enumerate(law.truth(value)):
            mean = sum(c * row[label] for c, row in zip(chances, rows, strict=True))
            assert mean == label_counts.expected(Fraction(held))


@pytest.mark.parametrize("name", NAMES)
def test_the_variance_of_a_reading_is_exact_for_one_report_a_device(name: str) -> None:
    law, label_counts = MessageLaw(SMALL[name]), LabelCounts.of(context(SMALL[name], 1))
    rows = [label_counts(tally).tolist() for tally in law.tallies]
    population = law.uneven()
    chances, frequencies = law.probabilities(population), law.frequencies(population)
    for label, frequency in enumerate(frequencies):
        values = [Fraction(row[label]) for row in rows]
        mean = sum(c * v for c, v in zip(chances, values, strict=True))
        truth = sum(c * (v - mean) ** 2 for c, v in zip(chances, values, strict=True))
        stated = label_counts.variance(np.array([float(frequency)]))[0]
        assert stated == pytest.approx(float(truth), rel=1e-9)


@pytest.mark.parametrize("built", [SMALL["sampled-1-of-3"], SMALL["sampled-2-of-3"]])
def test_the_blank_of_told_bits_is_q_but_for_half_a_step(built: Mechanism) -> None:
    space = LabelCounts.of(context(built, 1)).messages
    assert abs(Fraction(space.offset, space.unit) - built.q) <= Fraction(1, 2 * space.unit)


def scores(built: Mechanism, n: int) -> list[Score]:
    given = context(built, n, labels=PRICES[: built.domain_size])
    either: list[Score] = [Mode.of(given), *(Threshold.of(given, share) for share in SHARES)]
    if isinstance(given.domain, Bits):
        return either
    return [*either, *(Quantile.of(given, share) for share in SHARES), Revenue.of(given)]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_report_moves_a_score_further_than_its_sensitivity(name: str) -> None:
    pairs = [pair for pair in neighbours(SMALL[name], 2) if pair[0] < pair[1]]
    for score in scores(SMALL[name], 2):
        levels = cache(lambda counts, score=score: score.levels(np.array(counts)))
        moves = np.array([levels(one) - levels(other) for one, other in pairs])
        if "sensitivity" in score.sensitivity:
            assert np.abs(moves).max() <= score.sensitivity["sensitivity"]
        else:
            assert np.ptp(moves, axis=1).max() <= score.sensitivity["range_sensitivity"]


@pytest.mark.parametrize("name", NAMES)
def test_some_report_moves_two_scores_apart_as_far_as_is_declared(name: str) -> None:
    score = Mode.of(context(SMALL[name], 1))
    moves = [
        np.ptp(score.levels(np.array(one)) - score.levels(np.array(other)))
        for one, other in neighbours(SMALL[name], 1)
    ]
    assert max(moves) == score.sensitivity["range_sensitivity"]


@pytest.mark.parametrize("share", grid(SHARES, by_default=[Fraction(9, 10)]))
@pytest.mark.parametrize("name", CHOICES)
def test_a_quantile_scores_0_just_where_the_debiased_share_crosses_it(
    name: str, share: Fraction
) -> None:
    built = CHOICES[name]
    n = 4 if len(messages(built)) < 6 else 2
    score = Quantile.of(context(built, n), share)
    for counts in all_tallies(built, n):
        shares = np.cumsum([Fraction(0), *debiased(built, counts, n)])
        shares[-1] = max(shares[-1], share * n)  # all answers lie up to the last label
        crossed = [shares[v] < share * n <= shares[v + 1] for v in range(built.domain_size)]
        assert (score.levels(np.array(counts)) == 0).tolist() == crossed


@pytest.mark.parametrize("share", [Fraction(1, 4), Fraction(1, 2), Fraction(1)])
def test_a_threshold_scores_0_only_for_the_first_label_at_the_level(
    share: Fraction,
) -> None:
    built, n = SMALL["grr-4"], 4
    score = Threshold.of(context(built, n), share)
    for counts in all_tallies(built, n):
        over = [f >= share * n for f in debiased(built, counts, n)]
        first = over.index(True) if True in over else len(over)
        best = np.flatnonzero(score.levels(np.array(counts)) == 0).tolist()
        assert best == [first]
        assert (score.candidates[first] is None) == (True not in over)


def test_revenue_is_the_debiased_one_times_a_factor_within_half_a_cent() -> None:
    built, n = SMALL["grr-4"], 5
    score, cents = Revenue.of(context(built, n, labels=PRICES)), [100, 250, 400, 401]
    for counts in all_tallies(built, n):
        held = debiased(built, counts, n)
        revenue = [price * sum(held[v:]) for v, price in enumerate(cents)]
        exact = [float(r * (built.p - built.q)) for r in revenue]
        assert np.abs(score.levels(np.array(counts)) - exact).max() <= 0.5


def test_the_four_buyers_of_the_slides_pay_4_dollars() -> None:
    given = context(TRUTH, 4, labels=("1", "1.01", "4.01", "4.02"))
    levels = Revenue.of(given).levels(np.array([3, 0, 1, 0]))
    assert levels.tolist() == [400, 101, 401, 0]


def test_the_range_of_revenue_is_the_largest_price_and_not_twice_it() -> None:
    assert Revenue.of(context(SMALL["grr-4"], 9, labels=PRICES)).sensitivity == {
        "range_sensitivity": 401
    }


def test_scores_are_matrix_rows_and_declare_its_sensitivity() -> None:
    built = SMALL["grr-4"]
    given = context(built, 1, labels=PRICES)
    score = Revenue.of(given)
    columns = [score.levels(np.array(message)) + score.offsets for message in messages(built)[::-1]]
    exact = sensitivity_of(built, np.array(columns).T)
    assert exact.range == score.sensitivity["range_sensitivity"]


@pytest.mark.parametrize("share", grid(SHARES, by_default=[Fraction(1, 2)]))
@pytest.mark.parametrize("name", CHOICES)
def test_the_first_crossing_keeps_the_promise_of_propose_test_release(
    name: str, share: Fraction
) -> None:
    built, every = CHOICES[name], np.array(messages(CHOICES[name]))

    @lru_cache
    def score(n: int) -> Quantile:
        return Quantile.of(context(built, n), share)

    @cache
    def crossing(rows: tuple[int, ...]) -> tuple[object, int]:
        proposal = propose_first_crossing(score(len(rows)), every[list(rows)].sum(axis=0))
        return proposal.answer, proposal.distance

    assert (
        find_violation(
            lambda rows: crossing(rows)[0],
            lambda rows: crossing(rows)[1],
            domain=range(len(every)),
            rows=next(n for n in (7, 4, 3, 2) if len(every) ** n <= 300),
        )
        is None
    )


@pytest.mark.slow
@pytest.mark.parametrize("share", SHARES)
def test_without_local_noise_the_first_crossing_is_the_textbook_quantile(share: Fraction) -> None:
    score = Quantile.of(context(TRUTH, 5), share)
    for rows in product(range(4), repeat=5):
        ours = propose_first_crossing(score, np.bincount(rows, minlength=4))
        theirs = propose_quantile(np.array(rows), share)
        assert ours.answer == theirs.answer
        assert theirs.answer is not None
        if 0 < theirs.answer < 3:  # at the ends the textbook's distance is only a bound
            assert ours.distance == theirs.distance


def test_the_debiased_median_is_not_drawn_to_the_middle_as_the_raw_one_is() -> None:
    built, n = mechanism("grr/1", 9, "0.5"), 10**6
    truth = np.array([0.7, *[0.3 / 8] * 8])
    counts = np.round(n * (float(built.q) + truth * float(built.p - built.q))).astype(np.int64)
    raw = int(np.argmax(np.cumsum(counts) >= math.ceil(n / 2)))
    assert raw == 4
    assert (
        propose_first_crossing(Quantile.of(context(built, n), Fraction(1, 2)), counts).answer == 0
    )
