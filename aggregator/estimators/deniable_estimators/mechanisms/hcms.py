"""Hadamard count-mean sketch: supports of all cells of a table by a Walsh–Hadamard transform.

    c_v = ½·(n + Σ_l s_l (−1)^(parity of l AND v)),   s_l = reports of (l, 0) − reports of (l, 1)

c_v counts the reports of the table that support cell v: an integer. `inference.texts` estimates
given texts from them. Tally: the histogram of the payloads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from deniable_estimators.inference.payload_arrays import first_round_as
from deniable_estimators.inference.protocols import TableGroup
from deniable_estimators.inference.support_counts import HistogramEstimator
from deniable_estimators.inference.walsh import walsh
from deniable_estimators.mechanisms.bit_sketch import SketchCoding, cells_of
from deniable_shared.mechanisms.hcms import HadamardSketch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_estimators.inference.channel import Counts
    from deniable_shared.mechanisms.protocols import Mechanism


@dataclass(frozen=True, slots=True)
class HadamardSketchEstimator(HistogramEstimator):
    """The estimator of "hcms/1"."""

    default_projection: ClassVar[str] = "clip"
    estimand: ClassVar[str] = "texts"
    inside: ClassVar[float] = 0.5
    mechanism: Mechanism
    repeat: str = "once"

    @property
    def sketch(self) -> HadamardSketch:
        """The mechanism, or the first round of the chain."""
        return first_round_as(self.mechanism, HadamardSketch, HadamardSketch.id)

    @property
    def coding(self) -> SketchCoding:
        """How texts become cells."""
        return SketchCoding(self.sketch)  # pyright: ignore[reportArgumentType]  # a class variable is as good as a property

    def supports(self, tallies: Counts) -> Counts:
        return tallies[..., :0]

    def group(self, tally: Counts, group: int) -> TableGroup:
        """Return the reports of each table, and how many of them support each of its cells."""
        messages = tally.reshape(self.sketch.tables, self.sketch.cells, 2)
        trials = messages.sum(axis=(1, 2))
        signed = walsh(messages[..., 0] - messages[..., 1])
        return TableGroup(trials, (trials[:, None] + signed) >> 1)

    def counting(self) -> Counts:
        """See `PublicTexts`."""
        return np.ones(2 * self.sketch.cells, dtype=np.int64)

    def supporting(self, codes: Counts) -> Counts:
        """See `PublicTexts`: for each coefficient the bit that is the code's parity."""
        odd = np.bitwise_count(np.arange(self.sketch.cells) & codes[:, None]).astype(np.int64) & 1
        return np.stack([1 - odd, odd], axis=2).reshape(len(codes), -1)

    @property
    def agreeing(self) -> float:
        """1/m."""
        return float(self.sketch.collision_probability)

    def codes(self, group: int, texts: Sequence[bytes]) -> Counts:
        """Return the cell of each text in each table."""
        return cells_of(self.sketch, texts)  # pyright: ignore[reportArgumentType]  # a class variable is as good as a property
