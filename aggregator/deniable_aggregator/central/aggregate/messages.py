"""Which tallies one report can add, by mechanism: what every sensitivity of this room is made of.

    one of      one of K counts goes up by one                          grr/1
    free bits   any set of m counts goes up by one                      rr/1
    told bits   t of m places are told, any of them as ones             rr-sampled/1

All messages a sender can make are possible whatever the value, so it does not matter which values
are valid; a chain sends the messages of its first mechanism. A new mechanism is one more function
in `_KNOWN`, and nothing else here or in `reach` changes.

What a tally says of one label is one integer, its reading: how many reports support it, or, where
few places are told, unit · ones − blank · tellings with blank/unit = q but for 2^−17. Its mean is
known for every frequency, so that a reading is debiased by a public constant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import comb
from types import MappingProxyType
from typing import Protocol

import numpy as np
import numpy.typing as npt

from deniable_aggregator.central.aggregate.norms import (
    Matrix,
    affordable,
    norms_of_bits,
    norms_of_images,
)
from deniable_shared.chains import Renewed
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.contract import Mechanism, Renewable
from deniable_shared.mechanisms.rr_sampled import SampledResponse

__all__ = ["LabelReach", "Messages", "OneOf", "known", "messages_of"]

Counts = npt.NDArray[np.int64]

_UNIT_BITS = 16
_MOST_MESSAGES = 1 << 14


@dataclass(frozen=True, slots=True)
class LabelReach:
    """How far one report replaced moves all readings: their range, L1, L2² and largest move."""

    range: int
    l1: int
    l2_squared: int
    linf: int


class Messages(Protocol):
    """What one report can add to a tally, and how a tally is read."""

    @property
    def unit(self) -> int:
        """What a report adds to the reading of a label that it supports, beside −blank."""

    @property
    def blank(self) -> int:
        """What a report that tells of a label takes from its reading, supporting it or not."""

    @property
    def told(self) -> Fraction:
        """The share of labels that a report tells of."""

    @property
    def labels(self) -> LabelReach:
        """Of the readings, one a label."""

    def readings(self, counts: Counts) -> Counts:
        """One integer a label, from a tally."""

    def on_tally(self, matrix: Matrix) -> Matrix:
        """A matrix over the tally, from one over the readings: (rows, tally_size)."""

    def spread(self, matrix: Matrix) -> Counts:
        """max_y row·s(y) − min_y row·s(y) of each row of a matrix over the tally."""

    def norms(self, matrix: Matrix) -> tuple[int, int]:
        """max over y, y' of ‖A(s(y) − s(y'))‖ in L1, and in L2 squared; ParameterError if dear."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """A histogram of K messages."""

    size: int
    unit: int = 1
    blank: int = 0
    told: Fraction = Fraction(1)

    @property
    def labels(self) -> LabelReach:
        return LabelReach(range=2, l1=2, l2_squared=2, linf=1)

    def readings(self, counts: Counts) -> Counts:
        return counts

    def on_tally(self, matrix: Matrix) -> Matrix:
        return matrix

    def spread(self, matrix: Matrix) -> Counts:
        spread: Counts = matrix.max(axis=1) - matrix.min(axis=1)
        return spread

    def norms(self, matrix: Matrix) -> tuple[int, int]:
        return norms_of_images(matrix.T)


@dataclass(frozen=True, slots=True)
class FreeBits:
    """m counts of ones, each report free in all of them."""

    size: int
    unit: int = 1
    blank: int = 0
    told: Fraction = Fraction(1)

    @property
    def labels(self) -> LabelReach:
        m = self.size
        return LabelReach(range=2 if m > 1 else 0, l1=m, l2_squared=m, linf=1)

    def readings(self, counts: Counts) -> Counts:
        return counts

    def on_tally(self, matrix: Matrix) -> Matrix:
        return matrix

    def spread(self, matrix: Matrix) -> Counts:
        spread: Counts = np.abs(matrix).sum(axis=1)
        return spread

    def norms(self, matrix: Matrix) -> tuple[int, int]:
        return norms_of_bits(matrix)


@dataclass(frozen=True, slots=True)
class ToldBits:
    """t = `sampled` of m = `size` places told: counts of tellings, then of ones."""

    size: int
    sampled: int
    unit: int
    blank: int

    @property
    def told(self) -> Fraction:
        return Fraction(self.sampled, self.size)

    @property
    def labels(self) -> LabelReach:
        """A place that only one of two reports tells of moves a reading by unit − blank at most.

        One that both tell of moves it by the unit. With u places of the second kind there are
        2(t − u) of the first, so sums are largest at one end of u.
        """
        m, t, one, both = self.size, self.sampled, self.unit - self.blank, self.unit
        ends = [(2 * (t - u), u) for u in (max(0, 2 * t - m), t)]
        return LabelReach(
            range=0 if m == 1 else 2 * (one if t == 1 else both),
            l1=max(alone * one + shared * both for alone, shared in ends),
            l2_squared=max(alone * one**2 + shared * both**2 for alone, shared in ends),
            linf=both,
        )

    def readings(self, counts: Counts) -> Counts:
        readings: Counts = self.unit * counts[self.size :] - self.blank * counts[: self.size]
        return readings

    def on_tally(self, matrix: Matrix) -> Matrix:
        return np.concatenate([-self.blank * matrix, self.unit * matrix], axis=1)

    def spread(self, matrix: Matrix) -> Counts:
        telling, one = matrix[:, : self.size], matrix[:, self.size :]
        high = np.sort(telling + np.maximum(one, 0), axis=1)[:, self.size - self.sampled :]
        low = np.sort(telling + np.minimum(one, 0), axis=1)[:, : self.sampled]
        spread: Counts = high.sum(axis=1) - low.sum(axis=1)
        return spread

    def norms(self, matrix: Matrix) -> tuple[int, int]:
        affordable(comb(self.size, self.sampled) << self.sampled, _MOST_MESSAGES, "messages")
        return norms_of_images(self._every() @ matrix.T)

    def _every(self) -> Matrix:
        """(messages, 2m): what each message adds to the tally."""
        rows = []
        for places in combinations(range(self.size), self.sampled):
            for bits in product((0, 1), repeat=self.sampled):
                row = np.zeros(2 * self.size, dtype=np.int64)
                row[list(places)] = 1
                row[[self.size + p for p, bit in zip(places, bits, strict=True) if bit]] = 1
                rows.append(row)
        return np.array(rows)


def known() -> tuple[str, ...]:
    """The ids of the mechanisms whose messages this room knows, sorted."""
    return tuple(sorted(_KNOWN))


def messages_of(mechanism: Mechanism) -> Messages:
    """The messages of a mechanism or of a chain; ParameterError for one that is not known."""
    if mechanism.id not in _KNOWN:
        raise ParameterError(
            f"mechanism must be one of {', '.join(known())} for central releases, got "
            f"{mechanism.id!r:.80}: estimates of this collection can be read, releases cannot"
        )
    return _KNOWN[mechanism.id](_first(mechanism))


def _first(mechanism: Mechanism) -> Mechanism | Renewable:
    return mechanism.first if isinstance(mechanism, Renewed) else mechanism


def _one_of(mechanism: Mechanism) -> Messages:
    return OneOf(mechanism.tally_size)


def _free_bits(mechanism: Mechanism) -> Messages:
    return FreeBits(mechanism.tally_size)


def _told_bits(mechanism: Mechanism) -> Messages:
    if not isinstance(mechanism, SampledResponse):
        raise ParameterError(f"{mechanism.id} must say how many places it tells")
    unit = 1 << _UNIT_BITS
    return ToldBits(mechanism.domain_size, mechanism.sampled, unit, round(mechanism.q * unit))


_KNOWN: Mapping[str, Callable[[Mechanism], Messages]] = MappingProxyType(
    {"grr/1": _one_of, "rr/1": _free_bits, "rr-sampled/1": _told_bits}
)
