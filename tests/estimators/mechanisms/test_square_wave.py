"""Square wave as counted: unbiased readings, a likeliest distribution with its certificate."""

from __future__ import annotations

import math
from typing import cast

import numpy as np
import pytest

from deniable_estimators.inference.channel import Floats
from deniable_estimators.inference.likelihood import ascent, fit, fit_smoothed
from deniable_estimators.inference.quantities import mean, quantiles, ranges
from deniable_estimators.mechanisms import estimator_for
from deniable_estimators.mechanisms.square_wave import SquareWaveEstimator
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.mechanisms import build
from deniable_shared.randomness.coins import Coins
from support.oracles.message_laws import generator
from support.oracles.number_laws import SHAPES, a_month, drawn_tally, pmf_matrix, scale
from support.tiers import grid


def made(size: int, epsilon: str, permanent: str | None = None) -> SquareWaveEstimator:
    if permanent is None:
        mechanism = build("square-wave/1", domain_size=size, epsilon=epsilon)
    else:
        mechanism = build("square-wave/1", domain_size=size, epsilon=epsilon, permanent=permanent)
    return cast(SquareWaveEstimator, estimator_for(mechanism))


@pytest.mark.parametrize("permanent", [None, "8"])
@pytest.mark.parametrize("epsilon", grid(["0.1", "1", "6"], by_default=["1", "6"]))
@pytest.mark.parametrize("size", grid([2, 3, 16, 40], by_default=[2, 16]))
def test_the_law_and_its_products_are_those_of_the_pmf(
    size: int, epsilon: str, permanent: str | None
) -> None:
    of = made(size, epsilon, permanent)
    matrix, law, some = pmf_matrix(of.mechanism), of.law, generator()
    assert law.matrix() == pytest.approx(matrix, rel=1e-12)
    value, score = some.dirichlet(np.ones(size)), some.random((1, matrix.shape[1]))[0]
    assert law.messages(value) == pytest.approx(value @ matrix, rel=1e-9)
    assert law.back(score) == pytest.approx(matrix @ score, rel=1e-9)
    assert law.back_squares(score) == pytest.approx(matrix**2 @ score, rel=1e-9)


@pytest.mark.parametrize("epsilon", grid(["0.1", "1", "6", "20"], by_default=["1", "6"]))
@pytest.mark.parametrize("size", grid([2, 5, 64, 257], by_default=[2, 64]))
def test_expected_tallies_give_each_frequency_itself(size: int, epsilon: str) -> None:
    of, n = made(size, epsilon), 10**15
    shares = np.arange(1.0, size + 1) / (size * (size + 1) / 2)
    tally = np.floor(shares @ pmf_matrix(of.mechanism) * n).astype(np.int64)
    tally[0] += n - tally.sum()
    assert of.estimate(tally, n).frequencies == pytest.approx(shares, abs=1e-8)


def test_tallies_add_up_and_supports_are_those_of_each_payload() -> None:
    of = made(11, "1")
    rows = [of.mechanism.randomize(k % 11, Coins.derive(b"k", bytes([k]))) for k in range(200)]
    payloads = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(200, -1)
    tally = of.tally(payloads)
    assert (tally == of.tally(payloads[:70]) + of.tally(payloads[70:])).all()
    assert (of.tally(payloads[:0]) == 0).all()
    expected = [sum(bool(of.mechanism.supports(row, v)) for row in rows) for v in range(11)]
    assert of.supports(tally).tolist() == expected
    with pytest.raises(DecodeError):
        of.tally(np.full((1, payloads.shape[1]), 255, dtype=np.uint8))


