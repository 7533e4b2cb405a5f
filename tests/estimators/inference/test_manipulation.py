from __future__ import annotations

from fractions import Fraction
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable_estimators.inference.channel import Channel
from deniable_estimators.inference.debias import debias
from deniable_estimators.inference.intervals import clopper_pearson
from deniable_estimators.inference.manipulation import (
    UNREACHABLE,
    influence,
    limits_under_lies,
    reports_to_leave,
    worst_share,
)
from deniable_shared.errors import ParameterError

CHANNEL = Channel(Fraction(3, 4), Fraction(1, 4))
levels = st.sampled_from([0.1, 0.5, 0.95, 0.99])


def by_brute_force(hits: int, n: int, lower: float, upper: float) -> int:
    """Add one fake more until the raw share of supports is out, in rational arithmetic."""
    for fakes in count(1):
        most, least = Fraction(hits + fakes, n + fakes), Fraction(hits, n + fakes)
        if most > Fraction(upper) or least < Fraction(lower):
            return fakes
    raise AssertionError


@settings(deadline=None)
@given(st.integers(1, 60), levels)
def test_the_least_number_of_fakes_is_found_exactly(n: int, level: float) -> None:
    hits = np.arange(n + 1)
    lower, upper = clopper_pearson(hits, n, (1 - level) / 2)
    expected = [by_brute_force(c, n, lower[c], upper[c]) for c in range(n + 1)]
    assert reports_to_leave(hits, n, lower, upper).tolist() == expected


@settings(deadline=None)
@given(st.integers(1, 80), st.integers(1, 19), st.integers(0, 100))
def test_ties_are_decided_exactly(n: int, fortieths: int, percent: int) -> None:
    """Limits such as 0.975 = 39/40 make (c + k)/(n + k) meet them nearly or exactly."""
    hits = n * percent // 100
    lower = min(hits / n, fortieths / 40)
    upper = max(hits / n, (20 + fortieths) / 40)
    actual = reports_to_leave(np.array([hits]), n, np.array([lower]), np.array([upper]))
    assert actual.tolist() == [by_brute_force(hits, n, lower, upper)]


def test_that_many_fakes_do_it_and_one_fewer_does_not() -> None:
    estimate = debias(CHANNEL, np.array([500]), 1000)
    fakes = int(estimate.reports_to_leave[0])
    moved = [CHANNEL.frequencies(np.array([500 + k]), 1000 + k)[0] for k in (fakes - 1, fakes)]
    assert moved[0] <= estimate.upper[0] < moved[1]


def test_an_estimate_outside_zero_to_one_is_not_out_of_its_interval() -> None:
    estimate = debias(CHANNEL, np.array([0, 200]), 1000)
    assert (estimate.frequencies < 0).all()
    assert (estimate.reports_to_leave >= 2).all()


def test_without_reports_there_is_nothing_to_push() -> None:
    assert debias(CHANNEL, np.array([0, 0]), 0).reports_to_leave.tolist() == [0, 0]


def test_limits_of_zero_and_one_are_never_left() -> None:
    everything = reports_to_leave(np.array([1]), 2, np.array([0.0]), np.array([1.0]))
    assert everything.tolist() == [UNREACHABLE]


def test_large_tallies_are_quick_and_exact() -> None:
    hits, n = np.array([10**11, 5 * 10**11]), 10**12
    lower, upper = clopper_pearson(hits, n, 0.025)
    actual = reports_to_leave(hits, n, lower, upper)
    for place, fakes in enumerate(actual.tolist()):
        limit, low = Fraction(float(upper[place])), Fraction(float(lower[place]))
        out = [leaves(int(hits[place]), n, k, low, limit) for k in (fakes - 1, fakes)]
        assert out == [False, True]


def leaves(hits: int, n: int, fakes: int, lower: Fraction, upper: Fraction) -> bool:
    return Fraction(hits + fakes, n + fakes) > upper or Fraction(hits, n + fakes) < lower


@settings(deadline=None)
@given(st.integers(1, 1000), st.data())
def test_no_single_report_moves_a_frequency_further_than_the_influence(
    n: int, data: st.DataObject
) -> None:
    hits = data.draw(st.integers(0, n - 1))
    here = CHANNEL.frequencies(np.array([hits]), n)[0]
    replaced = CHANNEL.frequencies(np.array([hits + 1]), n)[0]
    added = CHANNEL.frequencies(np.array([hits, hits + 1]), n + 1)
    most = influence(CHANNEL, n)
    assert replaced - here == pytest.approx(most)
    assert np.abs(added - here).max() <= most


def test_the_influence_of_the_literature_comes_out() -> None:
    """Width 1/(p − q) in units of 1/n: coth(½) = 2.164 for one bit at ε = 1."""
    channel = Channel(
        Fraction(13485650502877570762, 2**64), Fraction(2**64 - 13485650502877570762, 2**64)
    )
    assert 1000 * influence(channel, 1000) == pytest.approx(1 / np.tanh(0.5))


def test_a_device_moves_an_estimate_once_an_epoch_and_not_past_all() -> None:
    assert influence(CHANNEL, 1000, epochs=7) == pytest.approx(7 * influence(CHANNEL, 1000))
    assert influence(CHANNEL, 5, epochs=30) == influence(CHANNEL, 1)


def test_nobody_is_pushed_off_by_nobody() -> None:
    estimate = debias(CHANNEL, np.array([500]), 1000)
    lower, upper = estimate.under_lies(0)
    assert (lower.tolist(), upper.tolist()) == (estimate.lower.tolist(), estimate.upper.tolist())


@settings(deadline=None)
@given(st.integers(2, 400), st.data())
def test_honest_people_stay_within_limits_widened_for_the_liars_there_are(
    n: int, data: st.DataObject
) -> None:
    """For all k fakes, if the interval of all reports covers their mean, ours covers f."""
    k = data.draw(st.integers(0, n - 1))
    lies, f = data.draw(st.integers(0, k)), data.draw(st.floats(0, 1))
    honest = (float(CHANNEL.q) + float(CHANNEL.gap) * f) * (n - k)
    mean = CHANNEL.frequency_of(np.array([(honest + lies) / n]))
    lower, upper = limits_under_lies(CHANNEL, mean, mean, k / n)
    assert lower[0] <= f + 1e-9
    assert f - 1e-9 <= upper[0]


def test_fakes_that_choose_labels_weigh_more_if_reports_have_few() -> None:
    assert worst_share(0.01, Fraction(1)) == pytest.approx(0.01)
    assert worst_share(0.01, Fraction(1, 8)) == pytest.approx(0.08 / 1.07)
    assert worst_share(0, Fraction(1, 8)) == 0


@pytest.mark.parametrize("liars", [-0.1, 1, 1.5, float("nan")])
def test_a_share_of_liars_out_of_range_is_refused(liars: float) -> None:
    with pytest.raises(ParameterError, match=r"liars must be a share in \[0, 1\)"):
        debias(CHANNEL, np.array([1]), 2).under_lies(liars)


def test_without_a_report_of_it_a_label_may_be_anything_whoever_lies() -> None:
    lower, upper = debias(CHANNEL, np.array([0]), 0).under_lies(0.1)
    assert (lower.tolist(), upper.tolist()) == ([0], [1])
