"""A message space: the changes that one report can make to a tally, and the count of each label.

The count of a label is one integer: how many reports support it. Where a report holds few of the
coordinates it is unit · ones − offset · reports of it, with offset/unit = q but for 2^−17. Its mean
is known for every frequency, so that a count is debiased by a public constant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from fractions import Fraction

    from deniable_aggregator.releases.kinds.norms import Matrix
    from deniable_shared.mechanisms.structure import LabelSensitivity

Counts = npt.NDArray[np.int64]


class MessageSpace(Protocol):
    """The messages of one mechanism: no bound is ever below the maximum over all pairs of them."""

    @property
    def unit(self) -> int:
        """The increment of the count of a supported label, besides −offset."""

    @property
    def offset(self) -> int:
        """The decrement of the count of a label that a report contains, supported or not."""

    @property
    def sampling_fraction(self) -> Fraction:
        """The share of labels that a report holds."""

    @property
    def most_labels(self) -> int:
        """The most labels that one report supports."""

    @property
    def label_sensitivity(self) -> LabelSensitivity:
        """The most that one report moves the label counts."""

    def label_counts(self, counts: Counts) -> Counts:
        """One integer for each label, from a tally: int64[labels]."""

    def tally_matrix(self, matrix: Matrix) -> Matrix:
        """A matrix over the tally, from one over the label counts: (rows, tally_size)."""

    def row_ranges(self, matrix: Matrix) -> Counts:
        """max_y row·s(y) − min_y row·s(y) of each row of a matrix over the tally."""

    def norms(self, matrix: Matrix) -> tuple[int, int]:
        """max over y, y' of ‖A(s(y) − s(y'))‖ in L1, and in L2 squared.

        Raises ParameterError if the exact maximum is too expensive to compute.
        """
