"""Count-mean sketch: one cell of one table, all cells sent by symmetric unary encoding.

    h = 1        β = 1/m        n·Var = (m/(m − 1))²/(4·sinh²(ε/4)) + (1 − f)/(m − 1)

Apple's devices do the same; the choice of the cell is deniable's own, `bit_sketch.cell_of`. All
people share the k tables. So the contribution of other texts has mean 0 over the choice of hash
functions, and a variance of Σf²/(k(m − 1)), which more reports do not lower. Sources: Apple,
*Learning with privacy at scale*, 2017; docs/mathematics/texts.md, Sketches.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.mechanisms.bit_sketch import BitSketch, cell_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_TABLES, _CELLS = 64, 1_024


@dataclass(frozen=True, slots=True)
class CountMeanSketch(BitSketch):
    """A text of up to `domain_size` bytes; k = `tables`, m = `cells`."""

    id: ClassVar[str] = "cms/1"
    parameters: ClassVar[tuple[str, ...]] = ("tables", "cells")

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        """See `MechanismClass`."""
        return cls(domain_size, epsilon, given.get("tables", _TABLES), given.get("cells", _CELLS))

    @property
    def hashes(self) -> int:
        """One cell a text."""
        return 1

    @property
    def collision_probability(self) -> Fraction:
        """1/m."""
        return Fraction(1, self.cells)

    def cells_of(self, table: int, text: bytes) -> tuple[int, ...]:
        """Return the one cell."""
        return (cell_of(table, text, self.cells),)
