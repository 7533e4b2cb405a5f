"""The least frequency that the test of "no one has this label" detects with a given power.

N of the n reports are about a label: all of them, or Bin(n, t/m) where each report is about t of m
labels. Bin(N, s) of them support a label of frequency f, s = q + (p − q)f. It is significant
among d labels (`inference.significance`, Bonferroni's level; Holm's finds no less) from the least
count c(N) on with

    P[Bin(N, q) ≥ c] ≤ level/d        so that power(f) = E P[Bin(N, s) ≥ c(N)]

which is solved for f by bisection. Exact up to floating point, but that at most 512 values of N
represent all within eight standard deviations.

Source: docs/mathematics/planning.md, What can be seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Floats

_MOST_TRIALS = 512
_DEVIATIONS = 8
_HALVINGS = 50
Trials = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LabelTest:
    """p, q and sampling fraction; `level`: that of one label, the family's over its size."""

    p: float
    q: float
    sampling_fraction: float
    level: float

    def least_frequency(self, reports: int, power: float) -> float | None:
        """A share of people; None if even a label of all people is not detected with `power`."""
        trials, weights = _trials(reports, self.sampling_fraction)
        critical = critical_counts(trials, self.q, self.level)

        def reached(frequency: float) -> bool:
            support = self.q + (self.p - self.q) * frequency
            return float(weights @ _tail(critical, trials, support)) >= power

        if not reached(1.0):
            return None
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if reached(middle) else (middle, high)
        return high


def critical_counts(trials: Trials, q: float, level: float) -> Trials:
    """For each number N of trials the least c with P[Bin(N, q) ≥ c] ≤ level; N + 1 if none has."""
    low, high = np.zeros_like(trials), trials + 1
    while (high - low > 1).any():
        middle = (low + high) // 2
        enough = _tail(middle, trials, q) <= level
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def _tail(counts: Trials, trials: Trials, chance: float) -> Floats:
    """P[Bin(trials, chance) ≥ counts]."""
    betainc = import_module("scipy.special").betainc  # 0.3 s, so not before
    inside = (counts > 0) & (counts <= trials)
    chances = np.where(counts > 0, 0.0, 1.0)
    chances[inside] = betainc(counts[inside], (trials - counts)[inside] + 1.0, chance)
    return chances


def _trials(reports: int, sampling_fraction: float) -> tuple[Trials, Floats]:
    """Possible numbers of reports on one label, and the probability of each."""
    if sampling_fraction == 1:
        return np.array([reports]), np.ones(1)
    spread = (
        _DEVIATIONS * math.sqrt(reports * sampling_fraction * (1 - sampling_fraction)) + _DEVIATIONS
    )
    low, high = (
        max(0.0, reports * sampling_fraction - spread),
        min(float(reports), reports * sampling_fraction + spread),
    )
    trials = np.unique(np.linspace(low, high, _MOST_TRIALS).astype(np.int64))
    special = import_module("scipy.special")
    ways = special.gammaln(trials + 1.0) + special.gammaln(reports - trials + 1.0)
    logs = (
        special.xlogy(trials, sampling_fraction)
        + special.xlogy(reports - trials, 1 - sampling_fraction)
        - ways
    )
    weights = np.exp(logs - logs.max())
    return trials, weights / weights.sum()
