"""Count-mean sketch: the ones in each cell of each table; see `sketched`.

One cell a text and table, so a report is one bit of evidence of each text.
"""

from __future__ import annotations

from dataclasses import dataclass

from deniable_aggregator.estimators.bit_sketch import SketchEstimator


@dataclass(frozen=True, slots=True)
class CountMeanSketchEstimator(SketchEstimator):
    """The estimator of "cms/1"."""
