"""The estimator of the toy mechanism: the share of each label from its count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from deniable_estimators.inference.channel import Counts
from deniable_estimators.inference.support_counts import HistogramEstimator
from deniable_shared.mechanisms.protocols import Mechanism


@dataclass(frozen=True, slots=True)
class ToyEstimator(HistogramEstimator):
    default_projection: ClassVar[str] = "simplex"
    estimand: ClassVar[str] = "labels"
    mechanism: Mechanism
    repeat: str = "once"

    def supports(self, tallies: Counts) -> Counts:
        return tallies
