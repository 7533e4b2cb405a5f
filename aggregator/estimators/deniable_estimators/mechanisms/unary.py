"""Unary encodings: how often the bit of each choice is reported as 1, and the estimates from that.

    f̂_v = (c_v/n − q)/(p − q)

Counted like the bits of `rr/1`, by its carry-save adders. Given who answered, the bits of a report
are independent, and so are the estimates of two choices. All estimates add up to 1 only on average.
For presentation they are projected, so that they do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from deniable_estimators.inference.label_sums import LabelSums
from deniable_estimators.mechanisms.rr import BitwiseEstimator


@dataclass(frozen=True, slots=True)
class UnaryEstimator(BitwiseEstimator, LabelSums):
    """The common part of the estimators of "sue/1" and "oue/1"."""

    default_projection: ClassVar[str] = "simplex"
    estimand: ClassVar[str] = "labels"
