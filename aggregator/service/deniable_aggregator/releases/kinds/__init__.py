"""Kinds of releases: each prepares a release over a collection and draws it from raw tallies.

    prepare(mechanism, arguments, context)   a priced request; reads no tally
    parameters(mechanism)                    its arguments

A kind is a module with PARAMETERS and `prepare`; a new one is one line in RELEASE_KINDS.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from deniable_aggregator.releases.kinds import (
    allocate,
    exponential,
    histogram,
    mean,
    median,
    mwem,
    noisy_max,
    price,
    queries,
    sample_aggregate,
    shares,
    small_db,
    table,
    texts,
    top_k,
)
from deniable_aggregator.releases.kinds.arguments import nearest
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.releases.kinds.contract import (
        Parameter,
        PreparedRelease,
        ReleaseContext,
    )

__all__ = ["RELEASE_KINDS", "ReleaseKind", "parameters", "prepare"]


class ReleaseKind(Protocol):
    """A kind of release."""

    @property
    def PARAMETERS(self) -> tuple[Parameter, ...]:  # noqa: N802  (a constant of its module)
        """The arguments of this kind."""

    def prepare(self, arguments: Mapping[str, object], context: ReleaseContext) -> PreparedRelease:
        """The prepared release. Raises ParameterError or CentralError naming accepted values."""


RELEASE_KINDS: Mapping[str, ReleaseKind] = MappingProxyType(
    {
        "allocate": allocate,
        "exponential": exponential,
        "histogram": histogram,
        "mean": mean,
        "median": median,
        "mwem": mwem,
        "noisy-max": noisy_max,
        "price": price,
        "queries": queries,
        "sample-aggregate": sample_aggregate,
        "shares": shares,
        "small-db": small_db,
        "table": table,
        "texts": texts,
        "top-k": top_k,
    }
)


def parameters(mechanism: str) -> tuple[Parameter, ...]:
    """The arguments of a mechanism. Raises ParameterError for an unknown one."""
    return _kind(mechanism).PARAMETERS


def prepare(
    mechanism: str, arguments: Mapping[str, object], context: ReleaseContext
) -> PreparedRelease:
    """The prepared release. Raises ParameterError or CentralError naming accepted values."""
    return _kind(mechanism).prepare(arguments, context)


def _kind(mechanism: str) -> ReleaseKind:
    if mechanism not in RELEASE_KINDS:
        raise ParameterError(
            f"mechanism must not be {mechanism!r:.80}{nearest(mechanism, RELEASE_KINDS)}"
        )
    return RELEASE_KINDS[mechanism]
