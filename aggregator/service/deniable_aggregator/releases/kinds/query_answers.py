"""Answers from a released distribution over labels, and their error bounds.

The bound on the largest error of any query has two parts: the error if the devices had added
no noise, and the error that their noise adds. The first falls with ε, both fall with n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.releases.kinds.error_bars import CONFIDENCE
from deniable_central.release import ErrorBar

if TYPE_CHECKING:
    from deniable_aggregator.releases.kinds.label_workloads import LabelWorkload
    from deniable_estimators.inference.channel import Floats

HALF = (1 - CONFIDENCE) / 2
"""The probability that the devices' noise exceeds its part, and that the release does."""


@dataclass(frozen=True, slots=True)
class QueryErrorBound:
    """The largest error of any query as a share, with and without the devices' noise."""

    central: float
    total: float
    quantity: str = "largest error of a query, as a share"

    @property
    def bars(self) -> tuple[ErrorBar, ...]:
        """Local, central, together; only the last where it is 1: it then bounds neither part."""
        both = ErrorBar(self.quantity, 0.0, self.total, CONFIDENCE)
        if self.total >= 1:
            return (both,)
        local = self.total - self.central
        return (
            ErrorBar(f"{self.quantity}, local part", 0.0, local, 1 - HALF),
            ErrorBar(f"{self.quantity}, central part", 0.0, self.central, 1 - HALF),
            both,
        )

    def limits(self, share: float) -> tuple[float, float]:
        """Lower and upper limit of an answered share, as shares."""
        held = min(max(share, 0.0), 1.0)
        return max(0.0, held - self.total), min(1.0, held + self.total)


def answer_rows(
    label_sets: LabelWorkload, weights: Floats, error: QueryErrorBound | None
) -> list[dict[str, object]]:
    """Every query with its answer, and with limits if there is a bound."""
    shares = label_sets.workload.values(weights).tolist()
    return [
        {**name, **_share_document(share, error)}
        for name, share in zip(label_sets.names, shares, strict=True)
    ]


def distribution_rows(labels: tuple[str, ...], weights: Floats) -> list[dict[str, object]]:
    """Every label with its share."""
    pairs = zip(labels, weights.tolist(), strict=True)
    return [{"label": label, "share": share} for label, share in pairs]


def _share_document(share: float, error: QueryErrorBound | None) -> dict[str, object]:
    if error is None:
        return {"share": share}
    low, high = error.limits(share)
    return {"share": share, "lower": low, "upper": high}
