"""Scores of the candidates of a selection, as integers computed from the raw tally.

    mode        how often a label was supported
    threshold   minus the reports that keep a label from being the first, in the order of the
                labels, whose frequency is at least `level`; "none" is a candidate of its own

        −max(0, R − c_v, max_{i<v} c_i − (R − 1))        R = ⌈n·μ(level)⌉, c the label counts

The score of threshold is 0 for just one candidate, the answer on debiased counts, and one report
moves it by at most the widest count, for each bound does. A share of n is a public constant once
debiased, so all of this is about raw counts (`label_counts`). Ordered labels have more scores:
`ordered_scores`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from deniable_aggregator.releases.kinds.label_counts import LabelCounts
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from deniable_aggregator.releases.kinds.contract import Counts, ReleaseContext


class Score(Protocol):
    """Integers of which a selection draws a high one; its best is the answer without noise."""

    @property
    def candidates(self) -> tuple[str | None, ...]:
        """Labels in the order of the scores; None means "none of them"."""

    @property
    def sensitivity(self) -> Mapping[str, int]:
        """The keyword of `selection.declare`: sensitivity or range_sensitivity."""

    @property
    def unit(self) -> str:
        """The unit of `local` and `length`, in words."""

    def levels(self, counts: Counts) -> Counts:
        """One score for each candidate, from the tally of all reports: int64[candidates]."""

    def length(self, levels: float) -> float:
        """Levels of the score converted to its unit, for true answers instead of reports."""

    def local(self, beta: float) -> float:
        """The most that the best score lies below the best true count, with probability 1 − β."""


@runtime_checkable
class LabelScore(Score, Protocol):
    """A score of mechanisms whose reports support labels."""

    @property
    def label_counts(self) -> LabelCounts:
        """How the counts of labels are read from a tally."""

    def levels_of_label_counts(self, label_counts: Counts) -> Counts:
        """The scores from label counts, one for each candidate: int64[candidates]."""


@dataclass(frozen=True, slots=True)
class Mode:
    """The label with the most true answers."""

    context: ReleaseContext
    label_counts: LabelCounts

    @classmethod
    def of(cls, context: ReleaseContext) -> Mode:
        if context.domain.size < 2:
            raise ParameterError("mode needs at least 2 labels to choose from, this domain has 1")
        return cls(context, LabelCounts.of(context))

    @property
    def candidates(self) -> tuple[str | None, ...]:
        return self.context.domain.labels

    @property
    def sensitivity(self) -> Mapping[str, int]:
        return {"range_sensitivity": self.label_counts.messages.label_sensitivity.range}

    @property
    def unit(self) -> str:
        return "true answers below the most frequent label"

    def levels(self, counts: Counts) -> Counts:
        return self.levels_of_label_counts(self.label_counts(counts))

    def levels_of_label_counts(self, label_counts: Counts) -> Counts:
        return label_counts

    def length(self, levels: float) -> float:
        return levels / float(self.label_counts.gain)

    def local(self, beta: float) -> float:
        sums = self.context.domain.size
        return 2 * self.label_counts.deviation(self.label_counts.width, sums=sums, beta=beta)


@dataclass(frozen=True, slots=True)
class Threshold:
    """The first label whose frequency is at least `level`, or None if there is none."""

    context: ReleaseContext
    label_counts: LabelCounts
    level: Fraction

    @classmethod
    def of(cls, context: ReleaseContext, level: Fraction) -> Threshold:
        return cls(context, LabelCounts.of(context), level)

    @property
    def candidates(self) -> tuple[str | None, ...]:
        return (*self.context.domain.labels, None)

    @property
    def sensitivity(self) -> Mapping[str, int]:
        return {"sensitivity": self.label_counts.width}

    @property
    def unit(self) -> str:
        return "true answers from being the first label at or above the level"

    def levels(self, counts: Counts) -> Counts:
        return self.levels_of_label_counts(self.label_counts(counts))

    def levels_of_label_counts(self, label_counts: Counts) -> Counts:
        least = math.ceil(self.label_counts.expected(self.level))
        short = np.append(least - label_counts, 0)
        before = np.concatenate([[0], np.maximum.accumulate(label_counts) - (least - 1)])
        levels: Counts = -np.maximum(np.maximum(short, before), 0)
        return levels

    def length(self, levels: float) -> float:
        return (levels + 1) / float(self.label_counts.gain)

    def local(self, beta: float) -> float:
        sums = self.context.domain.size
        return self.label_counts.deviation(self.label_counts.width, sums=sums, beta=beta)
