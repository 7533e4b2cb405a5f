"""`table`: the share of people with each combination of labels of some attributes of a record.

One linear reading for each cell (`linear_reading`), all with two-sided geometric noise; or one cell
alone, which one report moves less. Which tables can be read is what the mechanism says: of all
attributes together, of two at a time, or of up to as many as the parities have. A whole table of
two attributes says at which level they go together (`table_association`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.releases.kinds.arguments import (
    EPSILON,
    decimal_text,
    read_epsilon,
    with_defaults,
)
from deniable_aggregator.releases.kinds.contract import Parameter
from deniable_aggregator.releases.kinds.linear_reading import LinearReading
from deniable_aggregator.releases.kinds.noisy_sums import NoisySums, PreparedSums, estimate_rows
from deniable_aggregator.releases.kinds.table_association import MOST_CELLS as MOST_TESTED
from deniable_aggregator.releases.kinds.table_association import Association
from deniable_aggregator.releases.kinds.tally_spaces import l1_of
from deniable_estimators.inference.designs import (
    covariance_bound,
    covariance_of_sums,
    within_reach,
)
from deniable_estimators.inference.marginals import axes_of, by_message, labels_of
from deniable_estimators.inference.pooled_tables import ReportGroup
from deniable_estimators.inference.public_scores import PublicTables
from deniable_estimators.mechanisms import estimator_for
from deniable_shared.analysis.joint_supports import JointSupports
from deniable_shared.domains import Record
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from deniable_aggregator.releases.kinds.contract import Counts, ReleaseContext
    from deniable_estimators.inference.channel import Floats
    from deniable_estimators.inference.protocols import Estimator

MOST_CELLS = 1024
PARAMETERS = (
    Parameter("attributes", 'names between commas, like "os, browser"'),
    Parameter("cell", 'one label of each attribute, like "mac, chrome"; or all', "all"),
    EPSILON,
)
VERSION = 1
_TWO = 2


def prepare(arguments: Mapping[str, object], context: ReleaseContext) -> PreparedSums:
    """The prepared release. Raises ParameterError for arguments that do not fit here."""
    complete = with_defaults("table", PARAMETERS, arguments)
    epsilon = read_epsilon(complete["epsilon"])
    cells = Cells.read(complete["attributes"], complete["cell"], context)
    reading = cells.reading(context)
    return PreparedSums(
        mechanism="table",
        version=VERSION,
        parameters={**cells.arguments, "epsilon": decimal_text(epsilon)},
        epsilon=epsilon,
        reading=reading,
        show=_Shown(cells, reading, epsilon),
        quantity="error of each frequency",
    )


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of some attributes that a release reads: all, or the one at `place`."""

    domain: Record
    axes: tuple[int, ...]
    place: int | None

    @classmethod
    def read(cls, attributes: object, cell: object, context: ReleaseContext) -> Cells:
        domain = context.domain
        if not isinstance(domain, Record):
            raise ParameterError(
                f"table needs answers that are records, but these are of type {domain.type}: use "
                "histogram, or ask for a record in a collection"
            )
        axes = axes_of(domain, _names("attributes", attributes))
        labels = labels_of(domain, axes)
        if len(labels) > MOST_CELLS:
            raise ParameterError(
                f"attributes must have at most {MOST_CELLS:,} cells, got {len(labels):,}: name "
                "fewer"
            )
        if cell == "all":
            return cls(domain, axes, None)
        return cls(domain, axes, _place(domain, axes, _names("cell", cell)))

    @property
    def arguments(self) -> dict[str, object]:
        """The arguments in canonical form."""
        names = ", ".join(self.domain.topics[axis] for axis in self.axes)
        return {"attributes": names, "cell": "all" if self.place is None else self._cell}

    @property
    def _cell(self) -> str:
        place = np.unravel_index(self.place or 0, [self.domain.radices[axis] for axis in self.axes])
        labels = (self.domain.attributes[axis][1] for axis in self.axes)
        return ", ".join(each[int(at)] for each, at in zip(labels, place, strict=True))

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the cells that are read."""
        every = labels_of(self.domain, self.axes)
        return every if self.place is None else (every[self.place],)

    @property
    def whole(self) -> bool:
        """Whether all cells of two attributes are read."""
        return self.place is None and len(self.axes) == _TWO

    def reading(self, context: ReleaseContext) -> LinearReading:
        """The reading, from reports of tables or from labels that are combinations."""
        estimator = estimator_for(context.mechanism, context.repeat)
        if isinstance(estimator, PublicTables):
            every = LinearReading.of_scores(context, lambda each: each.public_tables(self.axes))  # type: ignore[attr-defined]  # just looked at
        else:
            every = LinearReading.of_labels(context, self._rows())
        return every if self.place is None else every.one(self.place)

    def _rows(self) -> Counts:
        """One row for each cell, with 1 for its combinations."""
        places = np.unravel_index(np.arange(self.domain.size), self.domain.radices)
        sizes = [self.domain.radices[axis] for axis in self.axes]
        cell_of = np.ravel_multi_index([places[axis] for axis in self.axes], sizes)
        return np.asarray(cell_of == np.arange(int(np.prod(sizes)))[:, None], dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Shown:
    """The cells; for a whole table of two attributes also whether they are related."""

    cells: Cells
    reading: LinearReading
    epsilon: Fraction

    def __call__(self, sums: NoisySums) -> Mapping[str, object]:
        result: dict[str, object] = {"estimates": estimate_rows(self.cells.labels, sums)}
        if self._tested:
            result["association_level"] = self._association.level(sums)
        return result

    @property
    def _tested(self) -> bool:
        """Two attributes, and not too many cells."""
        return self.cells.whole and self.reading.rows <= MOST_TESTED

    @property
    def _estimator(self) -> Estimator:
        context = self.reading.context
        return estimator_for(context.mechanism, context.repeat)

    @property
    def _association(self) -> Association:
        sizes = [self.cells.domain.radices[axis] for axis in self.cells.axes]
        scale = l1_of(self.reading.space, self.reading.matrix) / float(self.epsilon)
        return Association((sizes[0], sizes[1]), self._covariance, scale / self.reading.scale)

    def _covariance(self, frequencies: Floats) -> Floats:
        """Covariance of the devices' part of the cells at these shares, if devices never change.

        Of a design it depends on the combinations. Where a cell has several, which are not known,
        it is a bound for all of them, so the level is never too small.
        """
        estimator, mechanism = self._estimator, self.reading.context.mechanism
        if isinstance(estimator, PublicTables):
            once = estimator.public_covariance(self.cells.axes, frequencies)
        elif by_message(mechanism):
            once = self._of_design(frequencies)
        else:
            cells = self.reading.rows
            size = mechanism.domain_size // cells
            law = JointSupports.of(mechanism)
            once = ReportGroup(1, np.zeros(cells, dtype=np.int64), size, law).covariance(
                frequencies, 1
            )
        return np.asarray(once * self.reading.reports / self.reading.context.n)

    def _of_design(self, frequencies: Floats) -> Floats:
        mechanism, cells = self.reading.context.mechanism, self.reading.rows
        size = mechanism.domain_size // cells
        if size == 1 and within_reach(mechanism, cells):
            return covariance_of_sums(self._estimator, mechanism, np.eye(cells), frequencies)
        return covariance_bound(mechanism, cells, size)


def _names(argument: str, value: object) -> list[str]:
    names = [name.strip() for name in value.split(",")] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise ParameterError(f"{argument} must be names between commas, got {value!r:.80}")
    return names


def _place(domain: Record, axes: Sequence[int], labels: Sequence[str]) -> int:
    if len(labels) != len(axes):
        raise ParameterError(
            f"cell must have one label of each of {len(axes)} attributes, got {len(labels)}"
        )
    each = []
    for axis, label in zip(axes, labels, strict=True):
        name, labels_here = domain.attributes[axis]
        if label not in labels_here:
            raise ParameterError(
                f"cell must have a label of {name}, {', '.join(labels_here)}: got {label!r:.80}"
            )
        each.append(labels_here.index(label))
    return int(np.ravel_multi_index(each, [domain.radices[axis] for axis in axes]))
