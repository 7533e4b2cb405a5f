"""A request for a release, and the digest that recognizes the same request.

    SHA-256 of the canonical {collection, identity, epochs, tally, mechanism, version, parameters}

The digest covers the tally, so it is as secret as the tally: it is stored, never shown or logged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, TypeGuard

from deniable_aggregator.queries.pooled_tallies import EpochRange
from deniable_aggregator.releases.kinds.contract import (
    PreparedRelease,
    PreparedSession,
    ReleaseContext,
    ReleaseWithTypicalErrors,
)
from deniable_gateway.problem import Problem
from deniable_shared.errors import DeniableError
from deniable_shared.wire.canonical import canonical_json

if TYPE_CHECKING:
    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.store.rows import KeyedTally

PrepareRelease = Callable[[str, Mapping[str, object], ReleaseContext], PreparedRelease]
"""`releases.kinds.prepare`: reads no tally; raises a DeniableError to refuse."""


@dataclass(frozen=True, slots=True)
class EpochSelection:
    """The epochs to read: the listed ones, else the closed ones of the span.

    `bounded`: the request named the end of the span, so all its epochs must be closed.
    """

    span: EpochRange = field(default_factory=EpochRange)
    bounded: bool = False
    listed: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """The name of a mechanism, the given arguments, and the epochs."""

    mechanism: str
    arguments: Mapping[str, object]
    selection: EpochSelection = field(default_factory=EpochSelection)


def prepare_release(
    prepare: PrepareRelease,
    mechanism: str,
    arguments: Mapping[str, object],
    context: ReleaseContext,
) -> PreparedRelease:
    """The prepared release. Raises invalid-argument with the mechanism's message."""
    try:
        return prepare(mechanism, arguments, context)
    except DeniableError as error:
        raise Problem("invalid-argument", str(error)) from error


def opens_session(prepared: PreparedRelease) -> TypeGuard[PreparedSession]:
    """Whether its draw opens a session."""
    return hasattr(prepared, "open")


def has_typical_errors(prepared: PreparedRelease) -> TypeGuard[ReleaseWithTypicalErrors]:
    """Whether its usual error can be simulated."""
    return hasattr(type(prepared), "typical")  # of the instance it would run the simulation


def request_terms(prepared: PreparedRelease) -> bytes:
    """The public part of a request as canonical JSON, enough to prepare it again."""
    return canonical_json(
        {
            "mechanism": prepared.mechanism,
            "version": prepared.version,
            "parameters": dict(prepared.parameters),
        }
    )


def request_digest(
    collection: Collection, prepared: PreparedRelease, epochs: Sequence[int], *, tally: bytes
) -> bytes:
    """Equal for equal requests over the same explicit epochs and counts."""
    fields = {
        "collection": collection.id,
        "identity": collection.manifest.identity.hex(),
        "epochs": list(epochs),
        "tally": tally.hex(),
    }
    return sha256(canonical_json(fields) + request_terms(prepared)).digest()


def tally_digest(cells: Iterable[KeyedTally]) -> bytes:
    """The digest of cells in order: their keys, their n and their counts."""
    digest = sha256()
    for row in cells:
        key = row.key
        digest.update(
            f"{key.epoch} {key.manifest_version} {key.cohort} {row.n} {len(row.tally)} ".encode()
        )
        digest.update(row.tally.tobytes())
    return digest.digest()
