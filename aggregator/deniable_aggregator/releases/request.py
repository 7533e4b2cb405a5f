"""What is asked of a collection, and the digest by which the same request is found again.

    SHA-256 of the canonical {collection, identity, epochs, tally, mechanism, version, parameters}

The tally is in it, so the digest is as secret as the tally: it is kept, never shown or logged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TypeGuard

from deniable_aggregator.queries.pooled_tallies import EpochRange
from deniable_aggregator.registry import Collection
from deniable_aggregator.releases.kinds.contract import (
    Facts,
    Plan,
    SessionPlan,
    SimulatedPlan,
)
from deniable_aggregator.store.rows import KeyedTally
from deniable_gateway.problem import Problem
from deniable_shared.canonical import canonical_json
from deniable_shared.errors import DeniableError

Planner = Callable[[str, Mapping[str, object], Facts], Plan]
"""`releases.kinds.plan`: reads no tally, raises a DeniableError for what it refuses."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which epochs are to be read: those listed, else the closed ones of the span.

    `bounded` says that somebody named the span's end: then none of it may be open.
    """

    span: EpochRange = field(default_factory=EpochRange)
    bounded: bool = False
    listed: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A mechanism by name, its arguments as they were given, and the epochs."""

    mechanism: str
    arguments: Mapping[str, object]
    selection: Selection = field(default_factory=Selection)


def planned(
    planner: Planner, mechanism: str, arguments: Mapping[str, object], facts: Facts
) -> Plan:
    """A valid request; invalid-argument in the mechanism's own words for any other."""
    try:
        return planner(mechanism, arguments, facts)
    except DeniableError as error:
        raise Problem("invalid-argument", str(error)) from error


def opens_session(plan: Plan) -> TypeGuard[SessionPlan]:
    """Whether its draw opens a conversation."""
    return hasattr(plan, "open")


def simulates(plan: Plan) -> TypeGuard[SimulatedPlan]:
    """Whether the plan knows its usual error."""
    return hasattr(plan, "typical")


def terms(plan: Plan) -> bytes:
    """The public words of a request, canonical: what it takes to plan it again."""
    return canonical_json(
        {
            "mechanism": plan.mechanism,
            "version": plan.version,
            "parameters": dict(plan.parameters),
        }
    )


def request_digest(
    collection: Collection, plan: Plan, epochs: Sequence[int], *, tally: bytes
) -> bytes:
    """Equal for equal requests over the same explicit epochs and counts."""
    asked = {
        "collection": collection.id,
        "identity": collection.manifest.identity.hex(),
        "epochs": list(epochs),
        "tally": tally.hex(),
    }
    return sha256(canonical_json(asked) + terms(plan)).digest()


def tally_digest(cells: Iterable[KeyedTally]) -> bytes:
    """Of cells in their order: which they are, their n, their counts."""
    found = sha256()
    for row in cells:
        cell = row.key
        found.update(
            f"{cell.epoch} {cell.manifest_version} {cell.cohort} {row.n} {len(row.tally)} ".encode()
        )
        found.update(row.tally.tobytes())
    return found.digest()
