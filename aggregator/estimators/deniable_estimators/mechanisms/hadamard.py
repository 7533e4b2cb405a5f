"""Hadamard response of one bit: supports from signed counts by a fast Walsh–Hadamard transform.

    s_j = reports of (j, 0) − reports of (j, 1),   s_0 = n
    c_v = ½·Σ_j s_j (−1)^(parity of j AND v)       f̂_v = (c_v/n − q)/(p − q)

c_v counts the reports that support v: those of j whose parity is that of j AND v. j = 0 is never
drawn; ½n in its place makes the sum over the signs a count. All numbers are integers, so c_v is
exact. It is binomial like any count of supports, so the intervals are exact, too. Over all K codes,
used or not, the estimates add up to exactly 1. Tally: for j = 1 … K − 1 the reports of (j, 0), then
(j, 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from deniable_estimators.inference.label_sums import MessageSums
from deniable_estimators.inference.message_laws import TwoLevelLaw, two_level_law
from deniable_estimators.inference.sampling import Generator, senders
from deniable_estimators.inference.walsh import walsh

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Counts, Floats
    from deniable_shared.mechanisms.protocols import Mechanism


@dataclass(frozen=True, slots=True)
class HadamardEstimator(MessageSums):
    """The estimator of "hadamard/1". Its tally is the histogram of the payloads."""

    default_projection: ClassVar[str] = "simplex"
    estimand: ClassVar[str] = "labels"
    mechanism: Mechanism
    repeat: str = "once"

    def message_law(self) -> TwoLevelLaw:
        """The law of messages, computed by Walsh–Hadamard transform."""
        d, messages = self.mechanism.domain_size, self.mechanism.tally_size
        k = 1 + messages // 2

        def forward(x: Floats) -> Floats:
            signs = walsh(np.concatenate([x, np.zeros(k - d)]))[1:]
            sums: Floats = (x.sum() + np.stack([signs, -signs], axis=1).reshape(-1)) / 2
            return sums

        def backward(scores: Floats) -> Floats:
            signed = np.zeros((*scores.shape[:-1], k))
            signed[..., 1:] = scores[..., 0::2] - scores[..., 1::2]
            every = scores.sum(axis=-1, keepdims=True)
            sums: Floats = (every + walsh(signed)[..., :d]) / 2
            return sums

        return two_level_law(self.mechanism, k - 1, messages, (forward, backward))

    def supports(self, tallies: Counts) -> Counts:
        return self.code_supports(tallies)[..., : self.mechanism.domain_size]

    def sample_tally(self, values: Counts, people: Counts, draws: Generator) -> Counts:
        """Draw a coefficient for each person, and its parity with noise."""
        coefficients = self.mechanism.public_outcomes
        tally = np.zeros(self.mechanism.tally_size, dtype=np.int64)
        for truth in senders(values, people):
            coefficient = draws.integers(1, coefficients + 1, len(truth))
            parities = np.bitwise_count(coefficient & truth) & 1
            parities ^= draws.random(len(truth)) >= float(self.mechanism.p)
            tally += np.bincount(2 * (coefficient - 1) + parities, minlength=len(tally))
        return tally

    def code_supports(self, tallies: Counts) -> Counts:
        """Return supports of all K codes; those from `domain_size` on have no label."""
        reports = tallies.sum(axis=-1, keepdims=True)
        signed = tallies[..., 0::2] - tallies[..., 1::2]
        return walsh(np.concatenate([reports, signed], axis=-1)) >> 1

    def held(self, weights: Counts) -> Counts:
        """Σ of the weights of the codes that each message supports: int64[…, tally_size], exact."""
        codes = 1 + self.mechanism.tally_size // 2
        unused = np.zeros((*weights.shape[:-1], codes - weights.shape[-1]), dtype=np.int64)
        signed = walsh(np.concatenate([weights, unused], axis=-1))
        every, signs = signed[..., :1], signed[..., 1:]
        pairs = np.stack([every + signs, every - signs], axis=-1) >> 1
        return pairs.reshape(*weights.shape[:-1], self.mechanism.tally_size)
