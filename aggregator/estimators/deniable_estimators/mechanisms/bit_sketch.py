"""Sketches of texts: for each table its reports, and how many of them have a one in each cell.

    f̂ = (c/n − q)/(p − q)        c ones among the n bits of the cells of a text

`inference.texts` estimates given texts together, by least squares over the cells that they share.
There is no search, and no label to estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from deniable_estimators.inference.payload_arrays import (
    Payloads,
    checked_payloads,
    checked_tally,
    first_round,
)
from deniable_estimators.inference.protocols import TableGroup
from deniable_estimators.inference.support_counts import SupportEstimator
from deniable_estimators.mechanisms.rr import column_sums
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.mechanisms.bit_sketch import BitSketch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_estimators.inference.channel import Counts
    from deniable_shared.mechanisms.protocols import Mechanism


class Sketch(Protocol):
    """The part of a mechanism that `SketchCoding` needs."""

    @property
    def domain_size(self) -> int:
        """The most bytes of a text."""
        ...

    @property
    def tables(self) -> int:
        """k, the number of tables."""
        ...

    @property
    def cells(self) -> int:
        """m, the number of cells of a table."""
        ...

    @property
    def hashes(self) -> int:
        """h, the most cells of a text in a table."""
        ...

    def cells_of(self, table: int, text: bytes) -> tuple[int, ...]:
        """Return the cells of a text in a table, each once."""
        ...


@dataclass(frozen=True, slots=True)
class SketchCoding:
    """See `protocols.TextCoding`: one group, and a code is a cell."""

    sampling_fraction: ClassVar[Fraction] = Fraction(1)
    groups: ClassVar[int] = 1
    sketch: Sketch

    @property
    def codes(self) -> int:
        """The number of cells of a table."""
        return self.sketch.cells

    @property
    def all_tables(self) -> int:
        """The number of tables; each is about whole texts."""
        return self.sketch.tables

    @property
    def hashes(self) -> int:
        """The most cells of a text in a table."""
        return self.sketch.hashes

    @property
    def domain_size(self) -> int:
        """The most bytes of a text."""
        return self.sketch.domain_size

    def length(self, group: int) -> int:
        """Return the greatest length of a text in bytes."""
        return self.sketch.domain_size

    def tables_of(self, group: int) -> range:
        """Return all tables."""
        return range(self.sketch.tables)


def cells_of(sketch: Sketch, texts: Sequence[bytes]) -> Counts:
    """Return int64[tables, hashes, texts]; −1 where a text has fewer cells than hashes."""
    cells = np.full((sketch.tables, sketch.hashes, len(texts)), -1, dtype=np.int64)
    for table in range(sketch.tables):
        for place, text in enumerate(texts):
            own = sketch.cells_of(table, text)
            cells[table, : len(own), place] = own
    return cells


@dataclass(frozen=True, slots=True)
class SketchEstimator(SupportEstimator):
    """The estimator of "cms/1" and "rappor/1"."""

    default_projection: ClassVar[str] = "clip"
    estimand: ClassVar[str] = "texts"
    mechanism: Mechanism
    repeat: str = "once"

    @property
    def sketch(self) -> BitSketch:
        """The mechanism, or the first round of the chain."""
        first = first_round(self.mechanism)
        if not isinstance(first, BitSketch):
            raise ParameterError(f"mechanism must be a sketch, got {self.mechanism.id}")
        return first

    @property
    def coding(self) -> SketchCoding:
        """How texts become cells."""
        return SketchCoding(self.sketch)

    def tally(self, payloads: Payloads) -> Counts:
        rows, sketch = checked_payloads(payloads, self.mechanism.payload_size), self.sketch
        ahead = self.mechanism.payload_size - sketch.cells // 8
        places = 256 ** np.arange(ahead - 1, -1, -1, dtype=np.int64)
        tables = rows[:, :ahead].astype(np.int64) @ places
        if len(tables) and tables.max() >= sketch.tables:
            raise DecodeError(
                f"payloads must name tables below {sketch.tables}, got {tables.max()}: "
                "validate them first"
            )
        order = np.argsort(tables, kind="stable")
        reports = np.bincount(tables, minlength=sketch.tables)
        parts = np.split(rows[order, ahead:], np.cumsum(reports)[:-1])
        counted = [np.append(n, column_sums(part)) for n, part in zip(reports, parts, strict=True)]
        return np.concatenate(counted)

    def supports(self, tallies: Counts) -> Counts:
        return tallies[..., :0]

    def checked(self, tally: Counts, n: int) -> tuple[Counts, int]:
        """Return the tally and n. Raises ParameterError if n reports cannot give the tally."""
        counts, reports = checked_tally(tally, n, self.mechanism.tally_size)
        every = self.group(counts, 0)
        if every.n != reports:
            raise ParameterError(f"tally must be of n = {reports} reports, got {every.n}")
        if (every.supports > every.trials[:, None]).any():
            raise ParameterError("tally must have at most as many ones in a cell as reports")
        return counts, reports

    def reports_of(self, tally: Counts) -> int:
        """Return the reports of all tables."""
        return self.group(tally, 0).n

    def group(self, tally: Counts, group: int) -> TableGroup:
        """Return the reports of each table, and the ones in each of its cells."""
        rows = tally.reshape(self.sketch.tables, self.sketch.cells + 1)
        return TableGroup(rows[:, 0], rows[:, 1:])

    def counting(self) -> Counts:
        """See `PublicTexts`: the reports of a table come first."""
        return np.asarray(np.eye(1, self.sketch.cells + 1, dtype=np.int64)[0])

    def supporting(self, codes: Counts) -> Counts:
        """See `PublicTexts`: then the ones of each cell."""
        return np.asarray(np.eye(self.sketch.cells + 1, dtype=np.int64)[codes + 1])

    @property
    def agreeing(self) -> float:
        """β, see `deniable_shared.mechanisms.bit_sketch`."""
        return float(self.sketch.collision_probability)

    @property
    def inside(self) -> float:
        """The chance of a one in another cell than the text's: all bits have the same noise."""
        return 1 - float(self.mechanism.p)

    def codes(self, group: int, texts: Sequence[bytes]) -> Counts:
        """Return the cells of each text in each table."""
        return cells_of(self.sketch, texts)
