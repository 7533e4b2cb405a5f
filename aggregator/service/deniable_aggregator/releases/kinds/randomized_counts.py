"""A collection's raw tally as counts that linear queries can be asked of: `queries.CountData`.

    raw answer of f    A·c − ⌊n·q·Σ_v f(v)⌉ for a 0/1 query A of f, c how many reports support each
                       label; its mean is n·(p − q)·f(truth) but for at most half a raw unit
    one report         moves it by A·(s(y) − s(y')) for possible messages y, y', Δ for short: 1 of
                       grr/1 (0 for a query of all labels or none), more where a report supports
                       several labels. What any set of labels is moved by bounds all queries
    τ                  |Q| fixed queries are all within τ of the truth except with prob. β: the
                       `deviation` of label counts, and the rounding, over n

The offset is a function of n and of the query, so it moves with no report. Nothing is projected:
an answer may be negative or above n·(p − q). Only answers that are one label of several have
counts that belong to one distribution; what reports say of them may be several labels each.
Source: docs/mathematics/releases-over-sums.md, Label counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.releases.kinds.label_counts import LabelCounts
from deniable_aggregator.releases.kinds.message_spaces import message_space_of
from deniable_shared.domains import Bits
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from fractions import Fraction

    from deniable_aggregator.releases.kinds.contract import Counts, ReleaseContext, Tallies
    from deniable_shared.mechanisms.protocols import Mechanism

_AT_ONCE = 1 << 22  # numbers of a block of queries
_LARGEST_ROWS = (1 << 31) - 1  # times the rows of a small database stays exact in a float


@dataclass(frozen=True, slots=True, eq=False)
class RandomizedCounts:
    """n reports, by how many of them support each label."""

    mechanism: Mechanism
    rows: int
    counts: Counts

    @classmethod
    def of(cls, context: ReleaseContext, tallies: Tallies) -> RandomizedCounts:
        return cls(context.mechanism, context.n, LabelCounts.of(context)(tallies.counts))

    @property
    def domain(self) -> int:
        return self.mechanism.domain_size

    @property
    def gain(self) -> Fraction:
        return self.mechanism.p - self.mechanism.q

    @property
    def fingerprint(self) -> bytes:
        return sha256(b"%d\n" % self.rows + self.counts.astype("<i8").tobytes()).digest()

    def observe(self, queries: Counts) -> Counts:
        offsets = [self.offset(total) for total in queries.sum(axis=1).tolist()]
        observed: Counts = queries @ self.counts - np.array(offsets, dtype=np.int64)
        return observed

    def offset(self, total: int) -> int:
        """The mean answer to a query with this sum of entries if no person has its labels."""
        q = self.rows * self.mechanism.q * total
        return (2 * q.numerator + q.denominator) // (2 * q.denominator)

    def sensitivity(self, queries: Counts) -> int:
        return workload_sensitivity(self.mechanism, queries)


def workload_sensitivity(mechanism: Mechanism, queries: Counts) -> int:
    """Δ: how far one report moves the raw answer of any of these 0/1 queries."""
    messages, widest = message_space_of(mechanism), 0
    height = max(1, _AT_ONCE // mechanism.tally_size)
    for start in range(0, len(queries), height):
        if widest == messages.label_sensitivity.sets:
            break
        rows = messages.tally_matrix(queries[start : start + height])
        widest = max(widest, int(messages.row_ranges(rows).max()))
    return widest


def check_joint(mechanism: str, context: ReleaseContext) -> None:
    """Raises ParameterError unless answers are one label each and n reports stay exact."""
    if isinstance(context.domain, Bits):
        raise ParameterError(
            f"{mechanism} needs answers that are one label of several. Bits are counted singly, "
            "so which of them occur together is not known: use histogram, or collect a "
            "record"
        )
    if message_space_of(context.mechanism).sampling_fraction < 1:
        raise ParameterError(
            f"{mechanism} needs reports that contain all labels, but those of "
            f"{context.mechanism.id} contain only some: use histogram or shares"
        )
    check_rows(mechanism, context)


def check_rows(mechanism: str, context: ReleaseContext) -> None:
    """Raises ParameterError for more reports than stay exact."""
    if context.n > _LARGEST_ROWS:
        raise ParameterError(
            f"{mechanism} reads at most {_LARGEST_ROWS:,} reports, these epochs have "
            f"{context.n:,}: release fewer epochs at a time"
        )


def local_error(context: ReleaseContext, *, queries: int, beta: float, moves: int) -> float:
    """τ as a share, for `queries` queries that one report moves by `moves`; may be above 1."""
    far = LabelCounts.of(context).deviation(moves, sums=queries, beta=beta)
    return (far + 1 / (2 * float(context.mechanism.p - context.mechanism.q))) / context.n
