"""Hadamard count-mean sketch: supports of all cells of a table by a Walsh–Hadamard transform.

    c_v = ½·(n + Σ_l s_l (−1)^(parity of l AND v)),   s_l = reports of (l, 0) − reports of (l, 1)

c_v counts the reports of the table that support cell v: an integer. `estimate.texts` tells given
texts from them. Tally: the histogram of the payloads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from deniable_aggregator.estimate import Estimate, debias
from deniable_aggregator.estimate.channel import Channel, Counts
from deniable_aggregator.estimate.walsh import walsh
from deniable_aggregator.estimators.contract import (
    Group,
    Payloads,
    checked_histogram,
    checked_payloads,
)
from deniable_aggregator.estimators.grr import histogram
from deniable_aggregator.estimators.sketched import SketchForm, cells_of
from deniable_shared.chains import Renewed
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.contract import Mechanism
from deniable_shared.mechanisms.hcms import HadamardSketch

__all__ = ["HadamardSketchEstimator"]


@dataclass(frozen=True, slots=True)
class HadamardSketchEstimator:
    """The estimator of "hcms/1"."""

    default_projection: ClassVar[str] = "clip"
    tells: ClassVar[str] = "texts"
    inside: ClassVar[float] = 0.5
    mechanism: Mechanism
    repeat: str = "once"

    @property
    def sketch(self) -> HadamardSketch:
        """The mechanism, or the first round of the chain."""
        first = self.mechanism.first if isinstance(self.mechanism, Renewed) else self.mechanism
        if not isinstance(first, HadamardSketch):
            raise ParameterError(f"mechanism must be hcms/1, got {self.mechanism.id}")
        return first

    @property
    def form(self) -> SketchForm:
        """How texts become cells."""
        return SketchForm(self.sketch)

    def tally(self, payloads: Payloads) -> Counts:
        rows = checked_payloads(payloads, self.mechanism.payload_size)
        return histogram(rows, self.mechanism.tally_size)

    def supports(self, tallies: Counts) -> Counts:
        return tallies[..., :0]

    def estimate(
        self,
        tally: Counts,
        n: int,
        *,
        confidence: float = 0.95,
        epochs: int = 1,
        family: str = "each",
    ) -> Estimate:
        counts, reports = self.checked(tally, n)
        return debias(
            Channel(self.mechanism.p, self.mechanism.q),
            self.supports(counts),
            reports,
            confidence=confidence,
            epochs=epochs,
            family=family,
        )

    def checked(self, tally: Counts, n: int) -> tuple[Counts, int]:
        """The tally and n, if it is a histogram of n reports; ParameterError otherwise."""
        return checked_histogram(tally, n, self.mechanism.tally_size)

    def reports_of(self, tally: Counts) -> int:
        """All that it counts."""
        return int(tally.sum())

    def group(self, tally: Counts, group: int) -> Group:
        """The reports of each table, and how many of them support each of its cells."""
        messages = tally.reshape(self.sketch.tables, self.sketch.cells, 2)
        trials = messages.sum(axis=(1, 2))
        signed = walsh(messages[..., 0] - messages[..., 1])
        return Group(trials, (trials[:, None] + signed) >> 1)

    @property
    def agreeing(self) -> float:
        """1/m."""
        return float(self.sketch.agreeing)

    def codes(self, group: int, texts: Sequence[bytes]) -> Counts:
        """The cell of each text in each table."""
        return cells_of(self.sketch, texts)
