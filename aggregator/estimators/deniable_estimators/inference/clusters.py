"""Clusters: the reports of one device in several epochs, which depend on each other.

Each cluster has a hidden bit, which is 1 with the probability θ to be estimated. Given the bit,
reports support the label independently, with probability `high` if it is 1 and `low` if not:

    fresh       the bit is the value, which may never change:       low = q, high = p
    memoized    it says if the permanent answer supports the label: low = (1 − a)/K, high = low + a

The number of devices behind n reports in T epochs is unknown. A device has at most T of them, so

    n·Var(c/n) ≤ s(1 − s) + (T − 1)(s − low)(high − s)        s = low + (high − low)θ

which is T·V_∞ + V_1 − V_∞ and T·f(1 − f) for the sample of people
(docs/mathematics/repeated-answers.md, Reports of one device). A stronger statement holds. Take all
ways to distribute n reports among devices, whose values and permanent answers may change or not.
The most dispersed count, in convex order, comes from n/T devices that answer in every epoch and
never change: it is supermodular in the hidden bits and Schur-convex in the numbers of reports.

The limits are those of this worst case. Tails are Barndorff-Nielsen's r*, which uses the whole law
and not only its variance. It is evaluated half a step of the count away: a step is one report and
the correlated part of T − 1 others. Compared with exact sums over the law of the count, for 1 to
100,000 devices and tails down to 1e-6, each tail is at most its nominal value, and from 1,000
devices on at least 0.85 times that (tests/statistical). Clopper–Pearson's limits would treat the
reports as independent. With an effective number of reports they would ignore the skew of a few
devices with many equal reports, and miss every second time where 5% is claimed.

Sources: Lugannani and Rice 1980; Barndorff-Nielsen 1986; Marshall, Olkin and Arnold, Inequalities;
docs/mathematics/intervals.md, Reports of the same devices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_estimators.inference.intervals import distinct
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from deniable_estimators.inference.channel import Counts, Floats

_LEAST_Z = 0.05  # r* is 0/0 at its centre, so the confidence is at least 4%
_STEPS = 150
_CLOSE = 1e-12
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Clusters:
    """At most `size` reports a device, for which 0 < low < high < 1; see the module."""

    low: Fraction
    high: Fraction
    size: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high < 1:
            raise ParameterError(
                f"low and high must satisfy 0 < low < high < 1, got {self.low} and {self.high}"
            )
        if self.size < 1:
            raise ParameterError(f"size must be at least 1, got {self.size}")

    def spread(self, support: Floats) -> Floats:
        """The largest n·Var(c/n) if each report supports the label with probability `support`."""
        shared = (support - float(self.low)) * (float(self.high) - support)
        both: Floats = support * (1 - support) + float(self.size - 1) * np.maximum(shared, 0.0)
        return both

    def limits(self, counts: Counts, trials: Counts, tail: float) -> tuple[Floats, Floats]:
        """Limits (lower, upper) of s for counts among trials ≥ 1; each misses with chance ≤ tail.

        They lie in [low, high]. If the share of supports does not, they extend to it.
        """
        z = max(-NormalDist().inv_cdf(tail), _LEAST_Z)
        low, high = float(self.low), float(self.high)
        above = _least_hidden(counts, trials, float(self.size), (low, high), z)
        below = _least_hidden(trials - counts, trials, float(self.size), (1 - high, 1 - low), z)
        share = counts / trials
        lower = np.minimum(low + (high - low) * above, share)
        return lower, np.maximum(high - (high - low) * below, share)

    def tails(self, counts: Counts, trials: Counts, support: Fraction) -> tuple[Floats, Floats]:
        """The chances of at least, and of at most, so many supports at probability `support`.

        low < support < high. They err on the large side. They are 1 near and beyond the middle, and
        without trials.
        """
        low, high = float(self.low), float(self.high)
        hidden = float((support - self.low) / (self.high - self.low))
        size, up, down = float(self.size), np.ones(len(counts)), np.ones(len(counts))
        some = trials > 0
        if some.any():
            hits, of = counts[some], trials[some]
            up[some] = _tail_above(hits, of, size, (low, high), hidden)
            down[some] = _tail_above(of - hits, of, size, (1 - high, 1 - low), 1 - hidden)
        return up, down


def _least_hidden(
    counts: Counts, trials: Counts, size: float, chances: tuple[float, float], z: float
) -> Floats:
    """Return the least θ for which this count or more has a tail of z or above."""
    some, tail, place = _tail_of(counts, trials, size, chances)
    least = np.zeros(len(some))
    if tail is not None:
        least[some] = tail.hidden_at(z)
    return least[place]


def _tail_above(
    counts: Counts, trials: Counts, size: float, chances: tuple[float, float], hidden: float
) -> Floats:
    """Return the chance of this count or more under θ = `hidden`."""
    some, tail, place = _tail_of(counts, trials, size, chances)
    chance = np.ones(len(some))
    if tail is not None:
        chance[some] = tail.chance_at(hidden)
    return chance[place]


def _tail_of(
    counts: Counts, trials: Counts, size: float, chances: tuple[float, float]
) -> tuple[npt.NDArray[np.bool_], _Tail | None, Counts]:
    """Return which distinct counts exceed the lower coin's, their tail, and each count's place."""
    hits, reports, place = distinct(counts, trials)
    alike = np.minimum(size, reports)  # a device has at most all reports
    step = 1 + (chances[1] - chances[0]) * (alike - 1)
    share = (hits - step / 2) / reports
    some = share > chances[0]
    if not some.any():
        return some, None, place
    return some, _Tail(share[some], reports[some] / alike[some], alike[some], *chances), place


@dataclass(frozen=True, slots=True)
class _Tail:
    """The upper tail of `devices` clusters of `size` reports each, if supports have `share`.

    The saddlepoint λ is the parameter: its θ has an explicit formula.
    """

    share: Floats
    devices: Floats
    size: Floats
    low: float
    high: float

    def hidden_at(self, z: float) -> Floats:
        """Return θ with r* = z; 0 if even θ = 0 does not reach it, 1 if even θ = 1 does."""
        first, last = np.maximum(self._tilt_to(self.high), 0.0), self._tilt_to(self.low)
        with np.errstate(all="ignore"):  # 0/0 at λ = 0; comparisons with NaN are False
            nowhere, everywhere = ~(self._root(last) >= z), self._root(first) >= z
            start = np.where(nowhere, last, first)
            end = np.where(everywhere, first, last)
            variance = self._variance(first)
            point = _solve(self._root, z, start, end, z / np.sqrt(self.devices * variance))
            hidden = np.exp(self._log_hidden(point)[1])
        return np.where(nowhere, 0.0, np.where(everywhere, 1.0, hidden))

    def chance_at(self, hidden: float) -> Floats:
        """Return Φ(−r*) under θ = `hidden`; 1 if r* is not clearly above its centre."""
        start, end = np.maximum(self._tilt_to(self.high), 0.0), self._tilt_to(self.low)
        with np.errstate(all="ignore"):  # as in `hidden_at`
            expected = self._log_hidden(start)[1] <= math.log(hidden)
            for _ in range(_HALVINGS):
                middle = (start + end) / 2
                above = self._log_hidden(middle)[1] > math.log(hidden)
                start, end = np.where(above, middle, start), np.where(above, end, middle)
            root = self._root(start)
            far = ~expected & (root >= _LEAST_Z)
        return np.where(far, _normal_tail(np.where(far, root, 0.0)), 1.0)

    def _root(self, tilt: Floats) -> Floats:
        """Return r*, such that Φ(−r*) is the tail with the saddlepoint λ = `tilt`."""
        log_not, log_hidden = self._log_hidden(tilt)
        means = [self.size * log_mean for log_mean, _ in self._tilted(tilt)]
        cumulants = np.logaddexp(log_not + means[0], log_hidden + means[1])
        exponent = tilt * self.size * self.share - cumulants
        root = np.sqrt(2 * self.devices * np.maximum(exponent, 0.0))
        wald = 2 * np.sinh(tilt / 2) * np.sqrt(self.devices * self._variance(tilt))
        corrected: Floats = root + np.log(wald / root) / root
        return corrected

    def _log_hidden(self, tilt: Floats) -> tuple[Floats, Floats]:
        """Return ln(1 − θ) and ln θ of the θ under which `tilt` is the saddlepoint of the share."""
        (log_low, low), (log_high, high) = self._tilted(tilt)
        beyond, short = np.maximum(self.share - low, 0.0), np.maximum(high - self.share, 0.0)
        log_odds = self.size * (log_low - log_high) + np.log(beyond) - np.log(short)
        return -np.logaddexp(0.0, log_odds), -np.logaddexp(0.0, -log_odds)

    def _variance(self, tilt: Floats) -> Floats:
        """The variance of the supports of one cluster, tilted to the expected share `share`."""
        (_, low), (_, high) = self._tilted(tilt)
        ones = np.clip((self.share - low) / (high - low), 0.0, 1.0)
        within = (1 - ones) * low * (1 - low) + ones * high * (1 - high)
        between = ones * (1 - ones) * (high - low) ** 2
        variance: Floats = self.size * within + self.size**2 * between
        return variance

    def _tilted(self, tilt: Floats) -> list[tuple[Floats, Floats]]:
        """Ln E e^(λX), and the chance of X = 1 under the tilt, for the coins `low` and `high`."""
        logs = [np.log1p(chance * np.expm1(tilt)) for chance in (self.low, self.high)]
        return [
            (log, chance * np.exp(tilt - log))
            for log, chance in zip(logs, (self.low, self.high), strict=True)
        ]

    def _tilt_to(self, chance: float) -> Floats:
        """Return the λ under which a coin of this chance has the mean `share`."""
        odds: Floats = np.log(self.share) - np.log1p(-self.share)
        return odds - (math.log(chance) - math.log1p(-chance))


def _normal_tail(z: Floats) -> Floats:
    tail: Floats = import_module("scipy.special").ndtr(-z)  # takes 0.3 s, so it is loaded late
    return tail


def _solve(
    root: Callable[[Floats], Floats], z: float, start: Floats, end: Floats, guess: Floats
) -> Floats:
    """Return λ in [start, end] with root(λ) = z, by secants in logarithms and some bisections.

    r* is nearly a power of λ, so that a few steps are enough. Every third step is a bisection,
    which guarantees convergence.
    """
    point, before, reached_before = guess, guess, np.full_like(guess, math.nan)
    done = np.zeros(guess.shape, dtype=bool)
    for step in range(_STEPS):
        inside = (start < point) & (point < end) & (step % 3 < 2)
        point = np.where(inside | done, point, (start + end) / 2)
        reached = root(point)
        short = ~(reached >= z)
        start, end = np.where(short, point, start), np.where(short, end, point)
        done = (np.abs(reached - z) <= _CLOSE) | (end - start <= _CLOSE * end)
        if done.all():
            break
        power = np.log(reached / reached_before) / np.log(point / before)
        power = np.where(power > 0, power, 1.0)
        before, reached_before = point, reached
        point = np.where(done, point, point * (z / reached) ** (1 / power))
    return point
