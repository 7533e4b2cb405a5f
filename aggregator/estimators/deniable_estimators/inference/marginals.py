"""Tables of a record's attributes: any marginal or cross-tabulation of a collection, by name.

Product coding reports all attributes together: a cell of a table is a set of combinations, of which
a report supports some (`joint_supports`). pairs/1 and fourier/1 have tables of their own. Cells are
in the order of the given names, the last one fastest, and are labelled like "os=mac, beta=yes".

Source: docs/mathematics/records.md, Product coding.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from deniable_estimators.inference.cell_sums import CellSums
from deniable_estimators.inference.label_sums import LabelSums
from deniable_estimators.inference.payload_arrays import checked_tally
from deniable_estimators.inference.pooled_tables import PooledTable, ReportGroup
from deniable_estimators.inference.tables import TableEstimator
from deniable_shared.analysis.joint_supports import JointSupports
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.structure import Design

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_estimators.inference.channel import Counts
    from deniable_estimators.inference.protocols import Estimator
    from deniable_shared.domains import Record
    from deniable_shared.mechanisms.protocols import Mechanism

MAX_CELLS = 65_536
"""The most cells of one table."""


def table_estimator(estimator: Estimator, mechanism: Mechanism, domain: Record) -> TableEstimator:
    """Return the part of an estimator for the tables of a record."""
    if isinstance(estimator, TableEstimator):
        return estimator
    return ProductTables(estimator, mechanism, domain.radices)


def axes_of(domain: Record, names: Sequence[str]) -> tuple[int, ...]:
    """Return the places of the attributes.

    Raises ParameterError for an unknown name, for a repeated one, for none, and beyond 65,536
    cells.
    """
    topics = domain.topics
    for name in names:
        if name not in topics:
            raise ParameterError(
                f"a table must be of attributes among {', '.join(topics)}, got {name!r:.80}"
            )
    axes = tuple(topics.index(name) for name in names)
    if not axes or len({*axes}) != len(axes):
        raise ParameterError("a table must be of one or more attributes, each once")
    cells = prod(domain.radices[axis] for axis in axes)
    if cells > MAX_CELLS:
        raise ParameterError(f"a table must have at most {MAX_CELLS:,} cells, got {cells:,}")
    return axes


def labels_of(domain: Record, axes: Sequence[int]) -> tuple[str, ...]:
    """Return the labels of the cells in their order."""
    attributes = [domain.attributes[axis] for axis in axes]
    names = [name for name, _ in attributes]
    return tuple(
        ", ".join(f"{name}={label}" for name, label in zip(names, cell, strict=True))
        for cell in product(*(labels for _, labels in attributes))
    )


def by_message(mechanism: Mechanism) -> bool:
    """Whether reports support codes of a design that does not treat all triples alike."""
    design = mechanism.structure
    return isinstance(design, Design) and design.triples is None


@dataclass(frozen=True, slots=True)
class ProductTables:
    """The tables of a mechanism for choices, whose choices are the combinations of a record."""

    estimator: Estimator
    mechanism: Mechanism
    radices: tuple[int, ...]

    @property
    def repeat(self) -> str:
        """The estimator's repeat."""
        return self.estimator.repeat

    def check(self, axes: Sequence[int]) -> None:  # noqa: ARG002  (others refuse some)
        """Raises ParameterError for a mechanism whose sums have no error."""
        if not by_message(self.mechanism):
            JointSupports.of(self.mechanism)

    def source(self, tally: Counts, n: int, axes: Sequence[int]) -> PooledTable | CellSums:
        """Return the supports of each cell's combinations."""
        self.check(axes)
        counts, reports = checked_tally(tally, n, self.mechanism.tally_size)
        if isinstance(self.estimator, LabelSums) and by_message(self.mechanism):
            cells = prod(self.radices[axis] for axis in axes)
            cell_of = self._cells(axes)
            return CellSums(self.estimator, self.mechanism, counts, reports, cell_of, cells)
        cube = self.estimator.supports(counts).reshape(self.radices)
        others = tuple(axis for axis in range(len(self.radices)) if axis not in axes)
        rest = cube.transpose(*axes, *others).reshape(prod(self.radices[axis] for axis in axes), -1)
        chain = self.mechanism
        law = JointSupports.of(chain)
        shared = JointSupports.of(chain.first) if isinstance(chain, MemoizedChain) else None
        return PooledTable((ReportGroup(reports, rest.sum(axis=1), rest.shape[1], law, shared),))

    def _cells(self, axes: Sequence[int]) -> Counts:
        """Return the cell of each combination."""
        places = np.unravel_index(np.arange(prod(self.radices)), self.radices)
        of_axes = tuple(self.radices[axis] for axis in axes)
        return np.ravel_multi_index(tuple(places[axis] for axis in axes), of_axes)
