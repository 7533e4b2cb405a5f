"""The estimator of the toy mechanism: the share of each label from its count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from deniable_estimators.inference.support_counts import HistogramEstimator

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Counts
    from deniable_shared.mechanisms.protocols import Mechanism


@dataclass(frozen=True, slots=True)
class ToyEstimator(HistogramEstimator):
    """One count for each label."""

    default_projection: ClassVar[str] = "simplex"
    estimand: ClassVar[str] = "labels"
    mechanism: Mechanism
    repeat: str = "once"

    def supports(self, tallies: Counts) -> Counts:
        return tallies
