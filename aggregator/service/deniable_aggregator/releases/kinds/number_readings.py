"""Linear readings for releases of numbers: sums over the values, by labels or public scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.releases.kinds.linear_reading import LinearReading
from deniable_estimators.inference.public_scores import PublicMean, PublicSums
from deniable_estimators.mechanisms import estimator_for
from deniable_shared.domains import Number
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from deniable_aggregator.releases.kinds.contract import Counts, ReleaseContext
    from deniable_shared.domains import Domain

MOST_NUMBERS = 1 << 24
"""Rows times counts of a tally."""


def numbers_only(kind: str, domain: Domain) -> Number:
    """The domain, if it is of numbers; else ParameterError."""
    if isinstance(domain, Number):
        return domain
    raise ParameterError(
        f"{kind} needs answers that are numbers, but these are of type {domain.type}: use "
        "histogram, or ask for a number in a collection"
    )


def number_reading(kind: str, context: ReleaseContext, rows: Counts, top: int = 1) -> LinearReading:
    """Sums over the values with weights row/top. Raises ParameterError if the reports say none."""
    estimator = estimator_for(context.mechanism, context.repeat)
    if isinstance(estimator, PublicMean):
        raise ParameterError(
            f"{kind} needs reports that locate values, but {context.mechanism.id} allows "
            "only the mean: use mean"
        )
    check_sums(kind, context, len(rows))
    if isinstance(estimator, PublicSums):
        return LinearReading.of_scores(context, lambda each: each.public_scores(rows / top))  # type: ignore[attr-defined]  # just looked at
    return LinearReading.of_labels(context, rows, top)


def check_sums(kind: str, context: ReleaseContext, sums: int) -> None:
    """Raises ParameterError if the release would take longer than about a second."""
    most = MOST_NUMBERS // context.mechanism.tally_size
    if sums > most:
        raise ParameterError(
            f"{kind} takes at most {most:,} sums of {context.mechanism.id} here, got {sums:,}: "
            "ask for fewer, or collect coarser steps"
        )
