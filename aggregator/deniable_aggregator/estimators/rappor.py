"""RAPPOR: the ones in each bit of each cohort's filters; see `sketched`.

A report has up to h bits of evidence of a text, which depend on each other through the text that
its device has: `estimate.texts` takes them for h reports of one device, and intervals hold.
"""

from __future__ import annotations

from dataclasses import dataclass

from deniable_aggregator.estimators.bit_sketch import SketchEstimator


@dataclass(frozen=True, slots=True)
class RapporEstimator(SketchEstimator):
    """The estimator of "rappor/1"."""
