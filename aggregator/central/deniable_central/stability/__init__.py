"""Stable answers, which no single row decides: released unchanged, or not at all.

    stable_median, stable_quantile, stable_mode, stable_argmax    sensitivity does not matter
    propose_test_release                                          the same for your own answer
    sample_aggregate                                              any query, if blocks of rows agree
    subsample_aggregate                                           the notes' form, rarely useful

Each function is one release. `StabilityTest`, `SampleAggregate` and `Subsample` are the mechanisms
without data: `guarantee` is the cost, `pmf(proposal)` the certified law. `distance_for`,
`blocks_for` and `plan` say in advance what an answer needs.
"""

from __future__ import annotations

from deniable_central.errors import DeltaError, RowsError
from deniable_central.stability.blocks import Blocks
from deniable_central.stability.guarantee_check import GuaranteeViolation, find_violation
from deniable_central.stability.proposals import (
    Proposal,
    propose_argmax,
    propose_mode,
    propose_quantile,
)
from deniable_central.stability.sample_aggregate import (
    SampleAggregate,
    agreement,
    sample_aggregate,
)
from deniable_central.stability.stability_test import StabilityTest
from deniable_central.stability.stable_statistics import (
    propose_test_release,
    stable_argmax,
    stable_median,
    stable_mode,
    stable_quantile,
)
from deniable_central.stability.subsample import Subsample, subsample_aggregate

__all__ = [
    "Blocks",
    "DeltaError",
    "GuaranteeViolation",
    "Proposal",
    "RowsError",
    "SampleAggregate",
    "StabilityTest",
    "Subsample",
    "agreement",
    "find_violation",
    "propose_argmax",
    "propose_mode",
    "propose_quantile",
    "propose_test_release",
    "sample_aggregate",
    "stable_argmax",
    "stable_median",
    "stable_mode",
    "stable_quantile",
    "subsample_aggregate",
]
