"""What one report can add to a tally, and how a tally is read: what every message set here offers.

What a tally says of one label is one integer, its reading: how many reports support it, or, where
few places are told, unit · ones − blank · tellings with blank/unit = q but for 2^−17. Its mean is
known for every frequency, so that a reading is debiased by a public constant.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from deniable_aggregator.releases.kinds.norms import Matrix
from deniable_shared.mechanisms.structure import LabelReach

Counts = npt.NDArray[np.int64]


class MessageSpace(Protocol):
    """The messages of one mechanism: no bound is ever below the maximum over all pairs of them."""

    @property
    def unit(self) -> int:
        """What a report adds to the reading of a label that it supports, beside −blank."""

    @property
    def blank(self) -> int:
        """What a report that tells of a label takes from its reading, supporting it or not."""

    @property
    def sampling_fraction(self) -> Fraction:
        """The share of labels that a report tells of."""

    @property
    def most(self) -> int:
        """How many labels one report supports at most."""

    @property
    def labels(self) -> LabelReach:
        """Of the readings, one a label."""

    def label_counts(self, counts: Counts) -> Counts:
        """One integer a label, from a tally."""

    def tally_matrix(self, matrix: Matrix) -> Matrix:
        """A matrix over the tally, from one over the readings: (rows, tally_size)."""

    def spread(self, matrix: Matrix) -> Counts:
        """max_y row·s(y) − min_y row·s(y) of each row of a matrix over the tally."""

    def norms(self, matrix: Matrix) -> tuple[int, int]:
        """max over y, y' of ‖A(s(y) − s(y'))‖ in L1, and in L2 squared; ParameterError if dear."""
