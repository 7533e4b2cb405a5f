"""Sums over shifts of a difference set: exact for every histogram, or refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable_estimators.inference import difference_set_sums
from deniable_estimators.inference.difference_set_sums import shifted_sums
from deniable_shared.algebra.difference_sets import difference_set, hyperplane_size
from deniable_shared.algebra.recurrences import point_count
from deniable_shared.randomness.coins import Coins
from support.tiers import by_tier

SMALL, LARGE = [(2, 3), (3, 3), (7, 3), (2, 5)], [(2, 7), (3, 5), (4, 4), (11, 3), (2, 11)]
MOST = [1, 1000, 10**11, 2**40, 2**53 + 1, 2**55]


def by_definition(counts: list[int], q: int, t: int) -> list[int]:
    codes, members = len(counts), difference_set(q, t)
    return [sum(counts[(v + member) % codes] for member in members) for v in range(codes)]


@settings(deadline=None, max_examples=by_tier(15, 60))
@given(st.sampled_from(SMALL + LARGE[:4]), st.sampled_from(MOST), st.data())
def test_sums_are_those_of_the_definition(
    space: tuple[int, int], most: int, data: st.DataObject
) -> None:
    codes = point_count(*space)
    coins = Coins.derive(data.draw(st.binary(max_size=8)))
    filled = data.draw(st.sampled_from([1, 2, codes // 2, codes]))
    counts = [0] * codes
    for _ in range(filled):
        counts[coins.below(codes)] = coins.below(most + 1)
    sums = shifted_sums(np.array(counts), *space)
    assert sums.dtype == np.int64
    assert sums.tolist() == by_definition(counts, *space)


@pytest.mark.parametrize("space", [*SMALL, *LARGE], ids=str)
@pytest.mark.parametrize("most", [10**11, 2**60])
def test_two_cells_that_hold_all_reports_are_exact(space: tuple[int, int], most: int) -> None:
    """More than a float can count, and no mean to take away."""
    codes, members = point_count(*space), set(difference_set(*space))
    counts = np.zeros(codes, dtype=np.int64)
    counts[[1, codes - 2]] = most, most + 3
    sums = shifted_sums(counts, *space).tolist()
    for v in range(codes):
        held = [(cell - v) % codes in members for cell in (1, codes - 2)]
        assert sums[v] == held[0] * most + held[1] * (most + 3)


@pytest.mark.slow
def test_sums_of_a_million_codes_are_those_of_the_definition() -> None:
    q, t = 2, 20
    codes, members = point_count(q, t), np.array(difference_set(q, t), dtype=np.int64)
    counts = np.arange(codes) ** 2 % 10**6 + 10**5
    counts[[7, 70_007]] = 10**11, 10**11 + 1
    sums = shifted_sums(counts, q, t)
    for v in (0, 1, 7, 500_000, codes - 1):
        assert sums[v] == counts[(v + members) % codes].sum()
    assert int(sums.sum()) == hyperplane_size(q, t) * int(counts.sum())


@pytest.mark.parametrize("space", [(3, 3), (3, 5)])
def test_many_histograms_are_summed_like_each_alone(space: tuple[int, int]) -> None:
    counts = np.arange(2 * 3 * point_count(*space)).reshape(2, 3, -1) % 1009
    together = shifted_sums(counts, *space)
    assert together.shape == counts.shape
    for place in np.ndindex(2, 3):
        assert together[place].tolist() == shifted_sums(counts[place], *space).tolist()


@pytest.mark.parametrize("off", [1.0, 1.001, 0.5])
def test_sums_that_are_not_sure_are_never_given(
    monkeypatch: pytest.MonkeyPatch, off: float
) -> None:
    """A transform of the set that is a little off makes sums that are no integers."""
    right, length = difference_set_sums.spectrum_of(3, 5)
    monkeypatch.setattr(difference_set_sums, "spectrum_of", lambda q, t: (right * off, length))
    counts = np.arange(point_count(3, 5)) % 97
    if off == 1.0:
        assert shifted_sums(counts, 3, 5).tolist() == by_definition(counts.tolist(), 3, 5)
    else:
        with pytest.raises(ArithmeticError, match="are not exact"):
            shifted_sums(counts, 3, 5)


def test_a_histogram_that_floats_cannot_add_up_is_cut_into_limbs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole, seen = difference_set_sums._by_transform, []

    def spy(numbers: np.ndarray, q: int, t: int) -> np.ndarray | None:
        seen.append(int(np.abs(numbers).max()))
        return whole(numbers, q, t)

    monkeypatch.setattr(difference_set_sums, "_by_transform", spy)
    counts = np.zeros(point_count(3, 5), dtype=np.int64)
    counts[5] = 2**60 + 12345
    assert shifted_sums(counts, 3, 5).tolist() == by_definition(counts.tolist(), 3, 5)
    assert len(seen) == 3
    assert max(seen) < 2**24


@pytest.mark.parametrize("least", [1, 2, 7, 13, 97, 1000, 2729, 43_689, 524_285])
def test_a_transform_is_of_the_next_length_of_small_factors(least: int) -> None:
    def rest(number: int) -> int:
        for prime in (2, 3, 5):
            while number % prime == 0:
                number //= prime
        return number

    assert difference_set_sums._length(least) == next(
        n for n in range(least, 2 * least) if rest(n) == 1
    )
