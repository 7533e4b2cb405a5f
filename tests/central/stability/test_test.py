"""The test for stability: its thresholds, what it answers how often, and its draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from deniable_central.errors import AdjacencyError, SensitivityError
from deniable_central.stability import (
    DeltaError,
    Proposal,
    RowsError,
    StabilityTest,
    find_violation,
    propose_argmax,
    propose_mode,
    propose_quantile,
    propose_test_release,
    stable_argmax,
    stable_median,
    stable_mode,
    stable_quantile,
)
from deniable_shared.errors import ParameterError
from deniable_shared.randomness.coins import Coins
from support.oracles.central_stability import (
    laplace_chance,
    laplace_tail,
    laplace_threshold,
    lower_median,
    rows_to_change,
)
from support.oracles.selection_checks import check_follows
from support.tiers import grid

NOTES = [1, 1, 2, 3, 3, 3, 3, 4, 5, 5, 5]


def test_the_median_of_the_notes_is_3_and_two_rows_away_from_changing() -> None:
    assert propose_quantile(np.array(NOTES)) == Proposal(3, 2)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5])
def test_the_distance_is_the_fewest_rows_that_change_the_median(
    rows: int,
) -> None:
    for data in product(range(1, 4), repeat=rows):
        proposed = propose_quantile(data)
        assert proposed.answer == lower_median(data)
        assert proposed.distance == rows_to_change(lower_median, data, range(5))


def test_the_distance_of_a_mode_is_the_fewest_rows_that_tie_it() -> None:
    for data in product(range(3), repeat=5):
        counts = sorted((data.count(value) for value in range(4)), reverse=True)
        assert propose_mode(data).distance == math.ceil((counts[0] - counts[1]) / 2)


def test_the_threshold_at_epsilon_1_and_delta_one_millionth_is_14() -> None:
    test = StabilityTest.of(epsilon="1", delta="1e-6")
    assert test.threshold == 14
    assert laplace_threshold(1, 1e-6) == pytest.approx(14.12, abs=0.005)
    assert test.distance_for(0.999) == 21  # 20.4 with Laplace noise


@pytest.mark.parametrize("epsilon", grid(["0.01", "0.1", "1", "3", "20"], by_default=["0.1", "3"]))
@pytest.mark.parametrize("delta", ["0.01", "1e-6", "1e-12", "1e-24"])
def test_the_threshold_is_the_least_that_keeps_delta(epsilon: str, delta: str) -> None:
    test = StabilityTest.of(epsilon=epsilon, delta=delta)
    assert test.guarantee.delta <= Fraction(delta)
    z = math.exp(-Fraction(epsilon))
    exact = math.log(1 / (float(Fraction(delta)) * (1 + z))) / float(Fraction(epsilon))
    assert test.threshold == max(1, math.ceil(exact))
    assert test.threshold <= math.ceil(laplace_threshold(float(epsilon), float(delta)))


@pytest.mark.parametrize("epsilon", grid([0.1, 1.0, 3.0], by_default=[1.0]))
@pytest.mark.parametrize("more", [0.0, 1.0, 4.0])
def test_with_laplace_noise_delta_would_be_e_to_the_epsilon_minus_t_over_2(
    epsilon: float, more: float
) -> None:
    t = epsilon + more
    released = laplace_chance(1, epsilon, t)
    assert released == pytest.approx(math.exp(epsilon - t) / 2)
    for distance in range(1, 8):
        near, far = laplace_chance(distance, epsilon, t), laplace_chance(distance + 1, epsilon, t)
        assert far <= math.exp(epsilon) * near * (1 + 1e-12)
        withheld, less = (
            laplace_tail(epsilon * distance - t),
            laplace_tail(epsilon * (distance + 1) - t),
        )
        assert withheld <= math.exp(epsilon) * less * (1 + 1e-12)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.999])
@pytest.mark.parametrize("epsilon", grid(["0.1", "1", "5"], by_default=["1"]))
def test_the_distance_for_a_confidence_is_the_least_that_gives_it(
    confidence: float, epsilon: str
) -> None:
    test = StabilityTest.of(epsilon=epsilon, delta="1e-6")
    distance = test.distance_for(confidence)
    assert test.chance(distance)[0] >= confidence
    assert test.chance(distance - 1)[0] < confidence + Fraction(1, 10**9)


@pytest.mark.parametrize("epsilon", ["0.2", "1", "4"])
@pytest.mark.parametrize("distance", [0, 1, 2, 5])
@pytest.mark.statistical
def test_draws_follow_the_law(epsilon: str, distance: int) -> None:
    """5,000 draws, chi-square at 10^−6."""
    test, proposal = StabilityTest(Fraction(epsilon), 2), Proposal("it", distance)
    coins = Coins.system()
    check_follows(lambda: test.release(proposal, coins).result, test.pmf(proposal), draws=5_000)


def test_a_very_stable_answer_is_released_and_a_very_unstable_one_is_not() -> None:
    far, near = np.full(1001, 7), np.arange(2)
    assert stable_median(far, epsilon="1", delta="1e-9").result == 7
    assert stable_median(near, epsilon="1", delta="1e-9").result is None
    assert stable_mode(far, epsilon="1", delta="1e-9").result == 7
    assert stable_quantile(far, Fraction(9, 10), epsilon="1", delta="1e-9").result == 7


def test_a_distance_beyond_all_integers_of_the_machine_is_released() -> None:
    test = StabilityTest.of(epsilon="0.01", delta="1e-24")
    assert test.release(Proposal("constant", 10**30)).result == "constant"


def test_the_largest_of_counts_is_found_by_its_place() -> None:
    counts = np.array([3, 900, 12])
    release = stable_argmax(counts, range_sensitivity=2, epsilon="1", delta="1e-6")
    assert release.result == 1


def test_an_answer_of_ones_own_is_released_by_its_own_distance() -> None:
    release = propose_test_release(
        [4] * 60, answer=max, distance=len, epsilon="1", delta="1e-6", adjacency="add/remove"
    )
    assert release.result == 4
    assert release.adjacency == "add/remove"


@pytest.mark.parametrize("domain", [range(2), range(4)])
@pytest.mark.parametrize("propose", [propose_quantile, propose_mode])
def test_the_built_in_answers_keep_the_promise(
    propose: Callable[[tuple[int, ...]], Proposal[int]], domain: range
) -> None:
    proposed = cache(propose)
    broken = find_violation(
        lambda rows: proposed(rows).answer,
        lambda rows: proposed(rows).distance,
        domain=domain,
        rows=4,
    )
    assert broken is None


def test_a_broken_promise_is_found_and_shown() -> None:
    def leaping(rows: tuple[int, ...]) -> int:
        return 9 if propose_quantile(rows).distance > 1 else 1

    leap = find_violation(lower_median, leaping, domain=range(3), rows=3)
    assert leap is not None
    assert "one row may move it by 1" in leap.reason
    deaf = find_violation(len, len, domain=range(3), rows=2, adjacency="add/remove")
    assert deaf is not None
    assert "the answer changes" in deaf.reason


def test_a_search_too_long_to_finish_is_refused() -> None:
    with pytest.raises(ParameterError, match="fewer rows or values"):
        find_violation(max, len, domain=range(100), rows=9)


@pytest.mark.parametrize("rows", [[0.5, 1.0], np.array([1.0, np.nan]), ["a"], np.eye(2, dtype=int)])
def test_rows_that_are_no_integers_are_refused_with_the_cure(rows: object) -> None:
    with pytest.raises(RowsError, match=r"round real values to a public grid|one number a row"):
        stable_median(rows, epsilon="1", delta="1e-6")  # type: ignore[arg-type]  # a wrong type is the point


def test_a_quantile_of_nothing_is_refused_and_a_mode_of_nothing_is_nothing() -> None:
    with pytest.raises(RowsError, match="at least 1 row"):
        stable_median([], epsilon="1", delta="1e-6")
    assert stable_mode([], epsilon="1", delta="1e-6", adjacency="add/remove").result is None


@pytest.mark.parametrize("delta", [1e-6, "0", "1", "1e6", "-1", "1e-25", Fraction(2, 3)])
def test_a_delta_that_is_no_exact_small_number_is_refused(delta: object) -> None:
    with pytest.raises(DeltaError, match="delta must"):
        StabilityTest.of(epsilon="1", delta=delta)  # type: ignore[arg-type]  # a wrong type is the point


@pytest.mark.parametrize("epsilon", ["0", "21", 0.5, "1e3"])
def test_an_epsilon_that_is_no_exact_number_in_range_is_refused(epsilon: object) -> None:
    with pytest.raises(ParameterError, match="epsilon must"):
        StabilityTest.of(epsilon=epsilon, delta="1e-6")  # type: ignore[arg-type]  # a wrong type is the point


def test_a_median_for_a_row_more_or_less_is_refused_with_the_cure() -> None:
    with pytest.raises(AdjacencyError, match=r'use adjacency "replace"'):
        stable_median([1], epsilon="1", delta="1e-6", adjacency="add/remove")
    with pytest.raises(AdjacencyError, match="adjacency must be"):
        stable_mode([1], epsilon="1", delta="1e-6", adjacency="hamming")


@pytest.mark.parametrize("apart", [0, -1, 0.5])
def test_an_argmax_needs_two_candidates_and_a_range_sensitivity(apart: object) -> None:
    with pytest.raises(SensitivityError, match="integer of at least 1"):
        propose_argmax([1, 2], range_sensitivity=apart)  # type: ignore[arg-type]  # a wrong type is the point
    with pytest.raises(RowsError, match="at least 2 candidates"):
        propose_argmax([1], range_sensitivity=1)


def test_a_distance_in_halves_is_refused() -> None:
    with pytest.raises(RowsError, match="round down"):
        propose_test_release(
            [1],
            answer=max,
            distance=lambda _: 0.5,  # type: ignore[arg-type, return-value]  # a wrong type is the point
            epsilon="1",
            delta="1e-6",
        )


@pytest.mark.parametrize("quantile", [0.5, Fraction(0), Fraction(3, 2)])
def test_a_quantile_is_an_exact_share(quantile: object) -> None:
    with pytest.raises(ParameterError, match="quantile must be a Fraction"):
        propose_quantile([1, 2], quantile)  # type: ignore[arg-type]  # a wrong type is the point
