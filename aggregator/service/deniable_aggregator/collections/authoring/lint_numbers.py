"""What is said of a collection of numbers that is told level by level."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import inf
from typing import cast

from deniable_aggregator.collections.authoring.lint_findings import Finding
from deniable_shared import mechanisms
from deniable_shared.mechanisms import Mechanism
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.protocols import Memoizable

__all__ = ["levels_of", "range_variance"]

_AS_GOOD = Fraction(21, 20)


def range_variance(mechanism: Mechanism) -> Fraction | None:
    """n times the mean variance of a range of values; None of what is not told level by level."""
    first, kept = mechanism, Fraction(1)
    if isinstance(mechanism, MemoizedChain):
        first, kept = mechanism.first, mechanism.keep_probability
    error = cast(Memoizable, first).range_error
    return None if error is None else Fraction(error) / kept**2


def levels_of(mechanism: Mechanism, epsilon: Fraction) -> Iterator[Finding]:
    """How many levels there are, and whether another hierarchy needs fewer reports at this ε."""
    yield Finding(
        "note",
        "mechanism.parameters",
        f"a report tells of one level of {1 / mechanism.sampling_fraction}, which one is open: "
        "ranges and quantiles have little error, single values much",
    )
    own, best = range_variance(mechanism), _best_other(mechanism, epsilon)
    least = range_variance(best) if best else None
    if best and own and least and own > _AS_GOOD * least:
        times = float(own) / float(least)
        yield Finding(
            "note",
            "mechanism.id",
            f"{mechanism.id} needs about {times:.1f} times the reports of {best.id} for a range",
        )


def _best_other(mechanism: Mechanism, epsilon: Fraction) -> Mechanism | None:
    """The other mechanism with the least error of ranges; None if there is no other."""
    others = [
        mechanisms.build(each, domain_size=mechanism.domain_size, epsilon=epsilon)
        for each in mechanisms.ids_for_target("ranges")
        if each != mechanism.id
    ]
    return min(others, key=lambda other: range_variance(other) or inf, default=None)
