"""Why there is central noise and a ledger: an attack that reads exact counts back into rows.

    Subsets           public random subsets of n rows, and the counts they ask for
    PrivateCounts     the same counts under central differential privacy, all together
    reconstruct       the secret bit of every row, from counts, by least squares
    demonstrate       the attack on exact counts, on counts nobody accounted for, on private ones

A demonstration and a regression test, on made-up secrets of its own: it reads no collection.
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
