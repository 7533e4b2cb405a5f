"""Bit flipping on some buckets: the reports about each bucket, and how many of them say yes.

    f̂_j = (o_j/n_j − q)/(p − q)        n_j: reports about bucket j, o_j: those that say yes

Counted and read like the bits of `rr-sampled/1`: given the n_j, which are drawn without the answer,
the o_j are those of n_j people. A bucket without reports has no estimate, so the shares need not
add up to 1: they are presented clipped. Tally: the D numbers n_j, then the D numbers o_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deniable_estimators.inference.sampling import Generator, people_by_value, senders
from deniable_estimators.mechanisms.rr_sampled import SampledEstimator

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Counts


@dataclass(frozen=True, slots=True)
class BucketFlipsEstimator(SampledEstimator):
    """The estimator of "dbitflip/1"."""

    def sample_tally(self, values: Counts, people: Counts, draws: Generator) -> Counts:
        """Draw t places per person by Floyd's algorithm; the true one says yes with p, others q."""
        d, t = (
            self.mechanism.domain_size,
            int(self.mechanism.sampling_fraction * self.mechanism.domain_size),
        )
        tally = np.zeros(2 * d, dtype=np.int64)
        for truth in senders(values, people, width=d):
            rows, chosen = np.arange(len(truth)), np.zeros((len(truth), d), dtype=bool)
            for last in range(d - t, d):
                item = draws.integers(0, last + 1, len(truth))
                chosen[rows, np.where(chosen[rows, item], last, item)] = True
            reports_of_bucket = chosen.sum(axis=0)
            own = people_by_value(truth, chosen[rows, truth].astype(np.int64), d)
            ones = draws.binomial(own, float(self.mechanism.p))
            ones += draws.binomial(reports_of_bucket - own, float(self.mechanism.q))
            tally += np.concatenate([reports_of_bucket, ones])
        return tally
