"""Checks for estimators: unbiased, covered, with the variance they state.

They take what they judge as functions, so that test_mutants can hand them known mistakes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from deniable_estimators.inference.channel import Channel, Counts, Floats
from support.oracles.exact_coverage import Limits, population_coverage, sample_coverage
from support.oracles.message_laws import MessageLaw, Population

Frequencies = Callable[[Counts, Counts], Floats]
"""Of supports and of the reports that tell of each label."""
StdErrors = Callable[[Floats, Counts], Floats]

FALSE_ALARM = 1e-6
REPORTS = 1_000_000_000
REPLICATES = 400_000
REPORTS_A_REPLICATE = 500
FREQUENCIES = (0.0, 0.001, 0.01, 0.1, 0.3, 0.5, 0.9, 1.0)


def check_exactly_unbiased(law: MessageLaw, frequencies: Frequencies) -> None:
    """E[f̂] = f over every pair of messages, exact but for the rounding of each f̂ (1e-15 of it).

    For a label that not every report has: over all pairs that have it.
    """
    for population in (law.uneven(), *({value: Fraction(1)} for value in law.inputs)):
        means, chances = [Fraction()] * law.labels, [Fraction()] * law.labels
        for chance, tally in law.outcomes(population, 2):
            trials = law.trials(tally, 2)
            estimated = frequencies(law.supports(tally), trials)
            for place in np.flatnonzero(trials):
                chances[place] += chance
                means[place] += chance * Fraction(float(estimated[place]))
        for mean, chance, true in zip(means, chances, law.frequencies(population), strict=True):
            assert abs(mean / chance - true) <= Fraction(1, 10**15) / law.channel.gap


def check_unbiased(law: MessageLaw, frequencies: Frequencies) -> None:
    """One tally of 10^9 reports lies as near the truth as Bernstein's inequality says it must.

    False alarm ≤ 1e-6 over all labels together, without approximation. The bound is 5.9 standard
    errors; at p − q ≥ 0.05 that is under 0.002, so 3% of any f ≥ 0.12 is seen with certainty but
    for 1e-6, and 3% of f ≥ 0.02 at p − q ≥ 0.4.
    """
    population = law.uneven()
    tally = law.draw_tallies(population, REPORTS, 1)[0]
    trials = law.trials(tally, REPORTS)
    off = np.abs(frequencies(law.supports(tally), trials) - _floats(law.frequencies(population)))
    assert (off <= bernstein_bound(law, population, trials)).all()


def bernstein_bound(law: MessageLaw, population: Population, trials: Counts) -> Floats:
    """|f̂ − f| exceeds this for any label with probability ≤ FALSE_ALARM."""
    support = law.channel.q + law.channel.gap * np.array(law.frequencies(population))
    spread = trials * (support * (1 - support)).astype(np.float64)
    nats = math.log(2 * len(spread) / FALSE_ALARM)
    far: Floats = nats / 3 + np.sqrt(nats**2 / 9 + 2 * nats * spread)
    return far / (trials * float(law.channel.gap))


def check_variance(law: MessageLaw, frequencies: Frequencies, std_errors: StdErrors) -> None:
    """Over 400,000 tallies of 500 reports, f̂ varies as the formula at the true f says.

    The mean square of R nearly normal values has relative deviation √((2 + κ)/R), κ ≤ 0.3 the
    excess kurtosis: 0.24%. The bound z·0.24% with z ≤ 5.7 for a false alarm of 1e-6 over all labels
    is 1.4%, so an error of 3% is missed with probability under 1e-9.
    """
    population = law.uneven()
    true = _floats(law.frequencies(population))
    supports, trials = law.draw_supports(population, REPORTS_A_REPLICATE, REPLICATES)
    off = frequencies(supports, trials) - true
    claimed = std_errors(np.broadcast_to(true, trials.shape), trials)
    z = -NormalDist().inv_cdf(FALSE_ALARM / 2 / law.labels)
    seen = ((off / claimed) ** 2).mean(axis=0)
    assert (np.abs(seen - 1) <= z * math.sqrt(2.3 / REPLICATES)).all()


def check_never_certain(channel: Channel, std_errors: StdErrors) -> None:
    """However few supports were seen, the standard error is at least that of f = 0 or f = 1."""
    n = 200
    counts = np.arange(n + 1)
    least = min(p * (1 - p) for p in (float(channel.p), float(channel.q)))
    errors = std_errors(channel.frequencies(counts, n), np.full(n + 1, n))
    assert (errors >= 0.999999 * math.sqrt(least / n) / float(channel.gap)).all()


def check_coverage(channel: Channel, n: int, limits: Limits) -> tuple[float, float]:
    """Exact coverage of 95% intervals, population and sample, is in [94%, 100%]; its extremes."""
    covered = [population_coverage(channel, n, f, limits=limits) for f in FREQUENCIES]
    covered += [sample_coverage(channel, n, round(f * n), limits=limits) for f in FREQUENCIES]
    assert 0.94 <= min(covered) <= max(covered) <= 1 + 1e-9
    return min(covered), max(covered)


def _floats(values: list[Fraction]) -> Floats:
    return np.array([float(value) for value in values])
