from __future__ import annotations

import sys
from fractions import Fraction
from types import FrameType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable_estimators.inference.clusters import Clusters
from deniable_estimators.inference.intervals import clopper_pearson
from deniable_shared.errors import ParameterError


def clusters(size: int | Fraction, low: str = "1/4", high: str = "3/4") -> Clusters:
    return Clusters(Fraction(low), Fraction(high), Fraction(size))


def at(built: Clusters, counts: list[int], n: int, tail: float) -> list[tuple[float, float]]:
    limits = built.limits(np.array(counts), np.full(len(counts), n), tail)
    return list(zip(*(limit.tolist() for limit in limits), strict=True))


tails = st.sampled_from([0.499, 0.25, 0.1, 0.025, 1e-3, 1e-6, 1e-12])
shapes = st.sampled_from([("1/4", "3/4"), ("1/1000", "1/2"), ("1/50", "49/50"), ("0.4", "0.41")])


@pytest.mark.slow
@settings(deadline=None)
@given(shapes, st.sampled_from([2, 7, 30]), st.integers(1, 400), tails)
def test_limits_enclose_the_share_and_rise_with_it(
    shape: tuple[str, str], size: int, n: int, tail: float
) -> None:
    counts = np.arange(n + 1)
    lower, upper = clusters(size, *shape).limits(counts, np.full(n + 1, n), tail)
    assert (lower <= counts / n).all()
    assert (counts / n <= upper).all()
    assert ((lower >= 0) & (upper <= 1)).all()
    if n >= 5 * size:  # the tails of less than a handful of devices are coarse
        assert (np.diff(lower) >= -1e-9).all()
        assert (np.diff(upper) >= -1e-9).all()


@settings(deadline=None)
@given(shapes, st.sampled_from([2, 7, 30]), st.integers(1, 10**12), st.data(), tails)
def test_no_and_yes_are_treated_alike(
    shape: tuple[str, str], size: int, n: int, data: st.DataObject, tail: float
) -> None:
    count, (low, high) = data.draw(st.integers(0, n)), map(Fraction, shape)
    here = Clusters(low, high, Fraction(size))
    there = Clusters(1 - high, 1 - low, Fraction(size))
    (lower, upper), (lower_of_no, upper_of_no) = (
        at(built, [hits], n, tail)[0] for built, hits in ((here, count), (there, n - count))
    )
    closeness = 1e-9 if tail < 0.4 else 1e-4  # near ½ a saddlepoint at 0 is 0/0
    assert lower == pytest.approx(1 - upper_of_no, abs=closeness)
    assert upper == pytest.approx(1 - lower_of_no, abs=closeness)


def test_clusters_of_one_give_nearly_clopper_and_pearsons_limits() -> None:
    """Between low and high; the shares are far inside."""
    built = clusters(1, "1/100", "99/100")
    for n in (100, 10_000):
        counts = np.array([n // 5, n // 2])
        exact = clopper_pearson(counts, n, 0.025)
        ours = built.limits(counts, np.full(2, n), 0.025)
        for limit, reference in zip(ours, exact, strict=True):
            assert limit.tolist() == pytest.approx(reference.tolist(), abs=0.002 / n**0.5)


def test_larger_clusters_and_smaller_tails_widen_the_interval() -> None:
    widths = [
        upper - lower
        for size, tail in ((1, 0.025), (2, 0.025), (7, 0.025), (7, 1e-3), (7, 1e-9))
        for lower, upper in at(clusters(size), [2000], 5000, tail)
    ]
    assert widths == sorted(widths)


def test_a_device_has_no_more_reports_than_there_are() -> None:
    assert at(clusters(30), [1], 3, 0.025) == at(clusters(3), [1], 3, 0.025)


def test_impossible_shares_reach_to_the_end_of_the_range() -> None:
    nothing, everything = at(clusters(7), [0, 70_000], 70_000, 0.025)
    assert nothing == (0, 0.25)
    assert everything == (0.75, 1)


def test_each_count_may_have_trials_of_its_own() -> None:
    counts, trials = np.array([10, 300, 10]), np.array([70, 700, 71])
    together = clusters(7).limits(counts, trials, 0.025)
    for place in range(3):
        alone = clusters(7).limits(counts[place : place + 1], trials[place : place + 1], 0.025)
        assert [limit[place] for limit in together] == [limit[0] for limit in alone]


def test_the_spread_is_independent_outside_and_grows_within() -> None:
    support = np.array([0.1, 0.25, 0.5, 0.75])
    spread = clusters(9).spread(support)
    assert spread.tolist() == pytest.approx([0.09, 0.1875, 0.25 + 8 / 16, 0.1875])


@pytest.mark.parametrize(("low", "high"), [("0", "1/2"), ("1/2", "1/2"), ("1/2", "1")])
def test_reports_that_tell_all_or_nothing_are_refused(low: str, high: str) -> None:
    with pytest.raises(ParameterError, match="0 < low < high < 1"):
        clusters(2, low, high)


def test_a_size_below_one_is_refused() -> None:
    with pytest.raises(ParameterError, match="size must be at least 1"):
        clusters(Fraction(1, 2))


def test_ten_thousand_labels_take_no_more_calls_than_ten() -> None:
    """But for a few rounds of a search; all labels are in each of them."""
    assert calls_of(10_000) <= 2 * calls_of(10)


def calls_of(labels: int) -> int:
    """Of functions, ours and numpy's, for the limits of so many labels: time without a clock."""
    counts, trials = np.linspace(0, 10**6, labels).astype(np.int64), np.full(labels, 10**6)
    made = 0

    def count(frame: FrameType, event: str, detail: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        clusters(30).limits(counts, trials, 0.025)
    finally:
        sys.setprofile(None)
    return made
