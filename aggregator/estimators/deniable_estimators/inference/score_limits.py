"""Limits of an estimate from the variance of its scores: one rule for every sum of many reports.

An estimate θ̂ is a sum of independent pieces with total variance V. Each pulls it at most K upwards
or downwards. A limit is at the distance D at which θ̂ just has the requested tail, with its
quantile z:

    D² = z²·V + (2z² + 1)/3·K·D

V + K·D bounds the variance at the limit: unseen values may lie at the far end. (z² − 1)/3·K·D is
the largest skew of such pieces, by Cornish and Fisher. For many reports D is z·√V. For few it is
(2z² + 1)/3·K, which is further than a single report reaches. The transition is continuous. Each
side has its own K: there is little room towards the end that θ̂ is close to.

Coverage is measured, not proved: tests/statistical/test_intervals.py, by exact sums for few
messages.
Sources: Wilson 1927; Johnson 1978; Hall 1992; docs/mathematics/intervals.md, Limits of a sum.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Floats


def limits(
    values: Floats, variances: Floats, below: Floats, above: Floats, tail: float
) -> tuple[Floats, Floats]:
    """Return lower and upper limits, each missed with a chance of about `tail`.

    `below` and `above` are K of the module, in the unit of the values.
    """
    return values - distances(variances, below, tail), values + distances(variances, above, tail)


def distances(variances: Floats, pulls: Floats, tail: float) -> Floats:
    """Return D of the module."""
    z = -NormalDist().inv_cdf(tail)
    half = (2 * z * z + 1) / 6 * pulls
    return np.asarray(half + np.sqrt(half * half + z * z * variances))
