"""The changes that one report can make to a tally of any mechanism, with or without labels.

    one of        a message is one count: means, waves, parities, sums of digits
    a bit         one count goes up or does not                                       `duchi/1`
    parts         a count of a part, and w counts of that part                `tree/1`, `pairs/1`
    tables        a count of a table, and any of its bits                     `cms/1`, `rappor/1`

A linear statistic of the tally with public weights, W·tally, is moved by one report replaced by at
most max_y W·s(y) − min_y W·s(y), over all messages y that a sender can make. Of several at once

    L1 = max over signs σ of the range of σᵀW        exactly, as Σ|d_r| = max_σ Σ σ_r·d_r

for up to 12 rows, by the same ranges; or over all pairs of messages where they are few; else a
bound that is never below it.

Source: docs/mathematics/releases-over-sums.md, What one report moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Protocol

import numpy as np

from deniable_aggregator.releases.kinds.message_spaces import (
    LABELS,
    estimand_of,
    message_space_of,
)
from deniable_aggregator.releases.kinds.norms import MOST_STEPS, Matrix
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.structure import (
    IndependentBits,
    MessageStructure,
    OneOf,
    OneOfParts,
    Subset,
    Window,
)

if TYPE_CHECKING:
    from deniable_aggregator.releases.kinds.message_space import Counts, MessageSpace
    from deniable_shared.mechanisms.protocols import Mechanism

_MOST_SIGNED_ROWS = 12
_MOST_SIGNED = 1 << 25
_AT_ONCE = 1 << 20


class TallySpace(Protocol):
    """The messages of one mechanism: no bound is ever below the maximum over all pairs of them."""

    def row_ranges(self, matrix: Matrix) -> Counts:
        """max_y row·s(y) − min_y row·s(y) of each row of a matrix over the tally."""

    def l1_bound(self, matrix: Matrix) -> int:
        """An upper bound of how far one replaced report moves all rows, added up."""


@dataclass(frozen=True, slots=True)
class OneOfMessages:
    """A histogram of messages."""

    def row_ranges(self, matrix: Matrix) -> Counts:
        spread: Counts = matrix.max(axis=1) - matrix.min(axis=1)
        return spread

    def l1_bound(self, matrix: Matrix) -> int:
        """All pairs where they are few; else twice the way from the middle of each row."""
        rows, messages = matrix.shape
        if messages * messages * rows <= MOST_STEPS:
            return max(int(np.abs(matrix - each[:, None]).sum(axis=0).max()) for each in matrix.T)
        doubled = (matrix.max(axis=1) + matrix.min(axis=1))[:, None]
        step = max(1, _AT_ONCE // rows)
        parts = (matrix[:, at : at + step] for at in range(0, messages, step))
        return max(int(np.abs(2 * part - doubled).sum(axis=0).max()) for part in parts)


@dataclass(frozen=True, slots=True)
class OneBitMessages:
    """One count."""

    def row_ranges(self, matrix: Matrix) -> Counts:
        spread: Counts = np.abs(matrix[:, 0])
        return spread

    def l1_bound(self, matrix: Matrix) -> int:
        return int(np.abs(matrix[:, 0]).sum())


@dataclass(frozen=True, slots=True)
class PartMessages:
    """The reports of each part, then for each part the counts of its codes, w of them a report."""

    parts: tuple[Subset, ...]

    def row_ranges(self, matrix: Matrix) -> Counts:
        each = self._of_each(matrix)
        high = np.max([base + _largest(codes, held) for held, base, codes in each], axis=0)
        low = np.min([base - _largest(-codes, held) for held, base, codes in each], axis=0)
        spread: Counts = high - low
        return spread

    def l1_bound(self, matrix: Matrix) -> int:
        """The bound within one part from codes of one set alone, else through no codes at all."""
        widest, reached = 0, []
        for held, base, codes in self._of_each(matrix):
            columns = np.abs(codes).sum(axis=0)[None, :]
            alone = min(held, codes.shape[1] - held)
            widest = max(widest, 2 * int(_largest(columns, alone)[0]))
            reached.append((base, int(_largest(columns, held)[0])))
        for (one, first), (other, second) in combinations(reached, 2):
            widest = max(widest, first + second + int(np.abs(one - other).sum()))
        return widest

    def _of_each(self, matrix: Matrix) -> list[tuple[int, Counts, Matrix]]:
        """For each part w, its count of reports (k,) and the counts of its codes (k, codes)."""
        ends = len(self.parts) + np.cumsum([0, *(part.codes for part in self.parts)])
        return [
            (part.support_size, matrix[:, place], matrix[:, ends[place] : ends[place + 1]])
            for place, part in enumerate(self.parts)
        ]


@dataclass(frozen=True, slots=True)
class TableMessages:
    """For each of `tables` its reports, then the ones of each of its `bits`."""

    tables: int
    bits: int

    def row_ranges(self, matrix: Matrix) -> Counts:
        base, ones = self._parts(matrix)
        high = (base + np.maximum(ones, 0).sum(axis=2)).max(axis=1)
        low = (base + np.minimum(ones, 0).sum(axis=2)).min(axis=1)
        spread: Counts = high - low
        return spread

    def l1_bound(self, matrix: Matrix) -> int:
        """The bound from one table to another through no ones, or of all bits in one table."""
        base, ones = self._parts(matrix)
        every = np.abs(ones).sum(axis=(0, 2))
        least, most = base.min(axis=1), base.max(axis=1)
        apart = int((most - least).sum())
        two = int(np.sort(every)[-2:].sum()) if len(every) > 1 else 0
        return max(int(every.max()), apart + two)

    def _parts(self, matrix: Matrix) -> tuple[Matrix, Matrix]:
        tables = matrix.reshape(len(matrix), self.tables, self.bits + 1)
        return tables[:, :, 0], tables[:, :, 1:]


@dataclass(frozen=True, slots=True, eq=False)
class LabelSpace:
    """A mechanism with labels, for a matrix over the tally made from one over the labels."""

    messages: MessageSpace
    rows: Matrix

    def row_ranges(self, matrix: Matrix) -> Counts:
        return self.messages.row_ranges(matrix)

    def l1_bound(self, matrix: Matrix) -> int:  # noqa: ARG002  (that of the labels is enough)
        """The bound from the move of all label counts together."""
        columns = int(np.abs(self.rows).sum(axis=0).max())
        return columns * self.messages.label_sensitivity.l1


def tally_space_of(mechanism: Mechanism) -> TallySpace:
    """The space of a mechanism without labels. Raises ParameterError for an unknown one."""
    structure = mechanism.structure
    match structure:
        case Window() if mechanism.tally_size == 1:
            return OneBitMessages()
        case Window():
            return OneOfMessages()
        case OneOfParts(parts=(IndependentBits(bits=bits),), copies=tables):
            return TableMessages(tables, bits)
        case OneOfParts() if _all_subsets(structure):
            return PartMessages(structure.parts)  # type: ignore[arg-type]  # just looked at
        case OneOfParts() if _symbols(structure) == mechanism.tally_size:
            return OneOfMessages()
    raise ParameterError(
        f"central releases are not available for {mechanism.id}: read its estimates instead"
    )


def check_releasable(mechanism: Mechanism) -> None:
    """Raises ParameterError for a mechanism that no kind of release reads."""
    if mechanism.structure is None or estimand_of(mechanism) == LABELS:
        message_space_of(mechanism)
    else:
        tally_space_of(mechanism)


def _all_subsets(structure: OneOfParts) -> bool:
    return all(isinstance(part, Subset) for part in structure.parts)


def _symbols(structure: MessageStructure) -> int | None:
    """The number of possible messages if a message is one symbol, else None."""
    if isinstance(structure, OneOf):
        return structure.codes
    if isinstance(structure, OneOfParts):
        each = [_symbols(part) for part in structure.parts]
        return None if None in each else structure.copies * sum(filter(None, each))
    return None


def l1_of(space: TallySpace, matrix: Matrix) -> int:
    """The most that one replaced report moves all rows, added up; exact for up to 12 short rows."""
    rows, columns = matrix.shape
    if rows == 1:
        return int(space.row_ranges(matrix)[0])
    bound = min(space.l1_bound(matrix), int(space.row_ranges(matrix).sum()))
    if rows > _MOST_SIGNED_ROWS or columns << (rows - 1) > _MOST_SIGNED:
        return bound
    signs = np.array([(1, *rest) for rest in product((1, -1), repeat=rows - 1)])
    return int(space.row_ranges(signs @ matrix).max())


def _largest(rows: Matrix, held: int) -> Counts:
    """The sum of the `held` largest of each row."""
    ordered = np.sort(rows, axis=1)[:, rows.shape[1] - held :]
    sums: Counts = ordered.sum(axis=1)
    return sums
