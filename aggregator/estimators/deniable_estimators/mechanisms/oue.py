"""Optimized unary encoding: rare choices have the least variance, common ones a little more.

    n·Var(f̂_v) = 4E/(E − 1)² + f_v, given who answered; the law of all counts is in `unary`

For all answers, the number of ones in an honest report is the sum of a fair coin and d − 1 coins of
q. So the sum of a tally, over n reports, has mean n(½ + (d − 1)q) and variance n(¼ + (d − 1)q(1 −
q)). A tally far from it contains fake reports.
"""

from __future__ import annotations

from dataclasses import dataclass

from deniable_estimators.mechanisms.unary import UnaryEstimator


@dataclass(frozen=True, slots=True)
class OptimizedUnaryEstimator(UnaryEstimator):
    """The estimator of "oue/1". Its tally counts ones, choice by choice."""
