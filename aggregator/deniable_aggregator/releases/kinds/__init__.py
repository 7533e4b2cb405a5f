"""Release kinds: each prepares a release over a collection, and draws it from raw integer tallies.

    prepare(mechanism, arguments, context)   a priced request; reads no tally
    parameters(mechanism)                    its arguments

A kind is a module with PARAMETERS and `prepare`; a new one is one line in RELEASE_KINDS.
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
from deniable_aggregator.releases.kinds.contract import Parameter, PreparedRelease, ReleaseContext
from deniable_shared.errors import ParameterError

__all__ = ["RELEASE_KINDS", "ReleaseKind", "parameters", "prepare"]


class ReleaseKind(Protocol):
    """A kind of release.