"""Exact coverage of intervals: probabilities are summed, nothing is simulated."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from statistics import NormalDist

import numpy as np

from deniable_estimators.inference.channel import Channel, Counts, Floats
from deniable_estimators.inference.debias import debias
from support.oracles.message_laws import MessageLaw, Population

Limits = Callable[[Channel, Counts, int, float], tuple[Floats, Floats]]
_DEVIATIONS = 10  # beyond, a binomial has less than 1e-20 of its mass on either side


def our_limits(
    channel: Channel, counts: Counts, n: int, confidence: float
) -> tuple[Floats, Floats]:
    estimate = debias(channel, counts, n, confidence=confidence)
    return estimate.lower, estimate.upper


def wald_limits(
    channel: Channel, counts: Counts, n: int, confidence: float
) -> tuple[Floats, Floats]:
    """f̂ ± z·std_error at every count: what we do not use."""
    frequencies = channel.frequencies(counts, n)
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * channel.std_errors(frequencies, n)
    return frequencies - reach, frequencies + reach


def population_coverage(
    channel: Channel,
    n: int,
    frequency: float,
    *,
    confidence: float = 0.95,
    limits: Limits = our_limits,
) -> float:
    """P(interval covers the population's frequency): counts are Binomial(n, s)."""
    counts, chances = binomial(n, float(channel.q) + float(channel.gap) * frequency)
    return _covered(limits(channel, counts, n, confidence), frequency, chances)


def sample_coverage(
    channel: Channel, n: int, holders: int, *, confidence: float = 0.95, limits: Limits = our_limits
) -> float:
    """P(interval covers holders/n), given the sample: Binomial(holders, p) + Binomial(rest, q)."""
    true, of_true = binomial(holders, float(channel.p))
    false, of_false = binomial(n - holders, float(channel.q))
    chances = np.convolve(of_true, of_false)
    counts = np.arange(true[0] + false[0], true[-1] + false[-1] + 1)
    return _covered(limits(channel, counts, n, confidence), holders / n, chances)


def joint_coverage(law: MessageLaw, population: Population, n: int, *, family: str) -> float:
    """P(every label's interval covers its frequency): a sum over all histograms of n messages."""
    true = [float(frequency) for frequency in law.frequencies(population)]
    chances = [float(chance) for chance in law.probabilities(population)]

    @cache
    def covers(tally: tuple[int, ...]) -> bool:
        estimate = law.estimator.estimate(np.array(tally), n, family=family)
        return bool(((estimate.lower <= true) & (true <= estimate.upper)).all())

    covered = 0.0
    histograms = list(_histograms(n, len(chances)))
    tallies = (np.array(histograms) @ law.tallies).tolist()
    for histogram, tally in zip(histograms, tallies, strict=True):
        if covers(tuple(tally)):
            ways = math.factorial(n) // math.prod(map(math.factorial, histogram))
            covered += ways * math.prod(c**k for c, k in zip(chances, histogram, strict=True))
    return covered


def _histograms(n: int, cells: int) -> Iterator[tuple[int, ...]]:
    if cells == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in _histograms(n - first, cells - 1):
            yield (first, *rest)


def binomial(n: int, chance: float) -> tuple[Counts, Floats]:
    """All counts that matter and their probabilities, with less than 1e-12 left out."""
    mean, deviation = n * chance, math.sqrt(n * chance * (1 - chance))
    reach = _DEVIATIONS * deviation + 60
    first, last = max(0, math.floor(mean - reach)), min(n, math.ceil(mean + reach))
    counts = np.arange(first, last + 1, dtype=np.int64)
    chances: Floats = import_module("scipy.stats").binom.pmf(counts, n, chance)
    assert abs(chances.sum() - 1) < 1e-9
    return counts, chances


def _covered(limits: tuple[Floats, Floats], frequency: float, chances: Floats) -> float:
    lower, upper = limits
    return float(chances[(lower <= frequency) & (frequency <= upper)].sum())
