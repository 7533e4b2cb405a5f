"""`mean`: the mean of a number and the sum of all answers, with their intervals.

One linear reading of the tally, from lowest value to highest (`linear_reading`), with two-sided
geometric noise. The interval holds for every distribution of the values that has this mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.releases.kinds.arguments import (
    EPSILON,
    decimal_text,
    read_epsilon,
    with_defaults,
)
from deniable_aggregator.releases.kinds.linear_reading import LinearReading
from deniable_aggregator.releases.kinds.noisy_sums import NoisySums, PreparedSums
from deniable_aggregator.releases.kinds.number_readings import number_reading, numbers_only
from deniable_estimators.inference.public_scores import PublicMean
from deniable_estimators.mechanisms import estimator_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.releases.kinds.contract import ReleaseContext
    from deniable_shared.domains import Number

PARAMETERS = (EPSILON,)
VERSION = 1


def prepare(arguments: Mapping[str, object], context: ReleaseContext) -> PreparedSums:
    """The prepared release. Raises ParameterError for arguments that do not fit here."""
    complete = with_defaults("mean", PARAMETERS, arguments)
    epsilon = read_epsilon(complete["epsilon"])
    domain = numbers_only("mean", context.domain)
    return PreparedSums(
        mechanism="mean",
        version=VERSION,
        parameters={"epsilon": decimal_text(epsilon)},
        epsilon=epsilon,
        reading=_reading(context, domain),
        show=_Quantities(domain, context.n),
        quantity="error of the mean",
        unit=float(domain.high - domain.low),
    )


def _reading(context: ReleaseContext, domain: Number) -> LinearReading:
    if isinstance(estimator_for(context.mechanism, context.repeat), PublicMean):
        return LinearReading.of_scores(context, lambda each: each.public_mean())  # type: ignore[attr-defined]  # just looked at
    return number_reading("mean", context, np.arange(domain.size)[None, :], domain.size - 1)


@dataclass(frozen=True, slots=True)
class _Quantities:
    """The mean in the units of its domain, and the sum over n answers."""

    domain: Number
    n: int

    def __call__(self, sums: NoisySums) -> Mapping[str, object]:
        low, span = float(self.domain.low), float(self.domain.high - self.domain.low)
        ends = (sums.shares, sums.lower, sums.upper)
        value, least, most = (low + span * float(each[0]) for each in ends)
        error = span * float(sums.std_errors[0])
        mean = {"value": value, "least": least, "most": most, "error": error}
        rows = [
            {"quantity": "mean", **mean},
            {"quantity": "sum", **{name: self.n * each for name, each in mean.items()}},
        ]
        return {"quantities": rows, "noisy": int(sums.noisy[0])}
