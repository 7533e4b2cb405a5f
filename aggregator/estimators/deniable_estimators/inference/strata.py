"""Sums Σ_v a_v·f_v that are told in parts: each report tells of one level, tossed openly.

    θ̂ = constant + Σ_l (1/n_l)·Σ_(reports of level l) s        E[s | x] = the part of a_x at level l

Given how many reports told of each level, which depends on no value, θ̂ is unbiased, and

    Var(θ̂) = Σ_l Var(s)/n_l        Var(s) = E[s²] − (E s)²

where E[s²] follows from the mechanism and, if at all, linearly from the frequencies. It is at least
the least variance that s has for any one value. Dividing by the n_l that came (Hájek) is never
worse than by the n/h to be expected. A level that nobody told of leaves nothing known.

Reports of one device in T epochs have in common what its value says (`fresh`), whose variance is at
most θ(1 − θ), or its permanent answer (`memoized`), which tells of the same level each time.
Limits are those of `score_limits`: a report of level l pulls θ̂ by as much as s/n_l can be away from
its mean, and a piece that s itself is a sum of by no more than its own range, the `pull`. Levels
pull by the mean of theirs, weighted by the variance that each adds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deniable_estimators.inference.debias import tail_of
from deniable_estimators.inference.functionals import (
    Functionals,
    Repetition,
    unknown_functionals,
    with_limits,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_estimators.inference.channel import Counts, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Stratum:
    """What the reports of one level say of k sums, each an array of k.

    `mean` and mean `square` of s, its `low`est and `high`est value, the `least` variance it has for
    any one value, the mean square of what a permanent answer says of it, and the most that an
    independent piece of it `pull`s.
    """

    mean: Floats
    square: Floats
    permanent_square: Floats
    low: Floats
    high: Floats
    least: Floats
    pull: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """All levels, the number of `reports` of each, and what is known without any."""

    constant: Floats
    reports: Counts
    levels: tuple[Stratum, ...]

    @classmethod
    def joined(cls, parts: Sequence[Strata]) -> Strata:
        """Those of several blocks of sums, told by the same reports."""
        names = Stratum.__dataclass_fields__
        levels = tuple(
            Stratum(
                **{name: np.concatenate([getattr(each, name) for each in level]) for name in names}
            )
            for level in zip(*(part.levels for part in parts), strict=True)
        )
        return cls(np.concatenate([part.constant for part in parts]), parts[0].reports, levels)

    @property
    def low(self) -> Floats:
        """The least that one report says of each sum."""
        return np.asarray(
            np.min([self._said(share, each.low) for share, each in self._shares()], axis=0)
        )

    @property
    def high(self) -> Floats:
        """The most."""
        return np.asarray(
            np.max([self._said(share, each.high) for share, each in self._shares()], axis=0)
        )

    def functionals(self, repeated: Repetition, confidence: float) -> Functionals:
        """Values, errors and limits; each limit by itself."""
        tail, n = tail_of(confidence, "each", 1), int(self.reports.sum())
        if not self.reports.all():
            return unknown_functionals(len(self.constant))
        mean = self.constant + np.sum([level.mean for level in self.levels], axis=0)
        variance, shared, below, above = np.zeros((4, len(mean)))
        for share, level in self._shares():
            square = level.mean**2
            within = np.maximum(level.square - square, level.least)
            variance += share * within
            shared += share * np.clip(level.permanent_square - square, 0.0, within)
            below += share**2 * within * np.clip(level.mean - level.low, 0.0, level.pull)
            above += share**2 * within * np.clip(level.high - level.mean, 0.0, level.pull)
        if repeated.kept is None:
            value = np.clip(mean, 0.0, 1.0)
            shared = np.minimum(value * (1 - value), variance)
        pulls = repeated.pulls(mean, below / variance, above / variance, n)
        return with_limits(mean, (variance + (repeated.epochs - 1) * shared) / n, pulls, tail)

    def _shares(self) -> list[tuple[float, Stratum]]:
        """n/n_l beside each level."""
        n = int(self.reports.sum())
        return [
            (n / reports, level)
            for reports, level in zip(self.reports.tolist(), self.levels, strict=True)
        ]

    def _said(self, share: float, part: Floats) -> Floats:
        return self.constant + share * part
