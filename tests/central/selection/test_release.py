"""A release says what it may and nothing else, and a mechanism refuses what it cannot keep."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest

from deniable_central import selection
from deniable_central.errors import AdjacencyError, CentralError, SensitivityError
from deniable_central.guarantee import Adjacency, bounded_range_rho, pure_rho
from deniable_central.release import ErrorBar, Release
from deniable_central.selection import (
    Exponential,
    NoiseDistribution,
    NoisyMax,
    PermuteAndFlip,
    TopK,
    exponential,
    noisy_max,
    permute_and_flip,
    privacy_parameters,
    top_k,
)
from deniable_shared.errors import DeniableError, ParameterError
from support.doubles.chosen_coins import Fixed
from support.oracles.selection_checks import check_follows

ONE = privacy_parameters(epsilon=1, sensitivity=1)
SCORES = np.array([3, 9, 4])
LAWS: list[Any] = [
    Exponential(ONE),
    Exponential.of(ONE, [1, 2, 3]),
    PermuteAndFlip(ONE),
    NoisyMax(ONE, NoiseDistribution.GEOMETRIC),
    NoisyMax(ONE, NoiseDistribution.EXPONENTIAL),
    NoisyMax(ONE, NoiseDistribution.GUMBEL),
    TopK(ONE, 2),
]
NAMES = [law.law for law in LAWS]


def exponential_noise(scores: Any, **declared: Any) -> Release[int]:
    return noisy_max(scores, noise="exponential", **declared)


def top_two(scores: Any, **declared: Any) -> Release[tuple[int, ...]]:
    return top_k(scores, 2, **declared)


FUNCTIONS = [exponential, permute_and_flip, exponential_noise, top_two]
each_function = pytest.mark.parametrize("release", FUNCTIONS)


@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_neighbouring_scores_give_releases_that_differ_in_the_draw_alone(law: Exponential) -> None:
    one = law.release(SCORES, Fixed(rest=77))
    other = law.release(SCORES + np.array([1, -1, 1]), Fixed(rest=33))
    assert dataclasses.replace(one, result=other.result) == other


def test_a_release_tells_its_law_its_price_and_its_error() -> None:
    release = exponential(SCORES, epsilon="0.5", sensitivity=2)
    assert release.law == "exponential mechanism"
    assert (release.epsilon, release.delta) == (Fraction(1, 2), Fraction(0))
    assert release.rho == bounded_range_rho(Fraction(1, 2))
    assert release.adjacency is Adjacency.REPLACE
    assert release.protects == "one row of the data"
    assert release.error_bars == (ErrorBar("score below the best", 0.0, 32.0, 0.95),)


def test_a_release_is_closed() -> None:
    release = exponential(SCORES, epsilon=1, sensitivity=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        cast(Any, release).result = 0
    assert not hasattr(release, "pmf")
    assert not hasattr(release, "poisoning_radius")


@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_the_price_is_known_before_the_scores_are_read(law: Exponential) -> None:
    assert law.guarantee == law.release(SCORES).guarantee
    assert law.guarantee.epsilon == 1


def test_only_draws_of_bounded_range_are_cheap_to_compose() -> None:
    cheap = [law.law for law in LAWS if (law.guarantee.rho or 1) < Fraction(1, 7)]
    assert cheap == ["exponential mechanism"] * 2 + [
        "gumbel noisy max",
        "exponential mechanism, peeled",
    ]
    assert NoisyMax(ONE, NoiseDistribution.GEOMETRIC).guarantee.rho == pure_rho(Fraction(1))


# scores, and some of the same law but for less than e^−150 whose pmf is soon computed
TORTURE: dict[tuple[int, ...], tuple[int, ...]] = {
    (3, 9, 4): (3, 9, 4),
    (5, 5, 5): (5, 5, 5),
    (0, 10**9, 10**9 + 1): (0, 600, 601),
    (-(2**63), 2**63 - 1, 0): (0, 1200, 600),
}


@pytest.mark.statistical
@pytest.mark.parametrize("scores", TORTURE, ids=str)
@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_releases_follow_the_law_of_their_mechanism(law: Any, scores: tuple[int, ...]) -> None:
    levels = np.array(scores)  # chi-square, rejected at 1e-6
    check_follows(lambda: law.release(levels).result, law.pmf(TORTURE[scores]), draws=3_000)


def test_top_k_costs_k_small_draws() -> None:
    assert TopK(ONE, 4).guarantee.rho == 4 * bounded_range_rho(Fraction(1, 4))


def test_top_k_draws_k_different_candidates() -> None:
    picks = top_k(range(5), 5, epsilon=1, sensitivity=1).result
    assert sorted(picks) == [0, 1, 2, 3, 4]


@each_function
def test_results_are_plain_integers(release: Callable[..., Release[Any]]) -> None:
    result = release(SCORES, epsilon=1, sensitivity=1).result
    assert {type(index) for index in (result if isinstance(result, tuple) else (result,))} == {int}


@each_function
def test_scores_are_left_as_they_were(release: Callable[..., Release[Any]]) -> None:
    scores = SCORES.copy()
    scores.flags.writeable = False
    release(scores, epsilon=1, sensitivity=1)
    assert (scores == SCORES).all()


@each_function
def test_coins_are_the_operating_systems(
    release: Callable[..., Release[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def entropy(count: int) -> bytes:
        read.append(count)
        return bytes([90]) * count

    monkeypatch.setattr(os, "urandom", entropy)
    assert len({release(SCORES, epsilon=1, sensitivity=1).result for _ in range(20)}) == 1
    assert len(read) >= 20


@each_function
@pytest.mark.parametrize("declared", [{}, {"sensitivity": 1, "range_sensitivity": 1}])
def test_exactly_one_sensitivity_is_declared(
    release: Callable[..., Release[Any]], declared: dict[str, int]
) -> None:
    with pytest.raises(SensitivityError, match="exactly one of sensitivity"):
        release(SCORES, epsilon=1, **declared)


@each_function
@pytest.mark.parametrize(
    "declared", [{"sensitivity": 1}, {"range_sensitivity": 1, "adjacency": "add/remove"}], ids=str
)
def test_monotone_scores_are_cheaper_under_add_and_remove_only(
    release: Callable[..., Release[Any]], declared: dict[str, Any]
) -> None:
    with pytest.raises(SensitivityError, match="declare range_sensitivity"):
        release(SCORES, epsilon=1, monotone=True, **declared)


@each_function
def test_an_adjacency_has_one_of_two_names(release: Callable[..., Release[Any]]) -> None:
    with pytest.raises(AdjacencyError, match="one row more or less"):
        release(SCORES, epsilon=1, sensitivity=1, adjacency="bounded")


@pytest.mark.parametrize("sensitivity", [0, -1, Fraction(1, 2**63), 2**63])
def test_a_sensitivity_out_of_range_is_refused(sensitivity: Fraction) -> None:
    with pytest.raises(SensitivityError, match="must lie in"):
        exponential(SCORES, epsilon=1, sensitivity=sensitivity)


@pytest.mark.parametrize("sensitivity", [1.0, "1"])
def test_a_sensitivity_is_exact(sensitivity: Any) -> None:
    exponential(SCORES, epsilon=1, sensitivity=1)  # a cache must not take 1.0 for it
    with pytest.raises(SensitivityError, match="an int or a Fraction"):
        exponential(SCORES, epsilon=1, sensitivity=sensitivity)


def test_a_sensitivity_may_be_an_integer_of_numpy() -> None:
    release = exponential(SCORES, epsilon=1, sensitivity=cast(Any, SCORES.max()))
    assert release.error_bars[0].upper == 73


@pytest.mark.parametrize("epsilon", [0, "0.0000001", 21, 1.0, "1e3", True])
def test_an_epsilon_is_exact_and_in_range(epsilon: Any) -> None:
    with pytest.raises(ParameterError, match="epsilon must"):
        exponential(SCORES, epsilon=epsilon, sensitivity=1)


def test_an_unknown_noise_is_refused_with_its_integer_twin() -> None:
    with pytest.raises(ParameterError, match="integer twin of Laplace"):
        noisy_max(SCORES, epsilon=1, sensitivity=1, noise="laplace")


@pytest.mark.parametrize("k", [0, -1, 1.0, True, 4])
def test_k_is_a_number_of_candidates(k: Any) -> None:
    with pytest.raises(ParameterError, match="k must be"):
        top_k(SCORES, k, epsilon=1, sensitivity=1)


@pytest.mark.parametrize("bar", [(None, None, 0.9), (2.0, 1.0, 0.9), (0.0, 1.0, 1.0)])
def test_an_error_bar_has_an_end_an_order_and_a_confidence(bar: Any) -> None:
    with pytest.raises(ParameterError):
        ErrorBar("score", *bar)


def test_every_refusal_of_the_room_is_of_one_tree() -> None:
    assert issubclass(CentralError, DeniableError)
    assert {AdjacencyError.__mro__[1], SensitivityError.__mro__[1]} == {CentralError}


def test_public_names_are_exported_and_sorted() -> None:
    assert selection.__all__ == sorted(selection.__all__)
    assert all(hasattr(selection, name) for name in selection.__all__)
