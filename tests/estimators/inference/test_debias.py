from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable_estimators.inference.channel import Channel
from deniable_estimators.inference.debias import Estimate, debias
from deniable_shared.errors import ParameterError

CHANNEL = Channel(Fraction(3, 4), Fraction(1, 4))


def counts(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


@st.composite
def channels(draw: st.DrawFn) -> Channel:
    numerator = draw(st.integers(1, 2**64))
    return Channel(Fraction(numerator, 2**64), Fraction(draw(st.integers(0, numerator - 1)), 2**64))


@settings(deadline=None)
@given(channels(), st.integers(1, 10**12), st.data())
@example(Channel(Fraction(2**64 - 1, 2**64), Fraction(1, 2**64)), 10**12, None)
def test_a_frequency_is_the_exact_rational_but_for_its_last_places(
    channel: Channel, n: int, data: st.DataObject | None
) -> None:
    hits = data.draw(st.integers(0, n)) if data else n // 2
    exact = (Fraction(hits, n) - channel.q) / channel.gap
    estimated = Fraction(float(channel.frequencies(counts(hits), n)[0]))
    assert abs(estimated - exact) <= abs(exact) / 2**50 + Fraction(1, 2**50) / (n * channel.gap)


def test_the_standard_error_is_the_formulas() -> None:
    estimate = debias(CHANNEL, counts(50), 100)
    assert estimate.frequencies[0] == 0.5
    assert estimate.std_errors[0] == pytest.approx(math.sqrt(0.25 / 100) / 0.5)


@pytest.mark.parametrize(("hits", "at"), [(0, 0.25), (10, 0.25), (100, 0.75)])
def test_std_errors_outside_zero_to_one_are_those_of_the_nearest_end(hits: int, at: float) -> None:
    estimate = debias(CHANNEL, counts(hits), 100)
    assert estimate.std_errors[0] == pytest.approx(math.sqrt(at * (1 - at) / 100) / 0.5)


def test_raw_frequencies_may_leave_zero_to_one_while_intervals_may_not() -> None:
    estimate = debias(CHANNEL, counts(0, 1000), 1000)
    assert estimate.frequencies.tolist() == [-0.5, 1.5]
    assert estimate.lower.tolist() == [0.0, 1.0]
    assert estimate.upper.tolist() == [0.0, 1.0]


def test_without_reports_nothing_is_known() -> None:
    estimate = debias(CHANNEL, counts(0, 0), 0)
    assert np.isnan(estimate.frequencies).all()
    assert np.isnan(estimate.std_errors).all()
    assert np.isnan(estimate.projected("simplex")).all()
    assert (estimate.lower.tolist(), estimate.upper.tolist()) == ([0, 0], [1, 1])
    assert math.isnan(estimate.influence)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 1.5, 95, math.nan, math.inf, True])
@pytest.mark.parametrize("n", [0, 10])
def test_confidence_must_lie_strictly_between_zero_and_one(confidence: float, n: int) -> None:
    with pytest.raises(ParameterError, match="confidence must lie strictly between 0 and 1"):
        debias(CHANNEL, counts(0), n, confidence=confidence)


@pytest.mark.parametrize("confidence", [5e-324, 1e-9, 1 - 2**-53])
@pytest.mark.parametrize("n", [1, 10_000])
def test_the_extremes_of_confidence_give_intervals_around_the_estimate(
    confidence: float, n: int
) -> None:
    estimate = debias(CHANNEL, counts(n // 2), n, confidence=confidence)
    raw = min(max(estimate.frequencies[0], 0), 1)
    assert 0 <= estimate.lower[0] <= raw <= estimate.upper[0] <= 1


def test_a_family_other_than_each_or_all_is_refused() -> None:
    with pytest.raises(ParameterError, match='family must be "each" or "all", got \'both\''):
        debias(CHANNEL, counts(1), 2, family="both")


@pytest.mark.parametrize("epochs", [0, -1])
def test_epochs_below_one_are_refused(epochs: int) -> None:
    with pytest.raises(ParameterError, match="epochs must be at least 1"):
        debias(CHANNEL, counts(1), 2, epochs=epochs)


def test_the_number_of_epochs_changes_nothing_while_a_device_answers_once() -> None:
    one, many = (debias(CHANNEL, counts(40), 100, epochs=epochs) for epochs in (1, 30))
    assert (one.lower.tolist(), one.upper.tolist()) == (many.lower.tolist(), many.upper.tolist())


def test_the_simultaneous_family_divides_alpha_by_the_number_of_labels() -> None:
    together = debias(CHANNEL, counts(300, 500), 1000, family="all")
    apart = debias(CHANNEL, counts(300, 500), 1000, confidence=0.975)
    assert together.lower.tolist() == pytest.approx(apart.lower.tolist(), abs=1e-12)
    assert together.upper.tolist() == pytest.approx(apart.upper.tolist(), abs=1e-12)
    assert together.confidence == 0.95


def test_one_label_is_a_family_of_its_own() -> None:
    each, every = (debias(CHANNEL, counts(300), 1000, family=f) for f in ("each", "all"))
    assert each.upper.tolist() == every.upper.tolist()


def test_an_estimate_cannot_be_changed() -> None:
    estimate = debias(CHANNEL, counts(1), 2)
    with pytest.raises(ValueError, match="read-only"):
        estimate.frequencies[0] = 0.5


def test_an_estimate_of_uneven_arrays_is_never_built() -> None:
    one, two, none = np.zeros(1), np.zeros(2), counts(0)
    with pytest.raises(ParameterError, match="one length"):
        Estimate(one, one, two, one, 1, 0.95, "each", none, 1.0, CHANNEL)


@pytest.mark.parametrize(("p", "q"), [(1, 1), (0, 1), (2, 1), (1, -1)])
def test_a_channel_in_which_the_truth_is_not_likelier_is_refused(p: int, q: int) -> None:
    with pytest.raises(ParameterError, match="0 ≤ q < p ≤ 1"):
        Channel(Fraction(p), Fraction(q))


@settings(deadline=None)
@given(channels(), st.integers(1, 200), st.sampled_from([0.5, 0.95, 0.999999]))
def test_more_support_never_lowers_an_interval(channel: Channel, n: int, level: float) -> None:
    estimate = debias(channel, np.arange(n + 1), n, confidence=level)
    assert (np.diff(estimate.lower) >= 0).all()
    assert (np.diff(estimate.upper) >= 0).all()
    assert (estimate.lower <= estimate.upper).all()
