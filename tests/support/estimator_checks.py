"""Checks an estimator must pass and a wrong one must fail; each says how it was sized.

They take what they judge as functions, so that test_mutants can hand them known mistakes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from deniable_aggregator.channel import Channel, Counts, Floats
from support.exact_coverage import Limits, population_coverage, sample_coverage
from support.message_laws import MessageLaw, Population

Frequencies = Callable[[Counts, int], Floats]
StdErrors = Callable[[Floats, int], Floats]

FALSE_ALARM = 1e-6
REPORTS = 1_000_000_000
REPLICATES = 400_000
REPORTS_A_REPLICATE = 500
FREQUENCIES = (0.0, 0.001, 0.01, 0.1, 0.3, 0.5, 0.9, 1.0)


def check_exactly_unbiased(law: MessageLaw, frequencies: Frequencies) -> None:
    """E[f̂] = f over every pair of messages, exact but for the rounding of each f̂ (1e-15 of it)."""
    for population in (law.uneven(), *({value: Fraction(1)} for value in law.inputs)):
        means = [Fraction()] * law.mechanism.tally_size
        for chance, tally in law.outcomes(population, 2):
            for place, estimated in enumerate(frequencies(tally, 2)):
                means[place] += chance * Fraction(float(estimated))
        for mean, true in zip(means, law.frequencies(population), strict=True):
            assert abs(mean - true) <= Fraction(1, 10**15) / law.channel.gap


def check_unbiased(law: MessageLaw, frequencies: Frequencies) -> None:
    """One tally of 10^9 reports lies as near the truth as Bernstein's inequality says it must.

    False alarm ≤ 1e-6 over all labels together, without approximation. The bound is 5.9 standard
    errors; at p − q ≥ 0.05 that is under 0.002, so 3% of any f ≥ 0.12 is seen with certainty but
    for 1e-6, and 3% of f ≥ 0.02 at p − q ≥ 0.4.
    """
    population = law.uneven()
    tally = law.draw_tallies(population, REPORTS, 1)[0]
    off = np.abs(frequencies(tally, REPORTS) - _floats(law.frequencies(population)))
    assert (off <= bernstein_bound(law, population, REPORTS)).all()


def bernstein_bound(law: MessageLaw, population: Population, n: int) -> Floats:
    """|f̂ − f| exceeds this for any label with probability ≤ FALSE_ALARM."""
    support = law.channel.q + law.channel.gap * np.array(law.frequencies(population))
    spread = n * (support * (1 - support)).astype(np.float64)
    nats = math.log(2 * len(spread) / FALSE_ALARM)
    far: Floats = nats / 3 + np.sqrt(nats**2 / 9 + 2 * nats * spread)
    return far / float(n * law.channel.gap)


def check_variance(law: MessageLaw, frequencies: Frequencies, std_errors: StdErrors) -> None:
    """Over 400,000 tallies of 500 reports, f̂ varies as the formula at the true f says.

    The sample variance of R nearly normal values has relative deviation √((2 + κ)/R), κ ≤ 0.3 the
    excess kurtosis: 0.24%. The bound z·0.24% with z ≤ 5.7 for a false alarm of 1e-6 over all labels
    is 1.4%, so an error of 3% is missed with probability under 1e-9.
    """
    population = law.uneven()
    tallies = law.draw_tallies(population, REPORTS_A_REPLICATE, REPLICATES)
    seen = frequencies(tallies, REPORTS_A_REPLICATE).var(axis=0)
    claimed = std_errors(_floats(law.frequencies(population)), REPORTS_A_REPLICATE) ** 2
    z = -NormalDist().inv_cdf(FALSE_ALARM / 2 / len(seen))
    assert (np.abs(seen / claimed - 1) <= z * math.sqrt(2.3 / REPLICATES)).all()


def check_never_certain(channel: Channel, std_errors: StdErrors) -> None:
    """However few supports were seen, the standard error is at least that of f = 0 or f = 1."""
    n = 200
    counts = np.arange(n + 1)
    least = min(p * (1 - p) for p in (float(channel.p), float(channel.q)))
    errors = std_errors(channel.frequencies(counts, n), n)
    assert (errors >= 0.999999 * math.sqrt(least / n) / float(channel.gap)).all()


def check_coverage(channel: Channel, n: int, limits: Limits) -> tuple[float, float]:
    """Exact coverage of 95% intervals, population and sample, is in [94%, 100%]; its extremes."""
    covered = [population_coverage(channel, n, f, limits=limits) for f in FREQUENCIES]
    covered += [sample_coverage(channel, n, round(f * n), limits=limits) for f in FREQUENCIES]
    assert 0.94 <= min(covered) <= max(covered) <= 1 + 1e-9
    return min(covered), max(covered)


def _floats(values: list[Fraction]) -> Floats:
    return np.array([float(value) for value in values])
