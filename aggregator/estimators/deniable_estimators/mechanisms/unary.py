"""Unary encodings: how often the bit of each choice was reported as 1, and what that says.

    f̂_v = (c_v/n − q)/(p − q)

Counted as the bits of `rr/1` are, by its carry-save adders. Given who answered, the bits of a
report are independent: so are the estimates of two choices, and all estimates add up to 1 only on
average. Presented, they are projected to where they do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from deniable_estimators.inference.label_sums import LabelSums
from deniable_estimators.mechanisms.rr import BitwiseEstimator


@dataclass(frozen=True, slots=True)
class UnaryEstimator(BitwiseEstimator, LabelSums):
    """What the estimators of "sue/1" and "oue/1" have in common."""

    default_projection: ClassVar[str] = "simplex"
    estimand: ClassVar[str] = "labels"
