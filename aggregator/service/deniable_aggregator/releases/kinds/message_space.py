"""A message space: what one report can add to a tally, and what a tally says of each label.

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
        """What a report adds to the count of a label that it supports, besides −offset."""

    @property
    def offset(self) -> int:
        """What a report that holds a label takes from its count, supporting it or not."""

    @property
    def sampling_fraction(self) -> Fraction:
        """The share of labels that a report holds."""

    @property
    def most_labels(self) -> int:
        """How many labels one report supports at most."""

    @property
    def label_sensitivity(self) -> LabelSensitivity:
        """How far one report moves the counts, one a label."""

    def label_counts(self, counts: Counts) -> Counts:
        """One integer a label, from a tally."""

    def tally_matrix(self, matrix: Matrix) -> Matrix:
        """A matrix over the tally, from one over the label counts: (rows, tally_size)."""

    def row_ranges(self, matrix: Matrix) -> Counts:
        """max_y row·s(y) − min_y row·s(y) of each row of a matrix over the tally."""

    def norms(self, matrix: Matrix) -> tuple[int, int]:
        """max over y, y' of ‖A(s(y) − s(y'))‖ in L1, and in L2 squared.

        Raises ParameterError if the exact maximum is too expensive to compute.
        """
