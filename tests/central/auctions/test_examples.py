"""The same billboard elsewhere: schools by thresholds, roads by tolls."""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from deniable_central.auctions import (
    Buyers,
    MarketError,
    Matching,
    Roads,
    Students,
    allocate,
    match,
)
from support.oracles.central_auctions import justified_envy, optimum

TOP, SEATS, SCHOOLS = 60, 200, 4


def whole(bound: int, *shape: int) -> npt.NDArray[np.int64]:
    words = np.frombuffer(os.urandom(4 * int(np.prod(shape))), dtype=np.uint32)
    return (words % bound).astype(np.int64).reshape(shape)


def matched(students: Students, *, rho: Fraction = Fraction(2)) -> Matching:
    return match(students, SEATS, rounds=120, held_back=80, rho=rho)


def some_students() -> Students:
    likes = whole(10**6, 1_500, SCHOOLS)
    return Students(likes + 1, whole(TOP + 1, 1_500, SCHOOLS), top=TOP)


@pytest.mark.statistical
def test_schools_fill_up_and_not_over() -> None:
    """Measured: 142 to 157 a school, deviations of 4 and 6; limits are 7 of them away."""
    got = matched(some_students())
    enrolled = np.bincount(got.choices, minlength=SCHOOLS + 1)[1:]
    assert (enrolled <= SEATS).all()
    assert (enrolled >= SEATS - 100).all()
    assert got.release.guarantee.rho == 2


def test_no_student_envies_one_whom_a_school_scored_lower() -> None:
    students = some_students()
    got = matched(students)
    assert justified_envy(students.likes, students.scores, got.choices.tolist()) == []
    open_to = students.scores >= got.release.result[-1]
    refused = got.choices == 0
    assert not open_to[refused].any()


def test_thresholds_only_fall_and_end_at_nothing_where_there_is_room() -> None:
    students = Students(np.ones((50, 2)), whole(11, 50, 2), top=10)
    got = match(students, 500, rounds=12, rho=Fraction(10))
    assert (np.diff(got.release.result, axis=0) <= 0).all()
    assert (got.release.result[-1] == 0).all()
    assert (got.choices > 0).all()


def test_a_school_that_is_not_liked_is_not_chosen() -> None:
    students = Students([[0.0, 1.0], [-1.0, float("nan")]], [[5, 5], [5, 5]], top=5)
    assert len(students) == 2
    assert students.choose(np.zeros(2)).tolist() == [2, 0]


@pytest.mark.parametrize("scores", [[[1.0, 2.0]], [[1]], [1, 2]])
def test_scores_that_are_none_are_refused(scores: list[list[int]]) -> None:
    with pytest.raises(MarketError, match="scores"):
        Students([[1.0, 1.0]], scores, top=5)


SQUARE = Roads(
    roads=(("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ("b", "c")),
    lengths=(1.0, 1.0, 2.0, 2.0, 0.5),
    trips=(("a", "d"), ("b", "d")),
)


def test_every_simple_path_of_every_trip_is_on_the_menu() -> None:
    assert list(SQUARE.paths(("a", "d"))) == [(0, 1), (0, 4, 3), (2, 3)]
    assert SQUARE.menu.size == 1 + 3 + 2
    assert SQUARE.menu.options[2].tolist() == [1, 0, 0, 1, 1]


def test_a_path_meets_no_place_twice() -> None:
    both_ways = Roads((("a", "b"), ("b", "a"), ("b", "d")), (1.0, 1.0, 1.0), (("a", "d"),))
    assert list(both_ways.paths(("a", "d"))) == [(0, 2)]


def test_a_path_of_another_trip_is_worth_nothing() -> None:
    worths = SQUARE.worths([("b", "d"), ("a", "d"), ("z", "z")], longest=10)
    assert worths[0].tolist() == [0, 0, 0, 0.9, 0.75]
    assert worths[1] == pytest.approx([0.8, 0.65, 0.6, 0, 0])
    assert not worths[2].any()


@pytest.mark.statistical
def test_tolls_spread_travellers_over_the_roads() -> None:
    trips = [("a", "d")] * 900 + [("b", "d")] * 300
    worths, supply = SQUARE.worths(trips, longest=10), [800, 600, 500, 700, 400]
    worths = np.clip(worths - whole(100, 1_200, 1) / 1_000, 0, 1)
    got = allocate(worths, supply, menu=SQUARE.menu, rho=Fraction(1), rounds=1_000)
    loads = SQUARE.menu.demand(got.choices)
    welfare = float(Buyers(worths, SQUARE.menu).welfare_of(got.choices).sum())
    assert 0.9 <= welfare / optimum(worths, SQUARE.menu, supply) <= 1.1
    assert np.maximum(loads - supply, 0).sum() <= 120


def test_seats_are_held_back_from_those_there_are() -> None:
    students = Students([[1.0]], [[5]], top=5)
    for held_back in (-1, 3):
        with pytest.raises(MarketError, match="held_back must lie between 0 and the seats"):
            match(students, 2, rounds=2, held_back=held_back, rho=Fraction(1))


def test_a_trip_without_a_path_is_refused() -> None:
    with pytest.raises(MarketError, match="trips must each have a path"):
        Roads((("a", "b"),), (1.0,), (("b", "a"),))
    with pytest.raises(MarketError, match="a length of at least 0"):
        Roads((("a", "b"),), (), (("a", "b"),))
    with pytest.raises(MarketError, match="each be named once"):
        Roads((("a", "b"),), (1.0,), (("a", "b"), ("a", "b")))
    with pytest.raises(MarketError, match="a length of at least 0"):
        Roads((("a", "b"),), (float("nan"),), (("a", "b"),))
    with pytest.raises(MarketError, match="longest must be positive"):
        SQUARE.worths([], longest=0)
