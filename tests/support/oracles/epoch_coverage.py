"""Exact laws of counts over several epochs, and the coverage of intervals.

A device reports a label in some of T epochs. Given its hidden bits (its values, or what its
permanent answers support) its reports are independent, so the law of its count is explicit, and
that of a sum over many devices is a product of Fourier transforms: no sampling, no approximation
but floating point (1e-12). The transform is as long as the part of the law that matters; what is
further out than that wraps around and has no mass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
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
Flags = npt.NDArray[np.bool_]
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
    [result] = missed_each(of, [frequency], devices, confidence=confidence, limits=limits)
    return result


def missed_each(
    of: Collected,
    frequencies: Sequence[float],
    devices: Population,
    *,
    confidence: float = 0.95,
    limits: PooledLimits = our_pooled_limits,
) -> list[tuple[float, float]]:
    """The same for several frequencies: all searches share the calls that compute limits."""
    laws = [law_of_sum(of, frequency, devices) for frequency in frequencies]
    trials = sum(sum(spans) * number for spans, number in devices.items())
    above = [
        _Search(counts, partial(_lies_above, frequency))
        for frequency, (counts, _) in zip(frequencies, laws, strict=True)
    ]
    not_below = [
        _Search(counts, partial(_does_not_lie_below, frequency))
        for frequency, (counts, _) in zip(frequencies, laws, strict=True)
    ]
    searches = [*above, *not_below]
    while True:
        all_tried = [each.tried() for each in searches]
        some, places = np.unique(np.concatenate(all_tried), return_inverse=True)
        if not len(some):
            break
        lower, upper = limits(of, some, np.full(len(some), trials), confidence)
        of_each = np.split(places, np.cumsum([len(tried) for tried in all_tried])[:-1])
        for search, tried, place in zip(searches, all_tried, of_each, strict=True):
            search.narrow(tried, lower[place], upper[place])
    return [
        (float(chances[high.where()].sum()), float(chances[~enough.where()].sum()))
        for high, enough, (_, chances) in zip(above, not_below, laws, strict=True)
    ]


def _lies_above(frequency: float, lower: Floats, upper: Floats) -> Flags:
    return lower > frequency + 1e-12


def _does_not_lie_below(frequency: float, lower: Floats, upper: Floats) -> Flags:
    return upper >= frequency - 1e-12


class _Search:
    """At which counts an interval (lower, upper) has a property.

    Of few counts each is tried. Of many, the property holds from some count on, which is searched.
    """

    def __init__(self, counts: Counts, holds: Callable[[Floats, Floats], Flags]) -> None:
        self.counts, self.holds = counts, holds
        self.start, self.end = int(counts[0]), int(counts[-1]) + 1
        self.of_each: Flags | None = None

    def tried(self) -> Counts:
        """What to try next; nothing if all is known."""
        if len(self.counts) <= _FEW:
            return self.counts if self.of_each is None else self.counts[:0]
        if self.start >= self.end:
            return self.counts[:0]
        return np.unique(np.linspace(self.start, self.end - 1, _SECTIONS).astype(np.int64))

    def narrow(self, tried: Counts, lower: Floats, upper: Floats) -> None:
        """Take the limits of the counts that were tried."""
        if not len(tried):
            return
        holds = self.holds(lower, upper)
        if len(self.counts) <= _FEW:
            self.of_each = holds
        elif not holds.any():
            self.start = self.end
        else:
            first = int(np.argmax(holds))
            self.end = int(tried[first])
            self.start = int(tried[first - 1]) + 1 if first else self.end

    def where(self) -> Flags:
        """Whether it holds, for each count."""
        return self.counts >= self.end if self.of_each is None else self.of_each


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
