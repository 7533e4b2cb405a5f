"""Why there is central noise and a ledger: an attack that computes the rows from exact counts.

    Subsets           public random subsets of n rows, and their counts
    PrivateCounts     the same counts under central differential privacy, all together
    reconstruct       the secret bit of every row, from counts, by least squares
    demonstrate       the attack on exact counts, on counts without a ledger, on private ones

This is a demonstration and a regression test, on invented secrets: it reads no collection.
"""

from __future__ import annotations

from deniable_central.errors import SubsetsError
from deniable_central.reconstruction.demonstration import (
    Attempt,
    Demonstration,
    best_share,
    demonstrate,
    guessing_range,
)
from deniable_central.reconstruction.least_squares import reconstruct
from deniable_central.reconstruction.subsets import PrivateCounts, Subsets

__all__ = [
    "Attempt",
    "Demonstration",
    "PrivateCounts",
    "Subsets",
    "SubsetsError",
    "best_share",
    "demonstrate",
    "guessing_range",
    "reconstruct",
]