@pytest.mark.parametrize("epsilon", ["0.5", "2"])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_step_lowers_the_likelihood(shape: str, epsilon: str) -> None:
    of = made(64, epsilon)
    tally = drawn_tally(of.mechanism, SHAPES[shape](64), 10_000)
    points = [point for _, point in zip(range(60), ascent(of.law, tally), strict=False)]
    rises = np.diff([point.likelihood for point in points])
    assert (rises >= -1e-12).all()
    assert all(abs(point.x.sum() - 1) < 1e-9 and (point.x > 0).all() for point in points)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_the_certificate_bounds_what_any_distribution_can_gain(shape: str) -> None:
    """log L(y) − log L(x) ≤ n·(max g − 1), here for the truth and for a closer fit."""
    of, n = made(32, "1"), 50_000
    truth = SHAPES[shape](32)
    tally = drawn_tally(of.mechanism, truth, n)
    loose, close = fit(of.law, tally), fit(of.law, tally, tolerance=1e-3)

    def likelihood(x: Floats) -> float:
        return float(tally @ np.log(of.law.messages(x)))

    assert close.steps > loose.steps
    assert close.short < loose.short
    for other in (truth, close.distribution):
        assert likelihood(other) - likelihood(loose.distribution) <= loose.short + 1e-6


@pytest.mark.parametrize("size", [3, 17])
def test_at_the_maximum_the_gradient_is_one_for_values_with_people(
    size: int,
) -> None:
    of = made(size, "3")
    tally = drawn_tally(of.mechanism, SHAPES["bimodal"](size), 5_000)
    actual = fit(of.law, tally, tolerance=1e-6)
    gradient = of.law.back(tally / tally.sum() / of.law.messages(actual.distribution))
    assert gradient.max() <= 1 + 1e-6
    assert gradient[actual.distribution > 1e-2] == pytest.approx(1, abs=1e-4)


def test_an_interior_maximum_is_the_raw_estimate_if_outputs_are_values() -> None:
    of, n = made(4, "6"), 10**6
    assert of.mechanism.tally_size == 4
    tally = drawn_tally(of.mechanism, np.array([0.1, 0.4, 0.3, 0.2]), n)
    raw = of.estimate(tally, n)
    likeliest = fit(of.law, tally, tolerance=1e-6).distribution
    assert likeliest == pytest.approx(raw.frequencies, abs=1e-7)
    assert raw.projected("simplex") == pytest.approx(raw.frequencies, abs=1e-2)


@pytest.mark.parametrize("shape", SHAPES)
def test_smoothing_gives_a_distribution_near_the_truth(shape: str) -> None:
    """n = 200,000 at ε = 2: 40 runs of each shape differed by at most 0.017 in F on average."""
    of, n = made(64, "2"), 200_000
    truth = SHAPES[shape](64)
    actual = fit_smoothed(of.law, drawn_tally(of.mechanism, truth, n))
    assert actual.sum() == pytest.approx(1)
    assert np.abs(np.cumsum(actual - truth)).mean() < 0.04


@pytest.mark.statistical
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("epsilon", "n"), [("1", 300), ("1", 20_000), ("4", 20_000)])
def test_mean_ranges_and_quantiles_are_covered_as_often_as_stated(
    shape: str, epsilon: str, n: int
) -> None:
    """300 runs at 95%: a right one misses more than 39 times with chance below 5e-8."""
    of, domain = made(48, epsilon), scale(48)
    truth = SHAPES[shape](48)
    distribution = np.cumsum(truth)
    at = [float(domain.value(int(np.searchsorted(distribution, t)))) for t in (0.1, 0.5, 0.9)]
    wanted = [float(truth @ np.arange(48)), float(truth[10:21].sum()), *at]
    missed = np.zeros(len(wanted))
    for _ in range(300):
        tally = drawn_tally(of.mechanism, truth, n)
        actual = [
            mean(of, domain, tally, n),
            *ranges(of, domain, tally, n, [(10, 20)]),
            *quantiles(of, domain, tally, n, levels=(0.1, 0.5, 0.9)),
        ]
        for place, (quantity, value) in enumerate(zip(actual, wanted, strict=True)):
            assert quantity is not None
            missed[place] += not quantity.lower - 1e-9 <= value <= quantity.upper + 1e-9
    assert (missed <= 39).all()


