"""Sums of frequencies and what they tell of numbers: exact means, honest errors, inverted bands."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from deniable_estimators.inference.channel import Floats
from deniable_estimators.inference.functionals import LinearEstimator
from deniable_estimators.inference.protocols import Estimator
from deniable_estimators.inference.quantities import isotonic_regression, mean, quantiles, ranges
from deniable_estimators.mechanisms import estimator_for
from deniable_shared.domains import Number
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import build
from support.oracles.message_laws import generator
from support.oracles.number_laws import SHAPES, a_month, drawn_tally, pmf_matrix, scale


def made(size: int, epsilon: str = "1", **permanent: str) -> Estimator:
    return estimator_for(build("grr/1", domain_size=size, epsilon=epsilon, **permanent))


@pytest.mark.parametrize("permanent", [{}, {"permanent": "2"}], ids=str)
def test_sums_over_all_pairs_of_messages_have_the_stated_moments(
    permanent: dict[str, str],
) -> None:
    """Each estimate is exact, and its squared error at large n is the variance over all pairs."""
    of, truth = made(4, **permanent), np.array([0.1, 0.2, 0.3, 0.4])
    assert isinstance(of, LinearEstimator)
    weights = np.array([[0, 1 / 3, 2 / 3, 1], [0, 1, 1, 0], [1, 0, 0.5, 0]])
    law = truth @ pmf_matrix(of.mechanism)
    first = second = np.zeros(3)
    for one, other in product(range(4), repeat=2):
        values = of.functionals(weights, np.bincount([one, other], minlength=4), 2).values
        first = first + law[one] * law[other] * values
        second = second + law[one] * law[other] * values**2
    assert first == pytest.approx(weights @ truth, abs=1e-12)
    n = 10**12
    result = of.functionals(weights, np.rint(law * n).astype(np.int64), n).std_errors ** 2 * n
    assert result == pytest.approx(2 * (second - first**2), rel=1e-6)


@pytest.mark.parametrize("permanent", [{}, {"permanent": "2"}], ids=str)
@pytest.mark.parametrize("epochs", [1, 7])
def test_the_distribution_function_is_that_of_sums_over_all_beginnings(
    permanent: dict[str, str], epochs: int
) -> None:
    of = made(9, **permanent)
    assert isinstance(of, LinearEstimator)
    tally = drawn_tally(of.mechanism, SHAPES["beta"](9), 5000)
    band = of.cumulative(tally, 5000, epochs=epochs).band
    steps = of.functionals(np.tril(np.ones((9, 9)))[:-1], tally, 5000, epochs=epochs)
    for name in ("values", "std_errors", "lower", "upper"):
        assert getattr(band, name) == pytest.approx(getattr(steps, name), abs=1e-12)


def test_a_lucky_sample_never_claims_certainty() -> None:
    of, domain = made(5, "20"), scale(5)
    for n in (1, 100, 100_000):
        tally = np.array([0, 0, n, 0, 0])
        actual = mean(of, domain, tally, n)
        assert actual is not None
        assert actual.value == pytest.approx(2)
        assert actual.std_error > 0
        assert actual.lower < 2 - 1 / n
        assert actual.upper > 2 + 1 / n


@pytest.mark.statistical
@pytest.mark.parametrize("shape", [*SHAPES, "rare"])
@pytest.mark.parametrize(("epsilon", "n"), [("1", 40), ("8", 3000), ("2", 100_000)])
def test_mean_ranges_and_quantiles_are_covered_as_often_as_stated(
    shape: str, epsilon: str, n: int
) -> None:
    """300 runs at 95%: a right one misses more than 39 times with chance below 5e-8.

    "rare": one in 2,000 is at the upper end, all others in the middle.
    """
    of, domain = made(21, epsilon), scale(21)
    truth = rare() if shape == "rare" else SHAPES[shape](21)
    at = [float(np.searchsorted(np.cumsum(truth), t)) for t in (0.1, 0.5, 0.9)]
    wanted = [float(truth @ np.arange(21)), float(truth[5:11].sum()), *at]
    missed = np.zeros(len(wanted))
    for _ in range(300):
        tally = drawn_tally(of.mechanism, truth, n)
        actual = [
            mean(of, domain, tally, n),
            *ranges(linear(of), domain, tally, n, [(5, 10)]),
            *quantiles(of, domain, tally, n, levels=(0.1, 0.5, 0.9)),
        ]
        for place, (quantity, value) in enumerate(zip(actual, wanted, strict=True)):
            assert quantity is not None
            missed[place] += not quantity.lower - 1e-9 <= value <= quantity.upper + 1e-9
    assert (missed <= 39).all()


def rare() -> Floats:
    truth = np.zeros(21)
    truth[10], truth[20] = 0.9995, 0.0005
    return truth


def linear(of: Estimator) -> LinearEstimator:
    assert isinstance(of, LinearEstimator)
    return of


@pytest.mark.statistical
@pytest.mark.parametrize("repeat", ["fresh", "memoized"])
def test_thirty_epochs_of_devices_that_never_change_are_covered_too(repeat: str) -> None:
    """300 runs at 95%: a right one misses more than 39 times with chance below 5e-8."""
    size, epochs, devices = 6, 30, 2000
    permanent = {"permanent": "4"} if repeat == "memoized" else {}
    mechanism = build("grr/1", domain_size=size, epsilon="2", **permanent)
    of, domain, truth = estimator_for(mechanism, repeat), scale(size), SHAPES["beta"](6)
    missed = np.zeros(2)
    for _ in range(300):
        tally = a_month(mechanism, repeat, truth, epochs=epochs, devices=devices)
        n = epochs * devices
        middle = mean(of, domain, tally, n, epochs=epochs)
        (share,) = ranges(linear(of), domain, tally, n, [(0, 3)], epochs=epochs)
        assert middle is not None
        missed[0] += not middle.lower <= truth @ np.arange(size) <= middle.upper
        missed[1] += not share.lower <= truth[:4].sum() <= share.upper
    assert (missed <= 39).all()


@pytest.mark.parametrize("id", ["duchi/1", "discrete-piecewise/1", "optimal-mean/1"])
def test_a_mean_told_as_a_share_is_told_in_the_units_of_the_domain(id: str) -> None:
    domain = Number(*map(scale(5).value, (1, 4, 1)))
    of = estimator_for(build(id, domain_size=domain.size, epsilon="1"))
    tally = np.full(of.mechanism.tally_size, 20, dtype=np.int64)
    n = 50 if id == "duchi/1" else int(tally.sum())
    share, actual = of.estimate(tally, n), mean(of, domain, tally, n)
    assert actual is not None
    assert actual.value == pytest.approx(1 + 3 * share.frequencies[0])
    assert actual.std_error == pytest.approx(3 * share.std_errors[0])
    assert (actual.lower, actual.upper) == (1 + 3 * share.lower[0], 1 + 3 * share.upper[0])
    assert quantiles(of, domain, tally, n) == ()


def test_quantiles_are_the_least_values_that_the_share_does_not_exceed() -> None:
    """ε = 20 and a million reports: the reports are the truth."""
    of, domain = made(5, "20"), Number(*map(scale(99).value, (10, 18, 2)))
    tally = np.array([250_000, 0, 500_000, 150_000, 100_000])
    actual = quantiles(of, domain, tally, 10**6, levels=(0.2, 0.5, 0.9, 0.95))
    assert [(q.name, q.value) for q in actual] == [
        ("p20", 10), ("p50", 14), ("p90", 16), ("p95", 18),
    ]  # fmt: skip
    assert all(q.lower <= q.value <= q.upper for q in actual)
    assert (actual[1].lower, actual[1].upper, actual[1].std_error) == (14, 14, 0)


def test_without_reports_a_quantity_is_unknown() -> None:
    of, domain, tally = made(5), scale(5), np.zeros(5, dtype=np.int64)
    for quantity in (mean(of, domain, tally, 0), *quantiles(of, domain, tally, 0)):
        assert quantity is not None
        assert math.isnan(quantity.value)
        assert math.isnan(quantity.std_error)
        assert (quantity.lower, quantity.upper) == (0, 4)


def test_an_estimator_that_does_not_know_how_labels_covary_tells_no_mean() -> None:
    of = estimator_for(build("rr/1", domain_size=4, epsilon="1"))
    tally = np.full(4, 5)
    assert mean(of, scale(4), tally, 10) is None
    assert quantiles(of, scale(4), tally, 10) == ()


@pytest.mark.parametrize("level", [0, 1, -0.5, 2])
def test_levels_outside_are_refused(level: float) -> None:
    with pytest.raises(ParameterError, match="levels must lie strictly between"):
        quantiles(made(3), scale(3), np.array([1, 1, 1]), 3, levels=(level,))


@pytest.mark.parametrize(
    ("bounds", "reason"), [((2, 1), "bounds must rise"), ((-5, 9), "must differ")]
)
def test_ranges_that_say_nothing_are_refused(bounds: tuple[int, int], reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        ranges(linear(made(3)), scale(3), np.array([1, 1, 1]), 3, [bounds])


@pytest.mark.parametrize("weights", [[[0.0, 1.0]], [[0.0, 0.5, 1.5]], [0.0, 0.5, 1.0]])
def test_weights_that_are_none_are_refused(weights: list[object]) -> None:
    with pytest.raises(ParameterError, match="weights must"):
        linear(made(3)).functionals(np.array(weights), np.array([1, 1, 1]), 3)


def test_isotonic_is_the_nearest_rising_sequence() -> None:
    assert isotonic_regression(np.array([0.1, 0.5, 0.3, 0.2, 0.9])).tolist() == pytest.approx(
        [0.1, 1 / 3, 1 / 3, 1 / 3, 0.9]
    )
    assert isotonic_regression(np.array([-0.2, 0.4, 1.3])).tolist() == [0.0, 0.4, 1.0]
    drawn = generator().normal(0.5, 0.2, 200)
    assert (np.diff(isotonic_regression(drawn)) >= 0).all()
