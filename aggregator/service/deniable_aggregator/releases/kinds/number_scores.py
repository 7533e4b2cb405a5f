"""The quantile of a number from reports of ranges, not labels: `tree/1`, `haar/1`, waves.

    F_v = (W·tally)_v        a raw sum: the share of people up to v, less its offset
    R_v = ⌈(α − offset_v)·n·unit⌉                F_v ≥ R_v: the share read so far is at least α

Scores and distances are those of `ordered_scores.Quantile`, for F is linear in the tally and R is
public: one report moves a score as far as it moves any F_v. The last label has all people up to it.

A wave has little information on a single step, so its F_v falls over `blur` + 1 values around v,
not at once: the quantile drawn is that of the answers moved by up to blur/2 steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.releases.kinds.linear_reading import LinearReading
from deniable_aggregator.releases.kinds.number_readings import check_sums
from deniable_estimators.inference.public_scores import BlurredSums, PublicSums
from deniable_estimators.mechanisms import estimator_for

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from deniable_aggregator.releases.kinds.contract import Counts, ReleaseContext
    from deniable_estimators.inference.channel import Floats


@dataclass(frozen=True, slots=True, eq=False)
class RangeQuantile:
    """The value at or below which a share `quantile` of people lies; see `scores.Score`."""

    context: ReleaseContext
    reading: LinearReading
    quantile: Fraction
    targets: Counts
    width: int
    blur: int

    @classmethod
    def of(cls, context: ReleaseContext, quantile: Fraction) -> RangeQuantile:
        estimator = estimator_for(context.mechanism, context.repeat)
        check_sums("quantile", context, context.domain.size - 1)
        devices = context.n / (1 if context.repeat == "once" else len(context.epochs))
        blur = estimator.blur(devices) if isinstance(estimator, BlurredSums) else 0
        rows = _ramps(context.domain.size, blur)
        reading = LinearReading.of_scores(context, lambda each: each.public_scores(rows))  # type: ignore[attr-defined]  # `reads_ranges` looked at it
        targets = np.ceil((float(quantile) - reading.offset) * reading.scale)
        width = max(1, int(reading.ranges.max()))
        return cls(context, reading, quantile, targets.astype(np.int64), width, blur)

    @property
    def candidates(self) -> tuple[str | None, ...]:
        return self.context.domain.labels

    @property
    def sensitivity(self) -> Mapping[str, int]:
        return {"sensitivity": self.width}

    @property
    def unit(self) -> str:
        moved = f", answers moved by up to {self.blur / 2:g} steps" if self.blur else ""
        return f"true answers from rank {self.quantile} of n{moved}"

    def over(self, counts: Counts) -> Counts:
        """F_v − R_v; 0 of the last label, as all people lie up to it."""
        return np.append(self.reading(counts) - self.targets, 0)

    def levels(self, counts: Counts) -> Counts:
        over = self.over(counts)
        beyond = np.concatenate([[0], over[:-1] + 1])
        levels: Counts = -np.maximum(np.maximum(-over, beyond), 0)
        return levels

    def length(self, levels: float) -> float:
        return (levels + 1) / self.reading.unit

    def local(self, beta: float) -> float:
        return self.reading.deviation(beta)


def reads_ranges(context: ReleaseContext) -> bool:
    """Whether the reports contain ranges of a number instead of labels."""
    return isinstance(estimator_for(context.mechanism, context.repeat), PublicSums)


def _ramps(size: int, blur: int) -> Floats:
    """Row v of size − 1: 1 well below v, 0 well above, falling over blur + 1 values around it."""
    places, ends = np.arange(size)[None, :], np.arange(size - 1)[:, None]
    return np.clip((ends - places + 0.5) / (blur + 1) + 0.5, 0.0, 1.0)
