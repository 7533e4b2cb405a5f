"""Sums Σ_v a_v·f_v in parts: each report is about one level, drawn publicly.

    θ̂ = constant + Σ_l (1/n_l)·Σ_(reports of level l) s        E[s | x] = the part of a_x at level l

The number of reports of each level does not depend on a value. Given these numbers, θ̂ is unbiased,
and

    Var(θ̂) = Σ_l Var(s)/n_l        Var(s) = E[s²] − (E s)²

where E[s²] follows from the mechanism, and depends at most linearly on the frequencies. The
variance is at least the least one that s has for any one value. Dividing by the received n_l
(Hájek) is never worse than by the expected n/h. If a level has no reports, nothing is known.

Reports of one device in T epochs share its value (`fresh`), whose variance is at most θ(1 − θ), or
its permanent answer (`memoized`), which has the same level each time. Limits are those of
`score_limits`. A report of level l pulls θ̂ by as much as s/n_l can differ from its mean. If s is a
sum of pieces, each pulls at most by its own range, the `pull`. The pull of all levels is their
mean, weighted by the variance that each adds.

Source: docs/mathematics/supports-and-estimates.md, Sampled parts.
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
    """The evidence of one level's reports on k sums, each an array of k.

    `mean` and mean `square` of s, its extremes `low` and `high`, the `least` variance for any one
    value, the mean square of a permanent answer's score, and the largest `pull` of an independent
    piece.
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
    """All levels, their numbers of `reports`, and the constant part."""

    constant: Floats
    reports: Counts
    levels: tuple[Stratum, ...]

    @classmethod
    def joined(cls, parts: Sequence[Strata]) -> Strata:
        """Return several blocks of sums from the same reports as one."""
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
        """The least score of one report for each sum."""
        return np.asarray(
            np.min([self._said(share, each.low) for share, each in self._shares()], axis=0)
        )

    @property
    def high(self) -> Floats:
        """The largest score of one report for each sum."""
        return np.asarray(
            np.max([self._said(share, each.high) for share, each in self._shares()], axis=0)
        )

    def functionals(self, repeated: Repetition, confidence: float) -> Functionals:
        """Return values, errors and limits; each limit holds alone."""
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
        """Return each level with n/n_l."""
        n = int(self.reports.sum())
        return [
            (n / reports, level)
            for reports, level in zip(self.reports.tolist(), self.levels, strict=True)
        ]

    def _said(self, share: float, part: Floats) -> Floats:
        return self.constant + share * part
