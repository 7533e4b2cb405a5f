from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import factorial, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable_estimators.inference.channel import Channel
from deniable_estimators.inference.debias import Estimate, debias
from deniable_estimators.inference.projection import limits_around, onto_box, onto_simplex
from deniable_shared.errors import ParameterError

vectors = st.lists(st.floats(-3, 3), min_size=1, max_size=40).map(np.array)


def estimate() -> Estimate:
    channel = Channel(Fraction(3, 4), Fraction(1, 4))
    return debias(channel, np.array([90, 20, 10]), 120)


@settings(deadline=None)
@given(vectors)
def test_the_projection_satisfies_the_conditions_of_the_nearest_point(raw: np.ndarray) -> None:
    """Karush–Kuhn–Tucker: ≥ 0, sum 1, one shift for all that stay, no less for those cut to 0."""
    near = onto_simplex(raw)
    shift = (raw - near)[near > 0]
    assert near.min() >= 0
    assert near.sum() == pytest.approx(1, abs=1e-12)
    assert np.ptp(shift) <= 1e-12
    assert (raw[near == 0] <= shift[0] + 1e-12).all()


@settings(deadline=None)
@given(st.lists(st.floats(-3, 3), min_size=2, max_size=2).map(np.array))
def test_of_two_labels_no_point_of_a_fine_grid_is_nearer(raw: np.ndarray) -> None:
    first = np.linspace(0, 1, 2001)
    grid = np.stack([first, 1 - first], axis=1)
    nearest = ((grid - raw) ** 2).sum(axis=1).min()
    assert ((onto_simplex(raw) - raw) ** 2).sum() <= nearest + 1e-12


def test_the_published_example_of_norm_sub_comes_out() -> None:
    near = onto_simplex(np.array([0.6, 0.3, 0.25, -0.05, -0.2]))
    assert near.tolist() == pytest.approx([0.55, 0.25, 0.2, 0, 0])


@settings(deadline=None)
@given(vectors)
def test_projecting_twice_is_projecting_once(raw: np.ndarray) -> None:
    once = onto_simplex(raw)
    assert onto_simplex(once).tolist() == pytest.approx(once.tolist(), abs=1e-12)


def test_a_single_label_is_certain() -> None:
    assert onto_simplex(np.array([-7.0])).tolist() == [1.0]


def test_the_box_clips_each_label_by_itself() -> None:
    assert onto_box(np.array([-0.2, 0.4, 1.7])).tolist() == [0, 0.4, 1]


def test_projections_leave_the_raw_estimate_and_its_interval_alone() -> None:
    built = estimate()
    before = (built.frequencies.tolist(), built.lower.tolist(), built.upper.tolist())
    built.projected("simplex")
    built.projected("clip")
    assert (built.frequencies.tolist(), built.lower.tolist(), built.upper.tolist()) == before
    assert built.frequencies.min() < 0


def test_both_projections_are_there_under_their_names() -> None:
    built = estimate()
    assert built.projected("simplex").tolist() == onto_simplex(built.frequencies).tolist()
    assert built.projected("clip").tolist() == onto_box(built.frequencies).tolist()


@pytest.mark.parametrize("kind", ["none", "", "Simplex"])
def test_another_projection_is_refused(kind: str) -> None:
    with pytest.raises(ParameterError, match="projection must be one of"):
        estimate().projected(kind)


def test_limits_around_hold_the_raw_interval_and_the_point() -> None:
    lower, upper = np.array([0.2, 0.0, 0.5]), np.array([0.4, 0.1, 0.6])
    least, most = limits_around(np.array([0.1, 0.3, np.nan]), lower, upper)
    assert least.tolist() == [0.1, 0.0, 0.5]
    assert most.tolist() == [0.4, 0.3, 0.6]


@pytest.mark.slow
def test_limits_around_cover_where_the_simplex_shifts_points_out() -> None:
    """Exact: all tallies of 12 reports of grr over four labels, one of which nearly all have."""
    n, truth = 12, np.array([0.94, 0.02, 0.02, 0.02])
    channel = Channel(Fraction(1, 2), Fraction(1, 6))
    law = 1 / 6 + truth * (1 / 2 - 1 / 6)
    covered = np.zeros(4)
    for tally in product(range(n + 1), repeat=3):
        if sum(tally) > n:
            continue
        counts = np.array([*tally, n - sum(tally)])
        ways = factorial(n) / prod(factorial(k) for k in counts.tolist())
        chance = ways * float(np.prod(law**counts))
        raw = debias(channel, counts, n)
        points = raw.projected("simplex")
        least, most = limits_around(points, raw.lower, raw.upper)
        assert ((least <= points) & (points <= most)).all()
        covered += chance * ((least <= truth) & (truth <= most))
    assert covered.min() >= 0.95
