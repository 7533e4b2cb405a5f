"""Optimized unary encoding: rare choices have the least variance, common ones a little more.

    n·Var(f̂_v) = 4E/(E − 1)² + f_v, given who answered; the law of all counts is in `unary`

The ones of one honest report number a fair coin and d − 1 coins of q, whatever people answer. So
the sum of a tally, over n reports, has mean n(½ + (d − 1)q) and variance n(¼ + (d − 1)q(1 − q)): a
tally far from it holds reports that were made up.
"""

from __future__ import annotations

from dataclasses import dataclass

from deniable_estimators.mechanisms.unary import UnaryEstimator


@dataclass(frozen=True, slots=True)
class OptimizedUnaryEstimator(UnaryEstimator):
    """The estimator of "oue/1". Its tally counts ones, choice by choice."""
