"""What is said of a collection of numbers that is told level by level."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from deniable_shared.chains import Renewed
from deniable_shared.finding import Finding
from deniable_shared.mechanisms import Mechanism
from deniable_shared.mechanisms.haar import HaarResponse
from deniable_shared.mechanisms.tree import TreeResponse

__all__ = ["levels_of", "range_variance"]

_AS_GOOD = Fraction(21, 20)


def range_variance(mechanism: Mechanism) -> Fraction | None:
    """n times the mean variance of a range of values; None of what is not told level by level."""
    form = mechanism.first if isinstance(mechanism, Renewed) else mechanism
    if not isinstance(form, TreeResponse | HaarResponse):
        return None
    kept = mechanism.kept if isinstance(mechanism, Renewed) else Fraction(1)
    return Fraction(form.range_error) / kept**2


def levels_of(mechanism: Mechanism, epsilon: Fraction) -> Iterator[Finding]:
    """How many levels there are, and whether the other hierarchy needs fewer reports at this ε."""
    yield Finding(
        "note",
        "mechanism.parameters",
        f"a report tells of one level of {1 / mechanism.told}, which one is open: ranges and "
        "quantiles have little error, single values much",
    )
    size, other = mechanism.domain_size, "haar/1" if mechanism.id == "tree/1" else "tree/1"
    others: TreeResponse | HaarResponse
    if other == "haar/1":
        others = HaarResponse(size, epsilon)
    else:
        others = TreeResponse.create(size, epsilon, report=epsilon, given={})
    own = range_variance(mechanism)
    if own is not None and own > _AS_GOOD * Fraction(others.range_error):
        times = float(own) / others.range_error
        yield Finding(
            "note",
            "mechanism.id",
            f"{mechanism.id} needs about {times:.1f} times the reports of {other} for a range",
        )
