"""Count-mean sketch: the ones in each cell of each table; see `bit_sketch`.

A text has one cell in each table, so a report has one bit of evidence on each text.
"""

from __future__ import annotations

from dataclasses import dataclass

from deniable_estimators.mechanisms.bit_sketch import SketchEstimator


@dataclass(frozen=True, slots=True)
class CountMeanSketchEstimator(SketchEstimator):
    """The estimator of "cms/1"."""
