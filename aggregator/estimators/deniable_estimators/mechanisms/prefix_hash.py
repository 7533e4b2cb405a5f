"""Prefix hashing: how many reports of a group and table support each of its K codes.

    c_v = Σ_j Σ_y N(j, y)·1[y = <j, v>] = (1/g)·Σ_k F(k)·ω^(−<k, v>),   ω = e^(2πi/g)
    F(aj) = Σ_y N(j, y)·ω^(ay) for a = 1 … g − 1,   F(0) = n

N counts messages; the aj run once through all k ≠ 0. So the supports of all K codes are one Fourier
transform over Z_g^m, with K·log K steps for every n. They must be integers: the rounding error is
checked, and more than a tiny one is refused. Tally: the histogram of the payloads.

There are no labels: `estimate` is empty. The search in `inference.heavy_hitters` and the counts of
a given list use `group`.

Source: docs/mathematics/texts.md, One transform for all codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from deniable_estimators.inference.payload_arrays import first_round_as
from deniable_estimators.inference.protocols import TableGroup
from deniable_estimators.inference.sampling import Generator, different_cells, senders
from deniable_estimators.inference.support_counts import HistogramEstimator
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.prefix_hash import PrefixHash, entry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_estimators.inference.channel import Counts
    from deniable_shared.mechanisms.protocols import Mechanism

_ROUNDING = 0.25  # of a report: counts must be integers up to this error


@dataclass(frozen=True, slots=True)
class PrefixHashEstimator(HistogramEstimator):
    """The estimator of "prefix-hash/1". Its tally is the histogram of the payloads."""

    default_projection: ClassVar[str] = "clip"
    estimand: ClassVar[str] = "texts"
    mechanism: Mechanism
    repeat: str = "once"

    @property
    def coding(self) -> PrefixHash:
        """How texts become codes."""
        return first_round_as(self.mechanism, PrefixHash, PrefixHash.id)

    def supports(self, tallies: Counts) -> Counts:
        return tallies[..., :0]

    def group(self, tally: Counts, group: int) -> TableGroup:
        """Return the reports of one group, by table and code."""
        coding = self.coding
        tables = coding.tables_of(group)
        every = tally.reshape(coding.all_tables, coding.points, coding.base)[
            tables.start : tables.stop
        ]
        supports = np.stack([_supports(each, coding.base, coding.digits) for each in every])
        return TableGroup(every.sum(axis=(1, 2)), supports)

    def counting(self) -> Counts:
        """See `PublicTexts`."""
        return np.ones(self.coding.points * self.coding.base, dtype=np.int64)

    def supporting(self, codes: Counts) -> Counts:
        """See `PublicTexts`: for each point the sum that the code has there."""
        coding, points = self.coding, np.arange(self.coding.points)
        every = [sums(coding, points, np.full(len(points), code)) for code in codes]
        true = np.array(every, dtype=np.int64).reshape(len(codes), len(points), 1)
        held = (true == np.arange(coding.base)).astype(np.int64)
        return np.asarray(held.reshape(len(codes), coding.points * coding.base))

    @property
    def agreeing(self) -> float:
        """1/K, over the choice of tables."""
        return 1 / self.coding.codes

    @property
    def inside(self) -> float:
        """The chance that a report of a table supports a given other code of it."""
        coding, p = self.coding, float(self.mechanism.p)
        equal = (coding.codes / coding.base - 1) / (coding.codes - 1)
        return equal * p + (1 - equal) * (1 - p) / (coding.base - 1)

    def codes(self, group: int, texts: Sequence[bytes]) -> Counts:
        """Return int64[tables of the group, 1, texts]: the code of each text's prefix."""
        coding, tables = self.coding, self.coding.tables_of(group)
        cut = [text[: coding.length(group)] for text in texts]
        codes = np.zeros((len(tables), len(cut)), dtype=np.int64)
        for place in range(max(map(len, cut), default=0)):
            there = np.array([len(text) > place for text in cut])
            given = np.array([text[place] for text in cut if len(text) > place])
            distinct, where = np.unique(given, return_inverse=True)
            for row, table in enumerate(tables):
                added = [entry(table, place, byte) % coding.codes for byte in distinct.tolist()]
                codes[row, there] += np.array(added, dtype=np.int64)[where]
        return (codes % coding.codes)[:, None, :]

    def sample_texts(self, texts: Sequence[bytes], people: Counts, draws: Generator) -> Counts:
        """Draw a table and a point for each person, and the value there with noise."""
        coding, p = self.coding, float(self.mechanism.p)
        codes = np.concatenate([self.codes(group, texts)[:, 0] for group in range(coding.groups)])
        tally = np.zeros(coding.tally_size, dtype=np.int64)
        for truth in senders(np.arange(len(texts)), people):
            position = draws.integers(0, coding.public_outcomes, len(truth))
            table, point = np.divmod(position, coding.points)
            cells = sums(coding, point, codes[table, truth])
            lies = draws.random(len(truth)) >= p
            cells = different_cells(cells, lies, coding.base, draws)
            tally += np.bincount(position * coding.base + cells, minlength=len(tally))
        return tally


def sums(coding: PrefixHash, point: Counts, code: Counts) -> Counts:
    """Return <j, code> mod g over the digits: vectors have a leading 1, the shortest come first."""
    sizes = coding.base ** np.arange(coding.digits, dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    place = np.searchsorted(starts, point, side="right") - 1
    vector = sizes[place] + point - starts[place]
    total = np.zeros(len(point), dtype=np.int64)
    for size in sizes:
        total += (vector // size % coding.base) * (code // size % coding.base)
    return np.asarray(total % coding.base)


def _supports(messages: Counts, base: int, digits: int) -> Counts:
    """Return c_v of all codes from the messages, int64[M, g], of one table."""
    spectrum = np.fft.fft(messages, axis=1).conj()  # Σ_y N·ω^(+ay)
    over = np.empty(base**digits, dtype=np.complex128)
    over[0] = messages.sum()
    over[_multiples(base, digits)] = spectrum[:, 1:]
    sums = np.fft.fftn(over.reshape((base,) * digits)).real.reshape(-1) / base
    counts = np.rint(sums)
    if len(sums) and np.abs(sums - counts).max() > _ROUNDING:
        raise ParameterError("tally is too large for exact counts: read fewer epochs at once")
    return counts.astype(np.int64)


@lru_cache(maxsize=4)
def _multiples(base: int, digits: int) -> npt.NDArray[np.int64]:
    """Return int64[M, g − 1]: the number of the vector a·j, for each point j and a = 1 … g − 1."""
    sizes = base ** np.arange(digits, dtype=np.int64)
    vectors = np.concatenate([np.arange(size, 2 * size) for size in sizes.tolist()])
    scaled = np.zeros((len(vectors), base - 1), dtype=np.int64)
    for size in sizes:
        digit = vectors // size % base
        scaled += digit[:, None] * np.arange(1, base) % base * size
    scaled.flags.writeable = False
    return scaled
