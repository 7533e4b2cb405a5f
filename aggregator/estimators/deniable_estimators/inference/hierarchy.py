"""Hierarchies: the common part of estimators of ranges, from the reports of each level.

Every frequency, mean, range and value of the distribution function is a linear functional of the
same consistent estimate: all ranges add up, and all values add up to 1. Intervals are those of
`strata`. `fitted` are presentable values, top-down (`projection`), for quantiles and charts;
biased, without an interval.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from deniable_estimators.inference.debias import Estimate, tail_of
from deniable_estimators.inference.functionals import (
    Cumulative,
    Functionals,
    Repetition,
    checked_weights,
)
from deniable_estimators.inference.projection import top_down
from deniable_estimators.inference.score_estimates import estimate_of_scores
from deniable_estimators.inference.strata import Strata

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Counts, Floats
    from deniable_estimators.inference.payload_arrays import Payloads
    from deniable_shared.mechanisms.protocols import Mechanism

_AT_ONCE = 1 << 20  # floats in a block of functionals


@dataclass(frozen=True, slots=True)
class HierarchyEstimator(ABC):
    """An estimator by levels; the mechanism defines `_strata` and `_fan_out`."""

    default_projection: ClassVar[str] = "simplex"
    estimand: ClassVar[str] = "distribution"
    mechanism: Mechanism
    repeat: str = "once"

    @property
    @abstractmethod
    def _fan_out(self) -> int: ...

    @abstractmethod
    def tally(self, payloads: Payloads) -> Counts:
        """See `Estimator`."""

    @abstractmethod
    def checked(self, tally: Counts, n: int) -> tuple[Counts, int]:
        """See `Estimator`."""

    @abstractmethod
    def _strata(self, rows: Floats, counts: Counts, n: int) -> Strata:
        """Return the tally's evidence on some functionals."""

    def supports(self, tallies: Counts) -> Counts:
        """Return int64[…, 0]: reports support nodes, not values."""
        return tallies[..., :0]

    def estimate(
        self,
        tally: Counts,
        n: int,
        *,
        confidence: float = 0.95,
        epochs: int = 1,
        family: str = "each",
    ) -> Estimate:
        """Raw frequencies and their intervals; projected("simplex") gives the top-down ones."""
        size = self.mechanism.domain_size
        tail = tail_of(confidence, family, size)
        strata = self._in_blocks(np.eye(size), tally, n)
        of = Repetition.of(self.mechanism, self.repeat, epochs)
        each = strata.functionals(of, 1 - 2 * tail)
        all_levels_reported = bool(strata.reports.all())
        raw = estimate_of_scores(
            each,
            (strata.low, strata.high) if all_levels_reported else (np.zeros(size), np.ones(size)),
            n,
            confidence=confidence,
            family=family,
            epochs=epochs,
        )
        return replace(raw, fitted=self._presentable(each.values)) if all_levels_reported else raw

    def functionals(
        self,
        weights: Floats,
        tally: Counts,
        n: int,
        *,
        confidence: float = 0.95,
        epochs: int = 1,
    ) -> Functionals:
        rows = checked_weights(weights, self.mechanism.domain_size)
        of = Repetition.of(self.mechanism, self.repeat, epochs)
        return self._in_blocks(rows, tally, n).functionals(of, confidence)

    def cumulative(
        self, tally: Counts, n: int, *, confidence: float = 0.95, epochs: int = 1
    ) -> Cumulative:
        """Return raw values of F, and the sums of the top-down frequencies."""
        size = self.mechanism.domain_size
        steps = np.tri(size)[:-1]
        band = self.functionals(steps, tally, n, confidence=confidence, epochs=epochs)
        if np.isnan(band.values).any():
            return Cumulative(band, np.full(size - 1, 0.5))
        leaves = np.diff(band.values, prepend=0.0, append=1.0)
        return Cumulative(band, np.cumsum(self._presentable(leaves))[:-1])

    def levels_without_reports(self, tally: Counts, n: int) -> list[int]:
        """Return the levels without reports, from 1 on: without each level nothing is known."""
        counts, reports = self.checked(tally, n)
        reports_of_level = self._strata(
            np.ones((1, self.mechanism.domain_size)), counts, reports
        ).reports
        return (np.flatnonzero(reports_of_level == 0) + 1).tolist()

    def top_down(self, tally: Counts, n: int) -> Floats:
        """Return frequencies ≥ 0 that sum to 1; NaN if nothing is known."""
        return self.estimate(tally, n).projected("simplex")

    def _presentable(self, leaves: Floats) -> Floats:
        return top_down(leaves, self._fan_out)

    def _in_blocks(self, rows: Floats, tally: Counts, n: int) -> Strata:
        counts, reports = self.checked(tally, n)
        height = max(1, _AT_ONCE // self.mechanism.tally_size)
        parts = [
            self._strata(rows[first : first + height], counts, reports)
            for first in range(0, len(rows), height)
        ]
        return Strata.joined(parts)
