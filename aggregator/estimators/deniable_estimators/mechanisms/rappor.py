"""RAPPOR: the ones in each bit of each cohort's filters; see `bit_sketch`.

A report has up to h bits of evidence on a text. They depend on each other through the device's
text. `inference.texts` treats them as h reports of one device, so intervals hold.
"""

from __future__ import annotations

from dataclasses import dataclass

from deniable_estimators.mechanisms.bit_sketch import SketchEstimator


@dataclass(frozen=True, slots=True)
class RapporEstimator(SketchEstimator):
    """The estimator of "rappor/1"."""
