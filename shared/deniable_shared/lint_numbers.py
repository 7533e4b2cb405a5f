"""What is said of a collection of numbers that is told level by level."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import cast

from deniable_shared import mechanisms
from deniable_shared.finding import Finding
from deniable_shared.mechanisms import Mechanism
from deniable_shared.mechanisms.contract import Renewable
from deniable_shared.mechanisms.memoization import Renewed

__all__ = ["levels_of", "range_variance"]

_AS_GOOD = Fraction(21, 20)


def range_variance(mechanism: Mechanism) -> Fraction | None:
    """n times the mean variance of a range of values; None of what is not told level by level."""
    first, kept = mechanism, Fraction(1)
    if isinstance(mechanism, Renewed):
        first, kept = mechanism.first, mechanism.kept
    error = cast(Renewable, first).range_error
    return None if error is None else Fraction(error) / kept**2


def levels_of(mechanism: Mechanism, epsilon: Fraction) -> Iterator[Finding]:
    """How many levels there are, and whether the other hierarchy needs fewer reports at this ε."""
    yield Finding(
        "note",
        "mechanism.parameters",
        f"a report tells of one level of {1 / mechanism.sampling_fraction}, which one is open: "
        "ranges and quantiles have little error, single values much",
    )
    size, other = mechanism.domain_size, "haar/1" if mechanism.id == "tree/1" else "tree/1"
    own = range_variance(mechanism)
    least = range_variance(mechanisms.build(other, domain_size=size, epsilon=epsilon))
    if own is not None and least is not None and own > _AS_GOOD * least:
        times = float(own) / float(least)
        yield Finding(
            "note",
            "mechanism.id",
            f"{mechanism.id} needs about {times:.1f} times the reports of {other} for a range",
        )
