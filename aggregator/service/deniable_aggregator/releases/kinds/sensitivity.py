"""Sensitivity: the most that replacing one report can move integer answers A·tally, exactly.

    range        max_{y, y'} (max_r d_r − min_r d_r)      d = A·(s(y) − s(y'))
    l1, l2²      max_{y, y'} Σ|d_r|, Σ d_r²
    linf         max_{y, y'} max_r |d_r|

y, y' are possible messages and s(y) what a message adds to the tally: never a bound per count. For
two rows alone messages move freely, so linf is the widest row and the range the widest difference
of two rows; L1 and L2 take pairs of messages (`norms`). Each is computed on first use.

Source: docs/mathematics/releases-over-sums.md, What one report moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.releases.kinds.message_spaces import message_space_of
from deniable_aggregator.releases.kinds.norms import (
    MOST_STEPS,
    Matrix,
    affordable,
)

if TYPE_CHECKING:
    from deniable_aggregator.releases.kinds.message_space import MessageSpace
    from deniable_shared.mechanisms.protocols import Mechanism
    from deniable_shared.mechanisms.structure import LabelSensitivity


@dataclass(frozen=True, slots=True, eq=False)
class Sensitivity:
    """The sensitivities of A·tally. Raises ParameterError if they are too expensive to compute."""

    messages: MessageSpace
    matrix: Matrix

    @property
    def linf(self) -> int:
        """The most that one report moves a single row."""
        return int(self.messages.row_ranges(self.matrix).max())

    @property
    def range(self) -> int:
        """0 for one row alone."""
        rows = self.matrix
        affordable(len(rows) ** 2 // 2 * rows.shape[1], MOST_STEPS, "steps")
        widest = 0
        for place in range(1, len(rows)):
            apart = rows[:place] - rows[place]
            widest = max(widest, int(self.messages.row_ranges(apart).max()))
        return widest

    @property
    def l1(self) -> int:
        """The most that one report moves all rows, added up."""
        return self.messages.norms(self.matrix)[0]

    @property
    def l2_squared(self) -> int:
        """Like `l1`, with each row's move squared."""
        return self.messages.norms(self.matrix)[1]


def label_sensitivity(mechanism: Mechanism) -> LabelSensitivity:
    """The sensitivity of the label counts, in closed form for any number of labels."""
    return message_space_of(mechanism).label_sensitivity
