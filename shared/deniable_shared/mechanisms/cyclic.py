"""Cyclic designs: the points of a geometry on a circle, so that a report is one addition.

    y = x + δ mod K      δ in D with probability p = T/2^64, its w members equally likely,
                         else one of the K − w others;      y supports v if y − v is in D

D is a Singer difference set (`difference_sets`). The distance δ does not depend on the choice,
which is only added. Law, ε, parameters and payload are those of `geometric`, for up to 2^18 codes:
D takes 4w bytes. Sources: Singer 1938; Feldman, Nelson, Nguyen, Talwar 2022 (the vector form);
docs/mathematics/designs.md, Difference sets.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from deniable_shared.algebra.difference_sets import difference_set
from deniable_shared.mechanisms.geometric import GeometricResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_CYCLIC_CODES = 1 << 18


@dataclass(frozen=True, slots=True)
class CyclicResponse(GeometricResponse):
    """d = `domain_size` choices among K codes on a circle."""

    id: ClassVar[str] = "cyclic/1"
    most_choices: ClassVar[int] = MAX_CYCLIC_CODES - 1
    most_codes: ClassVar[int] = MAX_CYCLIC_CODES

    @property
    def gaps(self) -> Sequence[int]:
        """For each member of D, in order, the number of smaller distances that are not in D."""
        return _gaps(self.field_order, self.dimension)

    def _draw_code(self, index: int, inside: bool, near: int, far: int) -> int:
        gaps = self.gaps
        member, other = gaps[near] + near, far + bisect_right(gaps, far)
        return (index + (other, member)[inside]) % self.alphabet_size

    def _supports_value(self, place: int, code: int, index: int) -> bool:
        members = difference_set(self.field_order, self.dimension)
        distance = (code - index) % self.alphabet_size
        place = bisect_right(members, distance)
        return place > 0 and members[place - 1] == distance


@lru_cache(maxsize=16)
def _gaps(q: int, t: int) -> Sequence[int]:
    members = difference_set(q, t)
    return array("I", (member - place for place, member in enumerate(members)))
