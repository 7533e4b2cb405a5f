"""Fourier marginals: how often each parity is even and odd, and the tables that follow.

    ĉ_α = (even_α − odd_α)/(n_α·(p − q))        n_α reports about the attributes α
    P̂[γ] = 2^(−k)·Σ_(α ⊆ β) (−1)^(parity of γ in α)·ĉ_α,   ĉ_∅ = 1

Dividing by the received n_α (Hájek) is never worse than by the expected n/C. Given the n_α, the ĉ_α
are independent. A table with a parity without reports has no estimate. In T epochs the covariance
is at most that of `inference.pooled_tables`. For parities V_1 = 1/(p − q)² − c². V_∞ = 1/(P − Q)² −
c² for the permanent answer, 1 − c² for the value. Tally: the 2C numbers (α, bit).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain as joined
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from deniable_estimators.inference.payload_arrays import (
    first_round_as,
)
from deniable_estimators.inference.public_scores import Ceiling, PublicScores
from deniable_estimators.inference.sampling import Generator, senders
from deniable_estimators.inference.support_counts import HistogramEstimator
from deniable_estimators.inference.tables import OneWayTables
from deniable_estimators.inference.walsh import walsh
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.fourier import FourierMarginals, place_of
from deniable_shared.mechanisms.memoization import MemoizedChain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_estimators.inference.channel import Counts, Floats
    from deniable_shared.mechanisms.protocols import Mechanism


@dataclass(frozen=True, slots=True)
class FourierEstimator(OneWayTables, HistogramEstimator):
    """The estimator of "fourier/1"."""

    default_projection: ClassVar[str] = "clip"
    estimand: ClassVar[str] = "tables"
    mechanism: Mechanism
    repeat: str = "once"

    @property
    def _first_round(self) -> FourierMarginals:
        return first_round_as(self.mechanism, FourierMarginals, FourierMarginals.id)

    @property
    def radices(self) -> tuple[int, ...]:
        """Two labels per attribute."""
        return self._first_round.radices

    def sample_tally(self, values: Counts, people: Counts, draws: Generator) -> Counts:
        """Draw a set of attributes for each person, and its parity with noise."""
        form = self._first_round
        last = form.attributes - 1
        sets = (some for k in range(1, form.ways + 1) for some in combinations(range(last + 1), k))
        masks = np.array(
            [sum(1 << (last - each) for each in some) for some in sets], dtype=np.uint64
        )
        tally = np.zeros(self.mechanism.tally_size, dtype=np.int64)
        for truth in senders(values, people):
            place = draws.integers(0, len(masks), len(truth))
            parities = np.bitwise_count(masks[place] & truth.view(np.uint64)) & 1
            parities ^= draws.random(len(truth)) >= float(self.mechanism.p)
            tally += np.bincount(2 * place + parities, minlength=len(tally))
        return tally

    def check(self, axes: Sequence[int]) -> None:
        """Raises ParameterError for more than `ways` attributes."""
        if len(axes) > self._first_round.ways:
            raise ParameterError(
                f"a table must be of at most {self._first_round.ways} attributes, got "
                f"{len(axes)}: that is the ways of this fourier/1"
            )

    def public_tables(self, axes: Sequence[int]) -> PublicScores:
        """See `PublicTables`: each parity has C times the weight of its reports."""
        form = self._first_round
        self.check(axes)
        places = [place_of(sorted(subset), form.attributes) for subset in _subsets(axes)]
        sets, gap = self.mechanism.tally_size // 2, float(self.mechanism.p - self.mechanism.q)
        signs = walsh(np.eye(len(places) + 1))[:, 1:] / (len(places) + 1)
        weights = np.zeros((len(places) + 1, sets, 2))
        weights[:, places, 0], weights[:, places, 1] = signs * sets / gap, -signs * sets / gap
        offset = 1 / (len(places) + 1)
        spread = sets * len(places) * (offset / gap) ** 2 - offset**2
        ceiling = Ceiling.between(spread, spread + 2 * offset)
        offsets = np.full(len(weights), offset)
        every = weights.reshape(len(weights), -1)
        return PublicScores.of_messages(every, offsets, [ceiling] * len(every))

    def public_covariance(
        self, axes: Sequence[int], frequencies: Floats, *, permanent: bool = False
    ) -> Floats:
        """See `PublicTables`: a report is about one parity of C, with weight C."""
        cells, sets = 1 << len(axes), self.mechanism.tally_size // 2
        law = self._first_round if permanent else self.mechanism
        signs = walsh(np.eye(cells))[:, 1:] / (cells * float(law.p - law.q))
        off = frequencies - 1 / cells
        covariance: Floats = sets * signs @ signs.T - np.outer(off, off)
        return covariance

    def source(self, tally: Counts, n: int, axes: Sequence[int]) -> Parities:
        """Return the table of up to `ways` attributes."""
        counts, _ = self.checked(tally, n)
        form = self._first_round
        self.check(axes)
        places = [place_of(sorted(subset), form.attributes) for subset in _subsets(axes)]
        even_and_odd = counts.reshape(-1, 2)[places]
        gap = float(self.mechanism.p - self.mechanism.q)
        chained = isinstance(self.mechanism, MemoizedChain)
        return Parities(
            reports=even_and_odd.sum(axis=1),
            signed=even_and_odd[:, 0] - even_and_odd[:, 1],
            gap=gap,
            shared_gap=float(form.p - form.q) if chained else 1.0,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Parities:
    """The parities of the 2^k − 1 non-empty subsets of k attributes, by the subset as a number.

    In that number, and in that of a cell, the first attribute is the most significant bit.
    `shared_gap` is p − q of what a device's reports share.
    """

    reports: Counts
    signed: Counts
    gap: float
    shared_gap: float

    @property
    def n(self) -> int:
        """The number of reports about one of these parities."""
        return int(self.reports.sum())

    @property
    def cells(self) -> int:
        """2^k."""
        return len(self.reports) + 1

    @property
    def coefficients(self) -> Floats:
        """ĉ_α; NaN without reports."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.signed / (self.reports * self.gap)

    @property
    def frequencies(self) -> Floats:
        """Raw and unbiased; they add up to 1."""
        return walsh(np.concatenate([[1.0], self.coefficients])) / self.cells

    @property
    def reach(self) -> float:
        """The most that one report moves a frequency."""
        fewest = int(self.reports.min())
        return 2 / (self.gap * fewest * self.cells) if fewest else math.nan

    def variances(self, frequencies: Floats, epochs: int) -> Floats:
        """Return the variance of every cell, the same for all: each parity has the same weight."""
        every = self._spreads(frequencies, epochs).sum() / self.cells**2
        return np.full(self.cells, every)

    def covariance(self, frequencies: Floats, epochs: int) -> Floats:
        """Return the covariance of all cells together."""
        signs = walsh(np.eye(self.cells))[1:] / self.cells
        every: Floats = signs.T @ (self._spreads(frequencies, epochs)[:, None] * signs)
        return every

    def pulls(self, frequencies: Floats, epochs: int) -> tuple[Floats, Floats]:
        """The skew of a parity is at most twice its mean, on either side."""
        spreads = self._spreads(frequencies, epochs)
        mean = (spreads / np.maximum(self.reports, 1)).sum() / spreads.sum()
        pull = np.full(self.cells, 2 * min(epochs, self.n) * mean / self.cells)
        return pull, pull

    def _spreads(self, frequencies: Floats, epochs: int) -> Floats:
        """Return the variance of each ĉ_α."""
        return self._of_each(np.clip(walsh(frequencies)[1:], -1.0, 1.0) ** 2, epochs)

    def _of_each(self, squares: Floats, epochs: int) -> Floats:
        """Return the variance of each ĉ_α by the square of its mean."""
        once = 1 / self.gap**2 - squares
        shared = 1 / self.shared_gap**2 - squares
        with np.errstate(divide="ignore", invalid="ignore"):
            every: Floats = (once + (epochs - 1) * shared) / self.reports
        return np.where(self.reports > 0, every, math.nan)


def _subsets(axes: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the non-empty subsets by number, the first attribute the most significant bit."""
    last = len(axes) - 1
    every = joined.from_iterable(combinations(range(len(axes)), k) for k in range(1, len(axes) + 1))
    numbered = sorted((sum(1 << (last - at) for at in subset), subset) for subset in every)
    return [tuple(axes[at] for at in subset) for _, subset in numbered]
