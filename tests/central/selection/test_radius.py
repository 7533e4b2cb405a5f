"""The poisoning radius: how many rows may be anything and leave the likeliest in its place."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from deniable_central.errors import ScoresError
from deniable_central.selection import Exponential, on_grid, privacy_parameters
from deniable_shared.randomness.dyadic import exp_bounds
from support.oracles.selection_checks import Vector, data_sets, replaced

MODE = Exponential(privacy_parameters(epsilon=1, range_sensitivity=2))


def within(histogram: Vector, rows: int) -> set[Vector]:
    """Every histogram that so many replaced rows can make."""
    reached = {histogram}
    for _ in range(rows):
        reached |= {other for one in reached for other in replaced(one)}
    return reached


def likeliest(law: Exponential, histogram: Vector) -> set[int]:
    chances = law.pmf(histogram).probabilities
    return set(np.flatnonzero(chances >= chances.max() * (1 - 1e-12)).tolist())


def test_no_radius_is_too_large_and_none_of_the_mode_too_small() -> None:
    for histogram in data_sets(3, 6):
        radius, top = MODE.poisoning_radius(histogram), likeliest(MODE, histogram)
        if radius:
            assert all(likeliest(MODE, other) == top for other in within(histogram, radius))
        assert any(likeliest(MODE, other) != top for other in within(histogram, radius + 1)) or (
            len(top) > 1
        )


@pytest.mark.parametrize("measure", [[1, 2, 4], [9, 1, 1]])
def test_a_measure_is_a_head_start(measure: list[int]) -> None:
    weighed = Exponential.of(privacy_parameters(epsilon=1, range_sensitivity=2), measure)
    for histogram in data_sets(3, 5):
        radius, top = weighed.poisoning_radius(histogram), likeliest(weighed, histogram)
        if radius:
            assert all(likeliest(weighed, other) == top for other in within(histogram, radius))


def test_a_head_start_of_e_to_the_tenth_takes_more_than_nine_rows() -> None:
    weighed = Exponential.of(privacy_parameters(epsilon=1, sensitivity=1), [22_027, 1])
    assert weighed.poisoning_radius([5, 5]) == 10  # ln 22,027 = 10.00002
    assert weighed.poisoning_radius([5, 7]) == 9


def test_a_head_start_that_falls_short_by_a_hair_is_not_rounded_up() -> None:
    for rows in range(1, 30):
        low, _ = exp_bounds(Fraction(rows), bits=200)
        unit = 2 ** (62 - (2 * rows))
        measure = [int(low * unit), unit]
        weighed = Exponential.of(privacy_parameters(epsilon=1, sensitivity=1), measure)
        assert weighed.poisoning_radius([0, 0]) <= rows - 1


@pytest.mark.parametrize(("gap", "radius"), [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1), (100, 49)])
def test_each_row_closes_the_gap_by_the_range(gap: int, radius: int) -> None:
    assert MODE.poisoning_radius([7, 7 + gap, 0]) == radius


def test_the_radius_does_not_depend_on_epsilon() -> None:
    radii = {
        Exponential(privacy_parameters(epsilon=e, range_sensitivity=2)).poisoning_radius([0, 31])
        for e in (1, 20, Fraction(1, 7))
    }
    assert radii == {15}


def test_the_ends_of_int64_do_not_overflow() -> None:
    assert MODE.poisoning_radius(np.array([-(2**63), 2**63 - 1])) == 2**63 - 1


def test_a_grid_is_measured_in_its_steps() -> None:
    law = Exponential(privacy_parameters(epsilon=1, sensitivity=1))
    assert law.poisoning_radius(on_grid([0.0, 9.9], step=Fraction(1, 2))) == 4


def test_one_candidate_has_no_radius() -> None:
    with pytest.raises(ScoresError, match="at least 2 candidates"):
        MODE.poisoning_radius([3])
