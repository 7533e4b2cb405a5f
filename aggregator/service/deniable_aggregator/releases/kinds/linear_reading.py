"""Sums of true answers as integers of the tally, for releases of numbers, records and texts.

    raw    W·tally, an integer a row        θ̂ = offset + raw/(n·unit)        unbiased

W has public weights: of labels the reports that support them, of others the `public_scores` of the
estimator on a grid of about 2^−24 of their range. No count divides and nothing is fitted, so one
report replaced moves a row by at most `ranges`, for any data. Of n reports the devices' part
of θ̂ has a variance of at most

    (V + (T − 1)·S)/n        V, and S of what one device's reports have in common, at θ

T reports a device: S = θ(1 − θ) of fresh ones, and of memoized ones V of the permanent answer,
which is what a report says on average once its permanent answer is known.
Source: docs/mathematics/releases-over-sums.md, Linear readings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.releases.kinds.label_counts import LabelCounts
from deniable_aggregator.releases.kinds.tally_spaces import LabelSpace, TallySpace, tally_space_of
from deniable_estimators.inference.payload_arrays import first_round
from deniable_estimators.inference.public_scores import (
    Ceiling,
    PublicScores,
    ceilings_of,
    label_scores,
)
from deniable_estimators.mechanisms import estimator_for
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.releases.kinds.contract import Counts, ReleaseContext
    from deniable_aggregator.releases.kinds.norms import Matrix
    from deniable_estimators.inference.channel import Floats
    from deniable_estimators.inference.protocols import Estimator

_GRID = 1 << 24
_LARGEST = 1 << 60


@dataclass(frozen=True, slots=True, eq=False)
class LinearReading:
    """k sums over the tally of one context; each lies in [0, 1] for every population."""

    context: ReleaseContext
    space: TallySpace
    matrix: Matrix
    unit: float
    offset: Floats
    low: Floats
    high: Floats
    ceilings: tuple[Ceiling, ...]
    shared: tuple[Ceiling, ...]
    floor: Floats

    def __post_init__(self) -> None:
        widest = max(1, int(np.max(np.abs(self._ends))))
        if self.context.n * widest >= _LARGEST:
            raise ParameterError(
                f"n must be below {_LARGEST // widest:,}, got {self.context.n:,}: release fewer "
                "epochs at a time"
            )

    @classmethod
    def of_scores(
        cls, context: ReleaseContext, scores_of: Callable[[Estimator], PublicScores]
    ) -> LinearReading:
        """The reading by an estimator's public weights; also of the first round of a chain."""
        mechanism = context.mechanism
        scores = scores_of(estimator_for(mechanism, context.repeat))
        first, permanent = first_round(mechanism), scores.permanent
        if permanent is None:
            alike = first is mechanism
            permanent = (scores if alike else scores_of(estimator_for(first))).ceilings
        rows = len(scores.offset)
        unit = max(1, _GRID // rows) / float((scores.high - scores.low).max())
        return cls(
            context,
            tally_space_of(mechanism),
            _rounded(scores.weights, unit),
            unit,
            scores.offset,
            scores.low,
            scores.high,
            scores.ceilings,
            permanent,
            np.broadcast_to(np.asarray(scores.floor, dtype=np.float64), rows),
        )

    @classmethod
    def of_labels(cls, context: ReleaseContext, rows: Counts, top: int = 1) -> LinearReading:
        """Σ_v (row_v/top)·f_v by the reports that support each label; integers from 0 to top."""
        label_counts = LabelCounts.of(context)
        estimator, shares = estimator_for(context.mechanism, context.repeat), rows / top
        low, high, moments = label_scores(estimator, shares)
        first = first_round(context.mechanism)
        permanent = moments
        if first is not context.mechanism:
            _, _, permanent = label_scores(estimator_for(first), shares)
        noise = float(label_counts.expected_noise / label_counts.gain)
        return cls(
            context,
            LabelSpace(label_counts.messages, rows),
            label_counts.messages.tally_matrix(rows),
            float(label_counts.gain) * top,
            -noise * shares.sum(axis=1),
            low,
            high,
            ceilings_of(shares, moments),
            ceilings_of(shares, permanent),
            np.zeros(len(rows)),
        )

    def one(self, row: int) -> LinearReading:
        """One of the sums, by itself."""
        only = slice(row, row + 1)
        return replace(
            self,
            matrix=self.matrix[only],
            offset=self.offset[only],
            low=self.low[only],
            high=self.high[only],
            ceilings=self.ceilings[only],
            shared=self.shared[only],
            floor=self.floor[only],
        )

    @property
    def rows(self) -> int:
        """k."""
        return len(self.offset)

    @property
    def ranges(self) -> Counts:
        """The most that one replaced report moves each row: int64[rows]."""
        return self.space.row_ranges(self.matrix)

    @property
    def scale(self) -> float:
        """The raw sum that corresponds to all people."""
        return self.context.n * self.unit

    @property
    def _ends(self) -> Floats:
        """The least and the most that one report adds to a raw sum."""
        return self.unit * (np.stack([self.low, self.high]) - self.offset)

    @property
    def reports(self) -> int:
        """T: the most reports of one device, one an epoch."""
        return 1 if self.context.repeat == "once" else len(self.context.epochs)

    def __call__(self, counts: Counts) -> Counts:
        """The raw sums; integers that wrap on the way come out right, as the ends are small."""
        return self.matrix @ counts

    def shares(self, raw: Counts) -> Floats:
        """θ̂, which may be outside [0, 1]."""
        return np.asarray(self.offset + raw / self.scale, dtype=np.float64)

    def variances(self, shares: Floats) -> Floats:
        """Upper bounds of the variances of θ̂ at these θ, without central noise."""
        return np.array([self._variance(row, share) for row, share in enumerate(shares.tolist())])

    def largest_variances(self) -> Floats:
        """Upper bounds of the variances for any θ."""
        own = np.array([each.largest for each in self.ceilings])
        common = np.array([each.largest for each in self.shared])
        if self.context.repeat == "fresh":
            common = np.full(self.rows, 0.25)
        together = own + (self.reports - 1) * np.minimum(common, own)
        return np.asarray(together / self.context.n + self.floor)

    def _variance(self, row: int, share: float) -> float:
        own, common = self.ceilings[row].variance(share), self.shared[row].variance(share)
        if self.context.repeat == "fresh":
            inside = min(max(share, 0.0), 1.0)
            common = inside * (1 - inside)
        together = own + (self.reports - 1) * min(common, own)
        return together / self.context.n + float(self.floor[row])

    def deviation(self, beta: float) -> float:
        """The error of all rows in true answers, except with probability β (Bernstein)."""
        n, log = self.context.n, math.log(2 * self.rows / beta)
        step = self.reports * float((self.high - self.low).max()) * log / 3
        variance = float(self.largest_variances().max()) * n
        return step + math.sqrt(step**2 + 2 * n * variance * log)


def _rounded(weights: Floats, unit: float) -> Matrix:
    """Whole multiples of 1/unit, row by row: a copy of all may take hundreds of megabytes."""
    matrix: Matrix = np.empty(weights.shape, dtype=np.int64)
    for row, exact in zip(matrix, weights, strict=True):
        row[:] = np.rint(exact * unit)
    return matrix
