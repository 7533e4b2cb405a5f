"""What the linter says of a record: what a report tells, and what would need fewer of them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from deniable_aggregator.collections.authoring.lint_findings import Finding
from deniable_aggregator.collections.authoring.record_recommendation import (
    AttributeSampler,
    best_record_mechanism,
    two_way_error,
)
from deniable_shared.domains import Record
from deniable_shared.errors import ParameterError
from deniable_shared.manifest.model import Manifest
from deniable_shared.mechanisms import Mechanism
from deniable_shared.mechanisms.memoization import MemoizedChain

__all__ = ["choice_for_record"]

_WORTH_A_NOTE, _WORTH_A_WARNING = Fraction(5, 4), 2


def choice_for_record(manifest: Manifest, domain: Record) -> Iterator[Finding]:
    """What a report tells, and whether another mechanism tells it with fewer reports."""
    mechanism = manifest.mechanism()
    yield Finding("note", "mechanism.id", f"{mechanism.id}: {_disclosure(mechanism)}")
    wishes = (_is_read,) if manifest.read == "releases" else ()
    best = best_record_mechanism(domain, manifest.epsilon_report, fits=wishes)
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


def _is_read(mechanism: Mechanism) -> bool:
    return mechanism.releasable


def _disclosure(mechanism: Mechanism) -> str:
    first = mechanism.first if isinstance(mechanism, MemoizedChain) else mechanism
    if isinstance(first, AttributeSampler):
        return first.disclosure
    if first.structure is None:
        return "a report tells of all attributes together, and no table follows"
    return "a report tells of all attributes together, so every table follows"


def _tenths(number: Fraction) -> str:
    tenths = round(10 * number)
    return f"{tenths // 10}.{tenths % 10}"