@pytest.mark.statistical
@pytest.mark.parametrize("repeat", ["fresh", "memoized"])
def test_thirty_epochs_of_devices_that_never_change_are_covered_too(repeat: str) -> None:
    """300 runs at 95%: a right one misses more than 39 times with chance below 5e-8."""
    epochs, devices, size = 30, 2000, 9
    permanent = "4" if repeat == "memoized" else None
    plain = made(size, "2", permanent)
    of = SquareWaveEstimator(plain.mechanism, repeat)
    truth, domain = SHAPES["bimodal"](size), scale(size)
    missed = np.zeros(2)
    for _ in range(300):
        tally = a_month(of.mechanism, repeat, truth, epochs=epochs, devices=devices)
        n = epochs * devices
        middle = mean(of, domain, tally, n, epochs=epochs)
        (share,) = ranges(of, domain, tally, n, [(0, 3)], epochs=epochs)
        assert middle is not None
        missed[0] += not middle.lower <= truth @ np.arange(size) <= middle.upper
        missed[1] += not share.lower <= truth[:4].sum() <= share.upper
    assert (missed <= 39).all()


@pytest.mark.slow
def test_the_band_of_ramps_is_narrower_than_that_of_steps() -> None:
    """At ε = 1, n = 100,000 and 256 values the mean width is 0.08 instead of 0.14."""
    of, n = made(256, "1"), 100_000
    tally = drawn_tally(of.mechanism, SHAPES["beta"](256), n)
    band = of.cumulative(tally, n).band
    steps = of.functionals(np.tril(np.ones((256, 256)))[:-1], tally, n)
    assert (band.upper - band.lower).mean() < 0.7 * (steps.upper - steps.lower).mean()
    assert (band.values == pytest.approx(steps.values)) is True


def test_the_trust_of_one_value_is_that_of_the_widest_score() -> None:
    of, n = made(8, "1"), 1000
    tally = drawn_tally(of.mechanism, SHAPES["beta"](8), n)
    before, moved = of.estimate(tally, n), 0.0
    for output in range(len(tally)):
        changed = tally.copy()
        changed[output] += 1
        changed[int(np.argmax(tally))] -= 1
        moved = max(
            moved, float(np.abs(of.estimate(changed, n).frequencies - before.frequencies).max())
        )
    assert 0 < moved <= before.influence
    assert (before.reports_to_leave >= 1).all()


def test_without_reports_nothing_is_claimed() -> None:
    of = made(5, "1")
    tally = np.zeros(of.mechanism.tally_size, dtype=np.int64)
    estimate, domain = of.estimate(tally, 0), scale(5)
    assert np.isnan(estimate.frequencies).all()
    assert (estimate.lower.tolist(), estimate.upper.tolist()) == ([0.0] * 5, [1.0] * 5)
    assert np.isnan(estimate.projected("simplex")).all()
    for quantity in (mean(of, domain, tally, 0), *quantiles(of, domain, tally, 0)):
        assert quantity is not None
        assert math.isnan(quantity.value)
        assert (quantity.lower, quantity.upper) == (0, 4)


def test_what_cannot_be_is_refused() -> None:
    of = made(5, "1")
    tally = np.zeros(of.mechanism.tally_size, dtype=np.int64)
    with pytest.raises(ParameterError, match="must add up to n = 1"):
        of.estimate(tally, 1)
    with pytest.raises(ParameterError, match="at least one message"):
        fit(of.law, tally)
    with pytest.raises(ParameterError, match="at least one message"):
        fit_smoothed(of.law, tally)
    with pytest.raises(ParameterError, match="tolerance must be positive"):
        fit(of.law, tally + 1, tolerance=0)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_domain_as_large_as_any_is_read() -> None:
    size, n = 1024, 100_000
    of, domain = made(size, "1"), scale(size)
    tally = drawn_tally(of.mechanism, SHAPES["beta"](size), n)
    middle = mean(of, domain, tally, n)
    assert middle is not None
    assert abs(middle.value - float(SHAPES["beta"](size) @ np.arange(size))) < 6 * middle.std_error
