"""Which data sets are neighbours: the relation every ε, ρ and δ of this room is a statement about.

    replace       one row, or report, is exchanged for another; n is public
    add/remove    one row, or report, is added or left out; n is private

To exchange is to remove and then to add, so a guarantee for add/remove holds for replace as one for
a group of two: (2ε, (1 + e^ε)δ) and 4ρ. Nothing leads back: n is no secret under replace.
"""

from __future__ import annotations

from enum import StrEnum

from deniable_central.errors import AdjacencyError


class Adjacency(StrEnum):
    """The neighbours a guarantee speaks of."""

    REPLACE = "replace"
    ADD_REMOVE = "add/remove"

    @property
    def rows_replaced(self) -> int:
        """How many of these steps make one replacement: the size of the group to account for."""
        return 2 if self is Adjacency.ADD_REMOVE else 1


def parse_adjacency(value: str) -> Adjacency:
    """Read a declared adjacency; AdjacencyError for anything but the two names."""
    try:
        return Adjacency(value)
    except ValueError:
        raise AdjacencyError(
            'adjacency must be "replace" (one row exchanged, n public) or "add/remove" '
            f"(one row more or less), got {value!r}"
        ) from None
