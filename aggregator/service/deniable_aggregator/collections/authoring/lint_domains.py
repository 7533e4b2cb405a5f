"""Lint findings about records, and about numbers that are reported level by level.

They name the contents of a report, and a mechanism that needs fewer reports.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, cast

from deniable_aggregator.collections.authoring.lint_findings import Finding
from deniable_aggregator.collections.authoring.record_recommendation import (
    AttributeSampler,
    best_record_mechanism,
    two_way_error,
)
from deniable_shared import mechanisms
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_shared.domains import Record
    from deniable_shared.manifest.model import Manifest
    from deniable_shared.mechanisms import Mechanism
    from deniable_shared.mechanisms.protocols import Memoizable

_WORTH_A_NOTE, _WORTH_A_WARNING = Fraction(5, 4), 2


def choice_for_record(manifest: Manifest, domain: Record) -> Iterator[Finding]:
    """The contents of a report, and a mechanism that needs fewer reports for it."""
    mechanism = manifest.mechanism()
    disclosure = _disclosure(mechanism)
    yield Finding("note", "mechanism.id", f"{mechanism.id}: {disclosure}", disclosure)
    best = best_record_mechanism(domain, manifest.epsilon_report)
    try:
        error = two_way_error(mechanism, domain.radices)
    except ParameterError as unavailable:
        yield Finding("warning", "mechanism.id", str(unavailable))
        return
    times = error / two_way_error(best, domain.radices)
    if best.id != mechanism.id and times >= _WORTH_A_NOTE:
        yield Finding(
            "warning" if times >= _WORTH_A_WARNING else "note",
            "mechanism.id",
            f"for tables of two attributes {mechanism.id} needs about {_tenths(times)} times the "
            f"reports of {best.id}",
        )


def _disclosure(mechanism: Mechanism) -> str:
    first = mechanism.first if isinstance(mechanism, MemoizedChain) else mechanism
    if isinstance(first, AttributeSampler):
        return first.disclosure
    if first.structure is None:
        return "a report covers all attributes together, and no table can be computed"
    return "a report covers all attributes together, so every table can be computed"


def _tenths(number: Fraction) -> str:
    tenths = round(10 * number)
    return f"{tenths // 10}.{tenths % 10}"


_AS_GOOD = Fraction(21, 20)


def range_variance(mechanism: Mechanism) -> Fraction | None:
    """n times the mean variance of a range of values; None for mechanisms without levels."""
    first, kept = mechanism, Fraction(1)
    if isinstance(mechanism, MemoizedChain):
        first, kept = mechanism.first, mechanism.keep_probability
    error = cast("Memoizable", first).range_error
    return None if error is None else Fraction(error) / kept**2


def levels_of(mechanism: Mechanism, epsilon: Fraction) -> Iterator[Finding]:
    """The number of levels, and whether another hierarchy needs fewer reports at this ε."""
    yield Finding(
        "note",
        "mechanism.parameters",
        f"a report contains one level of {1 / mechanism.sampling_fraction}; which one is visible: "
        "ranges and quantiles have little error, single values much",
        f"A report covers one of {1 / mechanism.sampling_fraction} levels, and shows which one. "
        "Ranges and quantiles have a small error, single values a large one",
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
