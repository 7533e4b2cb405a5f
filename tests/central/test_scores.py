"""Scores: integers pass, floats need a grid, and a grid costs what it may round apart."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from deniable_central.errors import ScoresError
from deniable_central.scores import checked_scores, on_grid
from deniable_central.selection import exponential, privacy_parameters
from deniable_central.selection.exponential import checked_measure

STEP = Fraction(1, 4)


@pytest.mark.parametrize("kind", [np.int8, np.uint32, np.int64, ">i8"])
def test_integers_of_any_kind_are_taken_as_they_are(kind: str) -> None:
    levels, step = checked_scores(np.array([3, 1, 2], dtype=kind))
    assert levels.tolist() == [3, 1, 2]
    assert levels.dtype.newbyteorder("=") == np.dtype(np.int64)
    assert step is None


@pytest.mark.parametrize(
    "scores",
    [[1.0, 2.0], [math.nan, 1.0], [True, False], ["1"], [2**70, 1], [None, 1]],
    ids=str,
)
def test_what_is_not_an_integer_is_refused_without_a_value(scores: list[int]) -> None:
    with pytest.raises(ScoresError, match=r"scores must be integers, got \w+") as refusal:
        exponential(scores, epsilon=1, sensitivity=1)
    assert "2.0" not in str(refusal.value)


@pytest.mark.parametrize("scores", [[], [[1, 2]], 7])
def test_scores_are_one_vector_of_somebody(scores: list[int]) -> None:
    with pytest.raises(ScoresError, match="one vector of at least 1 candidate"):
        exponential(scores, epsilon=1, sensitivity=1)


def test_unsigned_64_bits_are_refused() -> None:
    with pytest.raises(ScoresError, match="use int64"):
        exponential(np.array([2**63], dtype=np.uint64), epsilon=1, sensitivity=1)


def test_a_grid_rounds_down_and_keeps_order() -> None:
    rounded = on_grid([-0.1, 0.0, 0.24, 0.25, 1e300, -math.inf], step=STEP)
    assert rounded.levels.tolist() == [-1, 0, 0, 1, 2**62, -(2**62)]


@pytest.mark.parametrize("step", [Fraction(1, 100), Fraction(3), Fraction(0), Fraction(1, 2**63)])
def test_a_step_that_is_no_power_of_two_is_refused(step: Fraction) -> None:
    with pytest.raises(ScoresError, match="power of two"):
        on_grid([1.0], step=step)


def test_a_nan_is_refused_even_on_a_grid() -> None:
    with pytest.raises(ScoresError, match="got NaN"):
        on_grid([0.5, math.nan], step=STEP)


SENSITIVITIES = [Fraction(1, 8), Fraction(1, 4), Fraction(3, 8), Fraction(1)]


def changes(least: float, most: float) -> list[int]:
    """All changes of rounded scores whose real change lies in [least, most]."""
    shifts = np.arange(least, most + 1 / 64, 1 / 64)
    return [change for shift in shifts.tolist() for change in changes_of(shift)]


@cache
def changes_of(shift: float) -> list[int]:
    real = np.arange(0, 4, 1 / 64)  # finer than the grid
    changed: list[int] = (
        on_grid(real + shift, step=STEP).levels - on_grid(real, step=STEP).levels
    ).tolist()
    return changed


@pytest.mark.parametrize("sensitivity", SENSITIVITIES, ids=str)
def test_rounding_moves_a_score_by_the_declared_steps_at_most(sensitivity: Fraction) -> None:
    privacy = privacy_parameters(epsilon=1, sensitivity=sensitivity)
    moved = max(map(abs, changes(-float(sensitivity), float(sensitivity))))
    assert 2 * moved == privacy.epsilon / privacy.decay(STEP)


@pytest.mark.parametrize("apart", SENSITIVITIES, ids=str)
def test_rounding_moves_two_scores_apart_by_the_declared_steps_at_most(apart: Fraction) -> None:
    privacy = privacy_parameters(epsilon=1, range_sensitivity=apart)
    windows = [changes(low, low + float(apart)) for low in np.arange(-2, 1, 1 / 64)]
    widest = max(max(window) - min(window) for window in windows)
    assert widest == privacy.epsilon / privacy.decay(STEP)


def test_a_grid_is_charged_in_its_own_steps() -> None:
    release = exponential(on_grid([0.1, 0.9], step=STEP), epsilon=1, sensitivity=1)
    whole = exponential([0, 3], epsilon=1, sensitivity=4)
    assert release.guarantee == whole.guarantee
    assert release.error_bars[0].upper == ((whole.error_bars[0].upper or 0) + 1) / 4


@pytest.mark.parametrize("measure", [[1, 0], [2, -1], []], ids=str)
def test_a_measure_of_nothing_is_refused_up_front(measure: list[int]) -> None:
    with pytest.raises(ScoresError, match="positive everywhere"):
        checked_measure(np.array(measure, dtype=np.int64))


@pytest.mark.parametrize("measure", [[0.5, 0.5], [True, True], [[1, 2]], ["1", "2"]], ids=str)
def test_a_measure_is_integers_or_fractions(measure: list[int]) -> None:
    with pytest.raises(ScoresError, match="base_measure must be one vector of int64"):
        checked_measure(measure)


def test_a_measure_too_fine_for_63_bits_is_refused() -> None:
    with pytest.raises(ScoresError, match="coarser weights"):
        checked_measure([Fraction(1, 2**64), Fraction(1, 3**30)])


def test_a_measure_weighs_each_candidate() -> None:
    with pytest.raises(ScoresError, match="each of the 3 candidates, got 2"):
        exponential([1, 2, 3], epsilon=1, sensitivity=1, base_measure=[1, 1])
