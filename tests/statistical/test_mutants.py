"""Known mistakes, each put in place of the real thing and found by the checks."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from deniable_estimators.inference.channel import Channel, Counts, Floats
from deniable_estimators.inference.intervals import clopper_pearson
from support.oracles.estimator_checks import (
    Frequencies,
    check_coverage,
    check_exactly_unbiased,
    check_never_certain,
    check_unbiased,
    check_variance,
)
from support.oracles.exact_coverage import Limits, wald_limits
from support.oracles.message_laws import law_of

pytestmark = pytest.mark.exhaustive

LAW = law_of("rr/1", "1", 1)
RARE = law_of("rr/1", "6", 1).channel


def wrong_sign(counts: Counts, n: Counts) -> Floats:
    """(1 + e^ε)/(1 − e^ε) for the factor of the debias: f becomes −f."""
    return -LAW.channel.frequencies(counts, n)


def rounded_p(counts: Counts, n: Counts) -> Floats:
    """p = 0.73 for 0.7310585786…: 0.2% off, and exact arithmetic sees it."""
    mistaken: Floats = (counts / n - (1 - 0.73)) / (2 * 0.73 - 1)
    return mistaken


def not_debiased(counts: Counts, n: Counts) -> Floats:
    return np.asarray(counts / n)


def clipped(counts: Counts, n: Counts) -> Floats:
    return np.clip(LAW.channel.frequencies(counts, n), 0, 1)


def three_percent_up(counts: Counts, n: Counts) -> Floats:
    return 1.03 * LAW.channel.frequencies(counts, n)


FAR_OFF: dict[str, Frequencies] = {
    "the factor of the debias has the wrong sign": wrong_sign,
    "p is rounded to two digits": rounded_p,
    "the shares of reports are taken for those of people": not_debiased,
    "the estimates are three percent too high": three_percent_up,
}
WRONG_DEBIAS: dict[str, Frequencies] = {
    **FAR_OFF,
    "the estimates are clipped to 0 and 1": clipped,
}


@pytest.mark.parametrize("mistake", WRONG_DEBIAS)
def test_exact_enumeration_kills_a_wrong_debias(mistake: str) -> None:
    check_exactly_unbiased(LAW, LAW.channel.frequencies)
    with pytest.raises(AssertionError):
        check_exactly_unbiased(LAW, WRONG_DEBIAS[mistake])


@pytest.mark.statistical
@pytest.mark.parametrize("mistake", FAR_OFF)
def test_a_billion_reports_kill_a_wrong_debias(mistake: str) -> None:
    """The bound is 2e-4 in frequency, the nearest mutant 7.6e-4 off: missed in no 1e9 runs."""
    with pytest.raises(AssertionError):
        check_unbiased(LAW, FAR_OFF[mistake])


@pytest.mark.statistical
@pytest.mark.parametrize(
    "factor",
    [
        pytest.param(math.sqrt(0.97), id="the variance is three percent too small"),
        pytest.param(math.sqrt(1.03), id="the variance is three percent too large"),
    ],
)
def test_a_variance_wrong_by_three_percent_is_seen(factor: float) -> None:
    def mutant(frequencies: Floats, n: Counts) -> Floats:
        return factor * LAW.channel.std_errors(frequencies, n)

    with pytest.raises(AssertionError):
        check_variance(LAW, LAW.channel.frequencies, mutant)


@pytest.mark.statistical
def test_the_variance_given_the_sample_is_not_that_of_the_population() -> None:
    law = law_of("rr/1", "4", 1)

    def mutant(frequencies: Floats, n: Counts) -> Floats:
        p, q, gap = float(law.channel.p), float(law.channel.q), float(law.channel.gap)
        spread = frequencies * p * (1 - p) + (1 - frequencies) * q * (1 - q)
        return np.sqrt(spread / n) / gap

    with pytest.raises(AssertionError):
        check_variance(law, law.channel.frequencies, mutant)


def empirical_std_errors(frequencies: Floats, n: Counts) -> Floats:
    """√(s(1 − s)/n) at the observed share s of supports: nothing seen, nothing doubted."""
    support = float(RARE.q) + float(RARE.gap) * frequencies
    return np.sqrt(np.maximum(support * (1 - support), 0) / n) / float(RARE.gap)


def test_the_empirical_variance_is_caught_claiming_certainty() -> None:
    check_never_certain(RARE, RARE.std_errors)
    with pytest.raises(AssertionError):
        check_never_certain(RARE, empirical_std_errors)


def empirical_wald(
    channel: Channel, counts: Counts, n: int, confidence: float
) -> tuple[Floats, Floats]:
    """Covers an absent label with probability 0.39 instead of 0.95 at ε = 6, n = 200."""
    frequencies = channel.frequencies(counts, n)
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * empirical_std_errors(
        frequencies, np.full(len(counts), n)
    )
    return frequencies - reach, frequencies + reach


def one_sided_tail(
    channel: Channel, counts: Counts, n: int, confidence: float
) -> tuple[Floats, Floats]:
    """α on either side in place of α/2."""
    return _mapped(channel, clopper_pearson(counts, n, 1 - confidence))


def upper_limit_of_the_count_below(
    channel: Channel, counts: Counts, n: int, confidence: float
) -> tuple[Floats, Floats]:
    """c in place of c + 1 in the upper quantile."""
    lower, _ = clopper_pearson(counts, n, (1 - confidence) / 2)
    _, upper = clopper_pearson(np.maximum(counts - 1, 0), n, (1 - confidence) / 2)
    return _mapped(channel, (lower, upper))


WRONG_INTERVAL: dict[str, tuple[Channel, int, Limits]] = {
    "the spread is that of the observed share": (RARE, 200, empirical_wald),
    "a count of few reports is taken for normally distributed": (
        law_of("grr/1", "4", 1000).channel,
        30,
        wald_limits,
    ),
    "each side may be missed as often as both together": (LAW.channel, 1000, one_sided_tail),
    "the upper limit is that of the count below": (
        LAW.channel,
        30,
        upper_limit_of_the_count_below,
    ),
}


@pytest.mark.parametrize("mistake", WRONG_INTERVAL)
def test_exact_coverage_kills_a_wrong_interval(mistake: str) -> None:
    channel, n, mutant = WRONG_INTERVAL[mistake]
    with pytest.raises(AssertionError):
        check_coverage(channel, n, mutant)


def _mapped(channel: Channel, limits: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    return channel.frequency_of(limits[0]), channel.frequency_of(limits[1])
