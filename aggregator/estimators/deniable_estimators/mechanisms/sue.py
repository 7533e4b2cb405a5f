"""Symmetric unary encoding: every frequency, rare or not, has the same variance.

n·Var(f̂_v) = 1/(4 sinh²(ε/4)), given who answered; the law of all counts is in `unary`
"""

from __future__ import annotations

from dataclasses import dataclass

from deniable_estimators.mechanisms.unary import UnaryEstimator


@dataclass(frozen=True, slots=True)
class SymmetricUnaryEstimator(UnaryEstimator):
    """The estimator of "sue/1". Its tally counts ones, choice by choice."""
