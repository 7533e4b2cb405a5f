"""The cells of a table as sums of labels, for mechanisms without a single covariance of two labels.

In `affine/1`, `cyclic/1` and `projective/1`, how often two codes are supported together depends on
a third code, the truth. So `joint_supports` has no law for a set of codes. But a cell is a sum of
combinations with weights 0 and 1. Such sums have unbiased estimates, standard errors, and limits
that hold for every number of reports (`label_sums`). One report moves a cell of s combinations by
at most min(s, w)/(n(p − q)), where w is the number of codes that a report supports.

A test of the table takes all cells together, message by message (`designs.covariance_of_sums`). The
frequencies of the combinations are shifted to the tested cells: f̂ + (f_A − f̂_A)/s.

Source: docs/mathematics/supports-and-estimates.md, Moments of a design.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deniable_estimators.inference.channel import Channel, Counts, Floats
from deniable_estimators.inference.designs import covariance_of_sums, design_of, within_reach
from deniable_estimators.inference.functionals import Functionals
from deniable_estimators.inference.score_estimates import estimate_of_scores
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_estimators.inference.debias import Estimate
    from deniable_estimators.inference.label_sums import LabelSums
    from deniable_shared.mechanisms.protocols import Mechanism

_AT_ONCE = 1 << 21
_MOST = 1 << 28
_ELSE = "grr/1, subset/1, hadamard/1 or pairs/1"


@dataclass(frozen=True, slots=True, eq=False)
class CellSums:
    """A tally of n reports, and the cell of each combination, of `cells` cells of equal size."""

    estimator: LabelSums
    mechanism: Mechanism
    tally: Counts
    n: int
    cell_of: Counts
    cells: int

    def __post_init__(self) -> None:
        if self.cells * len(self.cell_of) > _MOST:
            raise ParameterError(
                f"a table must have at most {_MOST // len(self.cell_of):,} cells of "
                f"{self.mechanism.id} here, got {self.cells:,}: ask for fewer attributes, or "
                f"collect with {_ELSE}"
            )

    @property
    def untested(self) -> str | None:
        """Why there is no test of association: it would take too long. None if there is one."""
        if within_reach(self.mechanism, self.cells):
            return None
        return (
            f"{self.cells:,} cells of {self.mechanism.id} take too long to test here: to test so "
            f"large a table for association collect with {_ELSE}"
        )

    @property
    def frequencies(self) -> Floats:
        """float64[cells], raw and unbiased; NaN without reports."""
        return self._of_cells(self._combinations)

    def covariance(self, frequencies: Floats, epochs: int) -> Floats:
        """Float64[cells, cells]: the covariance of the estimates at these true frequencies."""
        size = len(self.cell_of) // self.cells
        combinations = self._combinations
        moved = combinations + ((frequencies - self._of_cells(combinations)) / size)[self.cell_of]
        every = np.vstack([*self._rows()])
        once = covariance_of_sums(self.estimator, self.mechanism, every, moved)
        if epochs == 1:
            return once / self.n
        if isinstance(self.mechanism, MemoizedChain):
            shared = covariance_of_sums(self.estimator, self.mechanism.first, every, moved)
        else:
            shared = np.diag(frequencies) - np.outer(frequencies, frequencies)
        whole: Floats = (once + (epochs - 1) * shared) / self.n
        return whole

    def estimate(self, *, confidence: float, family: str, epochs: int, tail: float) -> Estimate:
        """Return the estimate of all cells; each limit misses with a chance of at most `tail`."""
        parts = [
            self.estimator.functionals(
                rows, self.tally, self.n, confidence=1 - 2 * tail, epochs=epochs
            )
            for rows in self._rows()
        ]
        each = Functionals(
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("values", "std_errors", "lower", "upper")
            )
        )
        return estimate_of_scores(
            each, self._scores(), self.n, confidence=confidence, family=family, epochs=epochs
        )

    @property
    def _combinations(self) -> Floats:
        """Return the raw frequencies of the combinations."""
        channel = Channel(self.mechanism.p, self.mechanism.q)
        if not self.n:
            return np.full(len(self.cell_of), np.nan)
        return channel.frequencies(self.estimator.supports(self.tally), self.n)

    def _of_cells(self, combinations: Floats) -> Floats:
        sums: Floats = np.bincount(self.cell_of, combinations, self.cells).astype(np.float64)
        return sums

    def _rows(self) -> Iterator[Floats]:
        """Yield the weights of the combinations, for some cells at a time."""
        step = max(1, _AT_ONCE // len(self.cell_of))
        for start in range(0, self.cells, step):
            some = np.arange(start, min(start + step, self.cells))
            yield (self.cell_of[None, :] == some[:, None]).astype(np.float64)

    def _scores(self) -> tuple[Floats, Floats]:
        """Return the smallest and the largest score of a report for each cell."""
        size = len(self.cell_of) // self.cells
        _, supported = design_of(self.mechanism)
        p, q = float(self.mechanism.p), float(self.mechanism.q)
        low, high = -size * q, min(size, supported) - size * q
        return np.full(self.cells, low / (p - q)), np.full(self.cells, high / (p - q))
