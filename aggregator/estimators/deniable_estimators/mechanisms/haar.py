"""Haar: the difference of the halves of each node, and any functional from that.

    Σ_v a_v·f_v = (Σ a)/K + Σ_nodes g·(f_L − f_R)        g = (Σ_L a − Σ_R a)/s, s values, K = 2^h

A level's differences are the Walsh–Hadamard transform of (even − odd), over n_l·(p − q). A report
of a level has the score ± Σ_k ±g_k/(p − q), of mean square Σ g²/(p − q)² for every value. Codes
behind the last value have no people. There a is as at the last value: a constant costs nothing, and
the estimates of all values add up to 1. Tally: the histogram of the payloads. Source:
docs/mathematics/numbers.md, Haar contrasts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deniable_estimators.inference.hierarchy import HierarchyEstimator
from deniable_estimators.inference.payload_arrays import (
    Payloads,
    checked_histogram,
    checked_payloads,
    first_round_as,
)
from deniable_estimators.inference.public_scores import PublicScores, ceilings_of
from deniable_estimators.inference.sampling import Generator, senders
from deniable_estimators.inference.strata import Strata, Stratum
from deniable_estimators.inference.support_counts import histogram
from deniable_estimators.inference.walsh import walsh
from deniable_shared.mechanisms.haar import HaarResponse

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Counts, Floats

_HALVES = 2


@dataclass(frozen=True, slots=True)
class HaarEstimator(HierarchyEstimator):
    """The estimator of "haar/1"."""

    @property
    def _first_round(self) -> HaarResponse:
        return first_round_as(self.mechanism, HaarResponse, HaarResponse.id)

    @property
    def _fan_out(self) -> int:
        return _HALVES

    def tally(self, payloads: Payloads) -> Counts:
        rows = checked_payloads(payloads, self.mechanism.payload_size)
        return histogram(rows, self.mechanism.tally_size)

    def sample_tally(self, values: Counts, people: Counts, draws: Generator) -> Counts:
        """Draw a level for each person, one of its coefficients, and its parity with noise."""
        form = self._first_round
        tally = np.zeros(self.mechanism.tally_size, dtype=np.int64)
        for truth in senders(values, people):
            level = draws.integers(0, form.levels, len(truth))
            coefficient = draws.integers(0, 1 << level)
            parities = (
                np.bitwise_count((2 * coefficient + 1) & truth >> (form.levels - 1 - level)) & 1
            )
            parities ^= draws.random(len(truth)) >= float(self.mechanism.p)
            place = (1 << level) - 1 + coefficient
            tally += np.bincount(2 * place + parities, minlength=len(tally))
        return tally

    def checked(self, tally: Counts, n: int) -> tuple[Counts, int]:
        return checked_histogram(tally, n, self.mechanism.tally_size)

    def public_scores(self, rows: Floats) -> PublicScores:
        """See `PublicSums`: each level has h times the weight of its reports."""
        form = self._first_round
        gap, levels = float(self.mechanism.p - self.mechanism.q), form.levels
        padded, offset = self._padded(rows)
        signed, spread = [], np.zeros(len(rows))
        for level in range(levels):
            parts = _parts(padded, level)
            signed.append(levels / gap * walsh(parts))
            spread += levels / gap**2 * (parts**2).sum(axis=1)
        every = np.concatenate(signed, axis=1)
        weights = np.stack([every, -every], axis=2).reshape(len(rows), -1)
        moments = spread[:, None] + offset[:, None] * (2 * rows - offset[:, None])
        return PublicScores.of_messages(weights, offset, ceilings_of(rows, moments))

    def _padded(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return the rows with codes behind the last value, and the mean of all."""
        codes = 1 << self._first_round.levels
        padded = np.pad(rows, ((0, 0), (0, codes - rows.shape[1])), mode="edge")
        return padded, padded.mean(axis=1)

    def _strata(self, rows: Floats, counts: Counts, n: int) -> Strata:
        form = self._first_round
        gap, own = float(self.mechanism.p - self.mechanism.q), float(form.p - form.q)
        padded, mean = self._padded(rows)
        reports, levels = [], []
        for level in range(form.levels):
            first, nodes = (1 << level) - 1, 1 << level
            even, odd = counts.reshape(-1, 2)[first : first + nodes].T
            reports.append(int(even.sum() + odd.sum()))
            differences = walsh((even - odd).astype(np.float64)) / (max(reports[-1], 1) * gap)
            levels.append(_stratum(_parts(padded, level), differences, gap, own))
        return Strata(mean, np.array(reports), tuple(levels))


def _parts(padded: Floats, level: int) -> Floats:
    """Return g of each node of a level."""
    nodes = 1 << level
    halves = padded.reshape(len(padded), nodes, _HALVES, -1).sum(axis=3)
    parts: Floats = (halves[:, :, 0] - halves[:, :, 1]) * (nodes / padded.shape[1])
    return parts


def _stratum(parts: Floats, differences: Floats, gap: float, own: float) -> Stratum:
    squares = (parts**2).sum(axis=1)
    reach = np.abs(parts).sum(axis=1) / gap
    return Stratum(
        mean=parts @ differences,
        square=squares / gap**2,
        permanent_square=squares / own**2,
        low=-reach,
        high=reach,
        least=squares / gap**2 - (parts**2).max(axis=1),
        pull=2 * reach,
    )
