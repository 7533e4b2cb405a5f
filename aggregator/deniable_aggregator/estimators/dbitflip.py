"""Bit flipping on some buckets: how often each was told of, and how often as that of the answer.

    f̂_j = (o_j/n_j − q)/(p − q)        n_j: reports that tell of bucket j, o_j: those that say yes

Counted and read as the bits of `rr-sampled/1`: given the n_j, which are tossed without the answer,
the o_j are those of n_j people. A bucket nobody told of has no estimate, so nothing makes the
shares add up to 1: they are presented clipped. Tally: the D numbers n_j, then the D numbers o_j.
"""

from __future__ import annotations

from dataclasses import dataclass

from deniable_aggregator.estimators.rr_sampled import SampledEstimator

__all__ = ["BucketFlipsEstimator"]


@dataclass(frozen=True, slots=True)
class BucketFlipsEstimator(SampledEstimator):
    """The estimator of "dbitflip/1"."""
