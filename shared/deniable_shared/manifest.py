"""The signed definition of a collection: PROTOCOL §2. One manifest is one immutable (id, version).

Signatures are not looked at here: `dsse.verify` gives the body, `parse_manifest` reads it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from functools import cached_property
from hashlib import sha256

from deniable_shared import mechanisms
from deniable_shared.canonical import canonical_json, shown, strict_json
from deniable_shared.domain import Domain, parse_domain
from deniable_shared.epochs import day_start, epoch_at
from deniable_shared.errors import DecodeError, DomainError, ManifestError, ParameterError
from deniable_shared.manifest_fields import (
    EPSILON_RANGE,
    NAME_LENGTH,
    READS,
    SPEC,
    FieldReader,
    flatten,
    identity_of,
)
from deniable_shared.manifest_rules import check_limits, check_successor
from deniable_shared.mechanisms import Mechanism
from deniable_shared.origins import parse_origins

__all__ = [
    "MANIFEST_TYPE",
    "MAX_BODY_BYTES",
    "SPEC",
    "Manifest",
    "check_successor",
    "parse_manifest",
]

MANIFEST_TYPE = "application/vnd.deniable.manifest.v1+json"
MAX_BODY_BYTES = 768_000
"""Longest body: in base64 and with signatures it stays under a signed envelope's 1 MiB."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_THRESHOLD = re.compile(r"0x[0-9a-f]{16}")
_CENTRAL = (Fraction(0), Fraction(99))


@dataclass(frozen=True)
class Manifest:
    """A valid manifest; ManifestError where fields contradict each other, the id or the threshold.

    Only `parse_manifest` builds one. `body` is its canonical JSON, of which all else is a reading.
    """

    collection: str
    version: int
    previous: str | None
    name: str
    purpose: str
    owner: str
    valid_from: date
    expires: date
    domain: Domain
    mechanism_id: str
    threshold: int
    epsilon_report: Fraction
    epsilon_lifetime: Fraction
    ledger_group: str
    repeat: str
    epoch_seconds: int
    grace_seconds: int
    presence: str
    default: object
    sampling: Fraction
    linkable: bool
    read: str
    central_per_epoch: Fraction
    central_per_installation: Fraction
    central_delta: Fraction
    cohorts: int
    min_batch: int
    retention_days: int
    ingest: tuple[str, ...]
    body: bytes = field(repr=False)

    def __post_init__(self) -> None:
        check_limits(self)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the body."""
        return sha256(self.body).digest()

    @cached_property
    def identity(self) -> bytes:
        """SHA-256 of the canonical immutable fields, without collection, version and ingest."""
        return identity_of(self.values)

    @cached_property
    def values(self) -> Mapping[str, object]:
        """The document's values by path: "epsilon.report" → "1"."""
        return flatten(strict_json(self.body))

    @cached_property
    def _mechanism(self) -> Mechanism:
        return mechanisms.for_domain(self.mechanism_id, self.domain, self.epsilon_report)

    def mechanism(self) -> Mechanism:
        """The randomizer of this collection."""
        return self._mechanism

    @property
    def first_epoch(self) -> int:
        """The epoch in which valid_from begins."""
        return epoch_at(day_start(self.valid_from), self.epoch_seconds)

    @property
    def last_epoch(self) -> int:
        """The epoch that holds the last second before expires."""
        return epoch_at(day_start(self.expires) - 1, self.epoch_seconds)

    def started(self, now: float) -> bool:
        """Whether valid_from, 00:00 UTC, has come."""
        return now >= day_start(self.valid_from)

    def expired(self, now: float) -> bool:
        """Whether expires, 00:00 UTC, has come."""
        return now >= day_start(self.expires)


def parse_manifest(body: bytes) -> Manifest:
    """A manifest from its verified bytes; ManifestError with the reason for anything else.

    T and the id are recomputed, and a manifest that disagrees is refused.
    """
    try:
        return _parse(body)
    except (DecodeError, DomainError, ParameterError) as error:
        raise ManifestError(str(error)) from error


def _parse(body: bytes) -> Manifest:
    if len(body) > MAX_BODY_BYTES:
        raise ManifestError(
            f"a manifest must be at most {MAX_BODY_BYTES:,} bytes, got {len(body):,}"
        )
    document = strict_json(body)
    values = flatten(document)
    if canonical_json(document) != body:
        raise ManifestError("a manifest must be canonical JSON: sorted keys, no spaces, UTF-8")
    read = FieldReader(values)
    if values["mechanism.parameters"] != {}:
        given = shown(values["mechanism.parameters"])
        raise ManifestError(f"this version supports mechanism.parameters = {{}} only, got {given}")
    return Manifest(
        name=read.name("name", NAME_LENGTH),
        collection=read.name("collection"),
        version=read.integer("version", 1, 0xFFFF),
        previous=_previous(read, values),
        purpose=read.text("purpose"),
        owner=read.text("owner"),
        valid_from=read.day("valid_from"),
        expires=read.day("expires"),
        domain=parse_domain(values["domain"]),
        mechanism_id=read.one_of("mechanism.id", mechanisms.known()),
        threshold=_threshold(read),
        epsilon_report=read.epsilon("epsilon.report", *EPSILON_RANGE),
        epsilon_lifetime=read.epsilon("epsilon.lifetime", *EPSILON_RANGE),
        ledger_group=read.name("ledger_group"),
        repeat=str(read.supported("repeat")),
        epoch_seconds=read.integer("epoch_seconds", 1, 2_678_400),
        grace_seconds=read.integer("grace_seconds", 0, 2_678_400),
        presence=str(read.supported("presence")),
        default=read.supported("default"),
        sampling=Fraction(str(read.supported("sampling"))),
        linkable=bool(read.supported("linkable")),
        read=read.one_of("read", READS),
        central_per_epoch=read.epsilon("central.per_epoch", *_CENTRAL),
        central_per_installation=read.epsilon("central.per_installation", *_CENTRAL),
        central_delta=read.delta("central.delta"),
        cohorts=int(str(read.supported("cohorts"))),
        min_batch=read.integer("min_batch", 1, 1_000_000_000),
        retention_days=read.integer("retention_days", 1, 3_650),
        ingest=parse_origins(values["ingest"]),
        body=body,
    )


def _previous(read: FieldReader, values: Mapping[str, object]) -> str | None:
    if values["previous"] is None:
        return None
    return read.matching("previous", _DIGEST, "null or 64 hex digits")


def _threshold(read: FieldReader) -> int:
    return int(read.matching("mechanism.threshold", _THRESHOLD, '"0x" and 16 hex digits'), 16)
