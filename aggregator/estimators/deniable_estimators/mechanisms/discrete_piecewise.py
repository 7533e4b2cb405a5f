"""The mean by a window of equally spaced scores: see `windowed_mean`."""

from __future__ import annotations

from dataclasses import dataclass

from deniable_estimators.mechanisms.windowed_mean import WindowedMeanEstimator


@dataclass(frozen=True, slots=True)
class PiecewiseMeanEstimator(WindowedMeanEstimator):
    """The estimator of "discrete-piecewise/1". Its tally is the histogram of the outputs."""
