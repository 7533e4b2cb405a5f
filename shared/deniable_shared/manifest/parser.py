"""Reads a manifest from its verified bytes: PROTOCOL §2."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from deniable_shared import mechanisms
from deniable_shared.domains import parse_domain
from deniable_shared.errors import DecodeError, DomainError, ManifestError, ParameterError
from deniable_shared.manifest.field_reader import FieldReader
from deniable_shared.manifest.fields import EPSILON_RANGE, NAME_LENGTH, PRESENCES, READS, flatten
from deniable_shared.manifest.ingest_origins import parse_origins
from deniable_shared.manifest.model import MAX_BODY_BYTES, Manifest
from deniable_shared.manifest.rules import check_limits
from deniable_shared.wire.canonical import canonical_json, strict_json

if TYPE_CHECKING:
    from collections.abc import Mapping

_DIGEST = re.compile(r"[0-9a-f]{64}")
_CENTRAL = (Fraction(0), Fraction(99))


def parse_manifest(body: bytes) -> Manifest:
    """Return the manifest in its verified bytes.

    T and the id are computed again and must agree. Raises ManifestError, with the reason, if the
    bytes are no manifest or break a rule.
    """
    try:
        manifest = _parse(body)
        check_limits(manifest)
        return manifest
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
    memoized = values["repeat"] == "memoized"
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
        mechanism_id=read.one_of("mechanism.id", mechanisms.mechanism_ids()),
        threshold=read.threshold("mechanism." + ("permanent_" * memoized) + "threshold"),
        renewal_threshold=read.threshold("mechanism.renewal_threshold") if memoized else None,
        epsilon_report=read.epsilon("epsilon.report", *EPSILON_RANGE),
        epsilon_permanent=(read.epsilon("epsilon.permanent", *EPSILON_RANGE) if memoized else None),
        epsilon_lifetime=read.epsilon("epsilon.lifetime", *EPSILON_RANGE),
        ledger_group=read.name("ledger_group"),
        repeat=str(values["repeat"]),
        hold_epochs=read.integer("hold_epochs", 1, 0xFFFF_FFFF) if memoized else 1,
        epoch_seconds=read.integer("epoch_seconds", 1, 2_678_400),
        grace_seconds=read.integer("grace_seconds", 0, 2_678_400),
        presence=read.one_of("presence", PRESENCES),
        sampling=read.share("sampling"),
        linkable=read.flag("linkable"),
        requires=_requires(read, values),
        read=read.one_of("read", READS),
        public="public" in values and read.supported("public") is True,
        central_per_epoch=read.epsilon("central.per_epoch", *_CENTRAL),
        central_per_installation=read.epsilon("central.per_installation", *_CENTRAL),
        central_delta=read.delta("central.delta"),
        cohorts=int(str(read.supported("cohorts"))),
        min_batch=read.integer("min_batch", 1, 1_000_000_000),
        retention_days=read.integer("retention_days", 1, 3_650),
        ingest=parse_origins(values["ingest"]),
        web_origins=_web_origins(values),
        body=body,
    )


def _requires(read: FieldReader, values: Mapping[str, object]) -> tuple[str, ...]:
    if "requires" not in values:
        return ()
    return tuple(map(str, cast("list[object]", read.supported("requires"))))


def _web_origins(values: Mapping[str, object]) -> tuple[str, ...]:
    """Return the origins; None if the field is left out. An empty list is not accepted instead."""
    return parse_origins(values["web_origins"], "web_origins") if "web_origins" in values else ()


def _previous(read: FieldReader, values: Mapping[str, object]) -> str | None:
    if values["previous"] is None:
        return None
    return read.matching("previous", _DIGEST, "null or 64 hex digits")
