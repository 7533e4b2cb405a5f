"""Exact laws of counts over several epochs, and the coverage of intervals.

A device reports a label in some of T epochs. Given its hidden bits (its values, or what its
permanent answers support) its reports are independent, so the law of its count is explicit, and
that of a sum over many devices is a product of Fourier transforms: no sampling, no approximation
but floating point (1e-12). The transform is as long as the part of the law that matters; what is
further out than that wraps around and has no mass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module

import numpy as np
import numpy.typing as npt

from deniable_estimators.inference.channel import Channel, Counts, Floats
from deniable_estimators.inference.debias import debias
from deniable_estimators.inference.payload_arrays import clusters_of
from deniable_shared import mechanisms
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.protocols import Mechanism

PooledLimits = Callable[["Collected", Counts, Counts, float], tuple[Floats, Floats]]
_DEVIATIONS = 12  # beyond, a sum has less than 1e-12 of its mass, even one of rare large parts
_SECTIONS = 64
_FEW = 400


@dataclass(frozen=True)
class Collected:
    """A mechanism, how often it is asked, and over how many epochs its reports are summed."""

    mechanism: Mechanism
    repeat: str
    epochs: int

    @property
    def channel(self) -> Channel:
        return Channel(self.mechanism.p, self.mechanism.q)

    def hidden(self, frequency: float) -> tuple[float, float, float]:
        """(θ, low, high): chance of the hidden bit, and of a support if it is 0 and if it is 1."""
        p, q = float(self.mechanism.p), float(self.mechanism.q)
        if not isinstance(self.mechanism, MemoizedChain):
            return frequency, q, p
        first, low = self.mechanism.first, float(self.mechanism.redraw_support)
        theta = float(first.q) + float(first.p - first.q) * frequency
        return theta, low, low + float(self.mechanism.keep_probability)


def collected(id: str, size: int, epsilon: str, repeat: str, epochs: int) -> Collected:
    """`permanent` is twice ε where an answer is memoized."""
    if repeat == "memoized":
        twice = 2 * Fraction(epsilon)
        chain = mechanisms.build(id, domain_size=size, epsilon=epsilon, permanent=twice)
        return Collected(chain, repeat, epochs)
    return Collected(mechanisms.build(id, domain_size=size, epsilon=epsilon), repeat, epochs)


def our_pooled_limits(
    of: Collected, counts: Counts, trials: Counts, confidence: float
) -> tuple[Floats, Floats]:
    """Those of the estimator, for many counts at once."""
    clusters = clusters_of(of.mechanism, of.repeat, of.epochs)
    estimate = debias(
        of.channel,
        counts,
        int(trials.max()),
        confidence=confidence,
        epochs=of.epochs,
        clusters=clusters,
        trials=trials,
    )
    return estimate.lower, estimate.upper


def naive_limits(
    of: Collected, counts: Counts, trials: Counts, confidence: float
) -> tuple[Floats, Floats]:
    """As if all reports were of different devices."""
    estimate = debias(of.channel, counts, int(trials.max()), confidence=confidence, trials=trials)
    return estimate.lower, estimate.upper


Population = Mapping[tuple[int, ...], int]
"""How many devices report so often: (5, 2) five times by one hidden bit, then twice by another."""


def faithful(of: Collected, devices: int) -> Population:
    """Every device reports in every epoch and nothing about it ever changes."""
    return {(of.epochs,): devices}


def device_law(of: Collected, frequency: float, spans: tuple[int, ...]) -> Floats:
    """Probability of each count of supports from one device."""
    theta, low, high = of.hidden(frequency)
    law = np.ones(1)
    for reports in spans:
        ones = np.arange(reports + 1)
        pmf = import_module("scipy.stats").binom.pmf
        span = (1 - theta) * pmf(ones, reports, low) + theta * pmf(ones, reports, high)
        law = np.convolve(law, span)
    return law


def law_of_sum(of: Collected, frequency: float, devices: Population) -> tuple[Counts, Floats]:
    """All counts that matter and their probabilities."""
    laws = [(device_law(of, frequency, spans), number) for spans, number in devices.items()]
    moments = [_moments(law) for law, _ in laws]
    mean = sum(number * mean for (_, number), (mean, _) in zip(laws, moments, strict=True))
    variance = sum(number * var for (_, number), (_, var) in zip(laws, moments, strict=True))
    widest = max(len(law) for law, _ in laws)
    reach = _DEVIATIONS * math.sqrt(variance) + 20 * widest
    last = sum((len(law) - 1) * number for law, number in laws)
    first, end = max(0, math.floor(mean - reach)), min(last, math.ceil(mean + reach))
    size = import_module("scipy.fft").next_fast_len(end - first + 1, real=True)
    spectrum = np.ones(size // 2 + 1, dtype=complex)
    for law, number in laws:
        spectrum *= np.fft.rfft(_wrapped(law, size)) ** number
    chances = np.roll(np.fft.irfft(spectrum, size), -first)[: end - first + 1]
    assert abs(chances.sum() - 1) < 1e-9
    return np.arange(first, end + 1), np.maximum(chances, 0.0)


def _wrapped(law: Floats, size: int) -> Floats:
    wrapped = np.zeros(size)
    np.add.at(wrapped, np.arange(len(law)) % size, law)
    return wrapped


def _moments(law: Floats) -> tuple[float, float]:
    ones = np.arange(len(law))
    mean = float((law * ones).sum())
    return mean, float((law * (ones - mean) ** 2).sum())


def missed(
    of: Collected,
    frequency: float,
    devices: Population,
    *,
    confidence: float = 0.95,
    limits: PooledLimits = our_pooled_limits,
) -> tuple[float, float]:
    """Exact probabilities that the interval lies above the frequency, and that it lies below."""
    counts, chances = law_of_sum(of, frequency, devices)
    trials = sum(sum(spans) * number for spans, number in devices.items())
    if len(counts) <= _FEW:
        lower, upper = limits(of, counts, np.full(len(counts), trials), confidence)
        above, below = lower > frequency + 1e-12, upper < frequency - 1e-12
        return float(chances[above].sum()), float(chances[below].sum())

    def too_high(some: Counts) -> npt.NDArray[np.bool_]:
        return limits(of, some, np.full(len(some), trials), confidence)[0] > frequency + 1e-12

    def high_enough(some: Counts) -> npt.NDArray[np.bool_]:
        return limits(of, some, np.full(len(some), trials), confidence)[1] >= frequency - 1e-12

    high, enough = _first_true(too_high, counts), _first_true(high_enough, counts)
    return float(chances[counts >= high].sum()), float(chances[counts < enough].sum())


def _first_true(test: Callable[[Counts], npt.NDArray[np.bool_]], counts: Counts) -> int:
    """The least count from which on the test holds; it holds from some count on."""
    start, end = int(counts[0]), int(counts[-1]) + 1
    while start < end:
        tried = np.unique(np.linspace(start, end - 1, _SECTIONS).astype(np.int64))
        holds = np.flatnonzero(test(tried))
        if not len(holds):
            return end
        end = int(tried[holds[0]])
        start = int(tried[holds[0] - 1]) + 1 if holds[0] else end
    return start


def sampled_missed(
    of: Collected, frequency: float, devices: int, *, confidence: float = 0.95
) -> tuple[float, float]:
    """The same where a report has a label by chance, in each epoch, for few devices.

    From the joint law of how many reports tell of the label and how many of them support it.
    """
    theta, low, high = of.hidden(frequency)
    result, most = float(of.mechanism.sampling_fraction), of.epochs * devices
    law = np.zeros((of.epochs + 1, of.epochs + 1))
    pmf = import_module("scipy.stats").binom.pmf
    for tellings in range(of.epochs + 1):
        ones = np.arange(tellings + 1)
        supports = (1 - theta) * pmf(ones, tellings, low) + theta * pmf(ones, tellings, high)
        law[tellings, : tellings + 1] = pmf(tellings, of.epochs, result) * supports
    size = import_module("scipy.fft").next_fast_len(most + 1, real=True)
    joint = np.fft.irfft2(np.fft.rfft2(law, (size, size)) ** devices, (size, size))
    trials, ones = np.nonzero(joint > 1e-13)
    lower, upper = our_pooled_limits(of, ones, trials, confidence)
    chances = joint[trials, ones]
    above, below = lower > frequency + 1e-12, upper < frequency - 1e-12
    return float(chances[above].sum()), float(chances[below].sum())
