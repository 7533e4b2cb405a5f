"""Releases over what a collection counted: mechanisms of this room read raw integer tallies.

    plan(mechanism, arguments, facts)    a priced request; reads no tally
    parameters(mechanism)                what may be asked

A family is a module with PARAMETERS and `plan`; a new one is one line in FAMILIES.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from deniable_aggregator.releases.kinds import (
    allocate,
    exponential,
    histogram,
    median,
    mwem,
    noisy_max,
    price,
    queries,
    sample_aggregate,
    small_db,
    top_k,
)
from deniable_aggregator.releases.kinds.arguments import nearest
from deniable_aggregator.releases.kinds.contract import Facts, Parameter, Plan
from deniable_shared.errors import ParameterError

__all__ = ["FAMILIES", "Family", "parameters", "plan"]


class Family(Protocol):
    """A kind of release."""

    @property
    def PARAMETERS(self) -> tuple[Parameter, ...]:  # noqa: N802  # a constant of its module
        """What may be asked."""

    def plan(self, arguments: Mapping[str, object], facts: Facts) -> Plan:
        """The request, or ParameterError or CentralError with what is accepted instead."""


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "allocate": allocate,
        "exponential": exponential,
        "histogram": histogram,
        "median": median,
        "mwem": mwem,
        "noisy-max": noisy_max,
        "price": price,
        "queries": queries,
        "sample-aggregate": sample_aggregate,
        "small-db": small_db,
        "top-k": top_k,
    }
)


def parameters(mechanism: str) -> tuple[Parameter, ...]:
    """What may be asked of a mechanism; ParameterError for one there is not."""
    return _family(mechanism).PARAMETERS


def plan(mechanism: str, arguments: Mapping[str, object], facts: Facts) -> Plan:
    """A valid request over these facts; ParameterError or CentralError says what would be one."""
    return _family(mechanism).plan(arguments, facts)


def _family(mechanism: str) -> Family:
    if mechanism not in FAMILIES:
        raise ParameterError(
            f"mechanism must not be {mechanism!r:.80}{nearest(mechanism, FAMILIES)}"
        )
    return FAMILIES[mechanism]
