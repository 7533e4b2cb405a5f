"""Exact laws of tables of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from math import prod

import numpy as np

from deniable_estimators.inference.cell_sums import CellSums
from deniable_estimators.inference.channel import Counts, Floats
from deniable_estimators.inference.marginals import table_estimator
from deniable_estimators.inference.pooled_tables import CellEstimates
from deniable_estimators.inference.protocols import Estimator
from deniable_estimators.inference.tables import TableEstimator
from deniable_estimators.mechanisms import estimator_for
from deniable_shared.domains import Record
from deniable_shared.mechanisms import Mechanism, for_domain
from support.builders.record_domains import record
from support.oracles.message_laws import generator


@cache
def _pmf(mechanism: Mechanism, value: int) -> dict[bytes, Fraction]:
    """Several tests read it: to enumerate that of a chain takes time."""
    return mechanism.pmf(value)


@dataclass(frozen=True)
class RecordLaw:
    """The exact law of the messages of a mechanism for a record, and what they add to tallies."""

    domain: Record
    mechanism: Mechanism
    repeat: str | None = None

    @cached_property
    def estimator(self) -> Estimator:
        return estimator_for(self.mechanism, self.repeat)

    @cached_property
    def tabular(self) -> TableEstimator:
        return table_estimator(self.estimator, self.mechanism, self.domain)

    def source(self, tally: Counts, n: int, axes: Sequence[int]) -> CellEstimates:
        """What a tally says of the table of these attributes, of a mechanism that has such laws."""
        actual = self.tabular.source(tally, n, axes)
        assert not isinstance(actual, CellSums)
        return actual

    @cached_property
    def messages(self) -> list[bytes]:
        return list(self.mechanism.pmf(0))

    @cached_property
    def tallies(self) -> Counts:
        """(messages, tally_size)."""
        rows = [np.frombuffer(message, dtype=np.uint8)[None, :] for message in self.messages]
        return np.array([self.estimator.tally(row) for row in rows])

    def chances(self, population: Sequence[Fraction]) -> list[Fraction]:
        """Of each message, from a sender drawn from the population."""
        rows = [_pmf(self.mechanism, value) for value in range(self.domain.size)]
        return [
            sum((p * row[y] for p, row in zip(population, rows, strict=True)), Fraction())
            for y in self.messages
        ]

    def draw(self, population: Sequence[Fraction], n: int, times: int) -> Counts:
        """(times, tally_size): tallies of n independent reports each."""
        weights = np.array([float(chance) for chance in self.chances(population)])
        return np.asarray(generator().multinomial(n, weights / weights.sum(), times) @ self.tallies)


def law(id: str, *radices: int, epsilon: str = "1", permanent: str | None = None) -> RecordLaw:
    domain = record(*radices)
    if permanent is None:
        return RecordLaw(domain, for_domain(id, domain, Fraction(epsilon)))
    chain = for_domain(id, domain, Fraction(epsilon), permanent=Fraction(permanent))
    return RecordLaw(domain, chain)


def uneven(size: int) -> list[Fraction]:
    """A population in which every combination has a weight of its own."""
    return [Fraction(2 * (rank + 1), size * (size + 1)) for rank in range(size)]


def independent(*radices: int) -> list[Fraction]:
    """One in which attributes are independent, each uneven."""
    population = [Fraction(1)]
    for radix in radices:
        population = [weight * each for weight in population for each in uneven(radix)]
    return population


def table_of(population: Sequence[Fraction], domain: Record, axes: Sequence[int]) -> list[Fraction]:
    """The true frequencies of the cells, by definition."""
    shape = [domain.radices[axis] for axis in axes]
    cells = [Fraction()] * prod(shape)
    for value, weight in enumerate(population):
        digits = domain.label_indices(value)
        place = 0
        for axis, radix in zip(axes, shape, strict=True):
            place = place * radix + digits[axis]
        cells[place] += weight
    return cells


def floats(values: Sequence[Fraction]) -> Floats:
    return np.array([float(value) for value in values])
