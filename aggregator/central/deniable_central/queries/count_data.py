"""The data of linear queries: counts over a domain, and how far one row moves an answer.

`Counts` are an analyst's own rows. Counts that were randomized before (a collection) implement
`CountData`: observations stay integers computed from the raw tally, with mean
rows · gain · scale · f(truth). The sensitivity is over pairs of possible messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from typing import Protocol

import numpy as np
import numpy.typing as npt

from deniable_central.errors import CountsError
from deniable_central.queries.workload import Integers, checked_integers

LARGEST_ROWS = (1 << 31) - 1


class CountData(Protocol):
    """Counts for linear queries; `rows` is n, public under replace."""

    @property
    def rows(self) -> int: ...

    @property
    def domain(self) -> int: ...

    @property
    def gain(self) -> Fraction:
        """What one row with a value adds to the observed count on average."""
        ...

    @property
    def fingerprint(self) -> bytes:
        """Bytes that identify a data set; as secret as the counts."""
        ...

    def observe(self, queries: Integers) -> Integers:
        """Return the raw answers, int64[queries], of integer queries, int64[queries, domain]."""
        ...

    def sensitivity(self, queries: Integers) -> int:
        """Return how far replacing one row moves any of these raw answers."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """How many rows have each value of the domain; int64[domain], read-only."""

    tally: Integers

    def __post_init__(self) -> None:
        tally = checked_integers(self.tally, argument="counts", dimensions=1)
        if tally.min() < 0 or tally.max() > LARGEST_ROWS or tally.sum() > LARGEST_ROWS:
            raise CountsError("counts must be at least 0 and below 2^31 in all")
        tally.flags.writeable = False
        object.__setattr__(self, "tally", tally)

    @classmethod
    def of_rows(cls, values: npt.ArrayLike, *, domain: int) -> Counts:
        """Count rows given as integers from 0 to domain − 1."""
        rows = np.asarray(values)
        if rows.size:
            rows = checked_integers(rows, argument="values", dimensions=1)
            if rows.min() < 0 or rows.max() >= domain:
                raise CountsError(f"values must lie in [0, {domain - 1}]: map the others")
        return cls(np.bincount(rows.astype(np.int64), minlength=domain))

    @property
    def rows(self) -> int:
        return int(self.tally.sum())

    @property
    def domain(self) -> int:
        return len(self.tally)

    @property
    def gain(self) -> Fraction:
        return Fraction(1)

    @property
    def fingerprint(self) -> bytes:
        return sha256(self.tally.astype("<i8").tobytes()).digest()

    def observe(self, queries: Integers) -> Integers:
        answers: Integers = queries @ self.tally
        return answers

    def sensitivity(self, queries: Integers) -> int:
        return int((queries.max(axis=1) - queries.min(axis=1)).max())
