"""The mean by a window of unequal scores: see `windowed_mean`."""

from __future__ import annotations

from dataclasses import dataclass

from deniable_estimators.mechanisms.windowed_mean import WindowedMeanEstimator


@dataclass(frozen=True, slots=True)
class OptimalMeanEstimator(WindowedMeanEstimator):
    """The estimator of "optimal-mean/1". Its tally is the histogram of the outputs."""
