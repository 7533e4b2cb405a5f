"""The fields of a manifest as data: their names, and what a new version may change.

Identity, `check_successor`, the check of names and the table in PROTOCOL.md all use FIELDS.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from hashlib import sha256
from typing import TYPE_CHECKING

from deniable_shared.errors import ManifestError
from deniable_shared.wire.canonical import canonical_json, quote

if TYPE_CHECKING:
    from collections.abc import Mapping


class Change(StrEnum):
    """What the next version of a collection may do to a field."""

    IDENTITY = "never; part of the id"
    NEXT = "follows from the version before"
    LOWER = "may fall"
    RAISE = "may rise"
    NARROW = "may narrow: live, closed, releases"
    EXPIRY = "may move, to at most 365 days after the first version's"
    FREE = "may change"
    WITHDRAW = "may be withdrawn, never added"
    FEWER = "may lose origins, never gain one"
    MOVE = "may move; devices follow within their app's list"


SPEC = "deniable/manifest/1"
REPEATS = ("once", "fresh", "memoized")
READS = ("live", "closed", "releases")
PRESENCES = ("on_event", "always")
SUPPORTED: Mapping[str, tuple[object, ...]] = {
    "cohorts": (1, 64),
    "requires": (["voucher/1"],),
    "public": (True,),
}
"""The values of the protocol that this version supports. Other values are refused by name."""

EPSILON_RANGE = (Fraction(1, 100), Fraction(20))
"""Smallest and largest ε of a report, and of a lifetime."""

NAME_LENGTH = 57
"""Longest name: an id is the name, a hyphen and six characters, 64 in all."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its path in the document, how it may change, its meaning.

    An `optional` field is left out if it says nothing. No other spelling of that is accepted.
    """

    path: str
    change: Change
    meaning: str
    repeats: tuple[str, ...] = REPEATS
    optional: bool = False


FIELDS = (
    Field("spec", Change.IDENTITY, f'always "{SPEC}"'),
    Field("collection", Change.NEXT, "the id: name, hyphen, 6 base-32 characters of the identity"),
    Field("version", Change.NEXT, "1…65535"),
    Field("previous", Change.NEXT, "hex SHA-256 of the body of the version before; null for 1"),
    Field("name", Change.IDENTITY, f"[a-z0-9-], 1…{NAME_LENGTH} characters"),
    Field("purpose", Change.FREE, "why it is asked, in words: 1…200 printable characters"),
    Field("owner", Change.FREE, "whom to ask about it: 1…200 printable characters"),
    Field("valid_from", Change.IDENTITY, "first day, 00:00 UTC"),
    Field("expires", Change.EXPIRY, "day after the last one, 00:00 UTC"),
    Field("domain", Change.IDENTITY, "what may be answered: bits, choice, number, record or text"),
    Field(
        "mechanism.id", Change.IDENTITY, 'the randomizer, like "rr/1": one of those listed below'
    ),
    Field(
        "mechanism.parameters",
        Change.IDENTITY,
        'of rr-sampled/1 and dbitflip/1 {"sampled": t}, of subset/1 {"subset_size": w}, '
        'of affine/1 {"modulus": K, "subset_size": w}, '
        'of cyclic/1, projective/1 and loloha/1 {"dimension": t, "field_order": q}, '
        'of fourier/1 {"ways": k}, '
        'of discrete-piecewise/1 {"outputs": M, "window": w}, '
        'of optimal-mean/1 {"odds": e, "outputs": M, "window": w}, '
        'of square-wave/1 {"reach": B}, of tree/1 {"fan_out": B}, '
        'of prefix-hash/1 {"base": g, "digits": m, "tables": R, "step": s}, '
        'of cms/1 and hcms/1 {"tables": k, "cells": m}, '
        'of rappor/1 {"tables": k, "cells": m, "hashes": h}; else {}',
    ),
    Field(
        "mechanism.threshold",
        Change.IDENTITY,
        '"0x" and 16 hex digits: T, recomputed from epsilon.report by both ends',
        ("once", "fresh"),
    ),
    Field(
        "mechanism.permanent_threshold",
        Change.IDENTITY,
        "T of the permanent answer, recomputed from epsilon.permanent",
        ("memoized",),
    ),
    Field(
        "mechanism.renewal_threshold",
        Change.IDENTITY,
        "A of the second round, recomputed from T and epsilon.report",
        ("memoized",),
    ),
    Field("epsilon.report", Change.IDENTITY, "ε of one whole report, 0.01…20"),
    Field(
        "epsilon.permanent",
        Change.IDENTITY,
        "ε of one permanent answer, more than report, up to 20",
        ("memoized",),
    ),
    Field("epsilon.lifetime", Change.LOWER, "ε of all one device ever answers, up to 20"),
    Field("ledger_group", Change.IDENTITY, "name under which devices keep the spent ε"),
    Field("repeat", Change.IDENTITY, "once, fresh or memoized"),
    Field(
        "hold_epochs",
        Change.IDENTITY,
        "epochs one permanent answer serves, 1…4,294,967,295",
        ("memoized",),
    ),
    Field("epoch_seconds", Change.IDENTITY, "3,600…2,678,400; from 1 on loopback"),
    Field("grace_seconds", Change.IDENTITY, "0…2,678,400: how long an ended epoch takes reports"),
    Field("presence", Change.IDENTITY, "on_event: that one answered is visible; always: it is not"),
    Field(
        "default",
        Change.IDENTITY,
        "what a device answers when nothing was recorded: null, or of presence always a value",
    ),
    Field("sampling", Change.IDENTITY, "share of devices asked: a decimal above 0, up to 1"),
    Field("linkable", Change.IDENTITY, "consent to answers that point to one device"),
    Field(
        "requires",
        Change.IDENTITY,
        'extensions of every report: ["voucher/1"]; left out where there is none',
        optional=True,
    ),
    Field("read", Change.NARROW, "what analysts read besides releases: live, closed, releases"),
    Field(
        "public",
        Change.WITHDRAW,
        "true: anyone may read the answers without a token; left out where not",
        optional=True,
    ),
    Field("central.per_epoch", Change.LOWER, "central ε an epoch, 0…99"),
    Field("central.per_installation", Change.LOWER, "central ε an installation, 0…99"),
    Field("central.delta", Change.LOWER, "central δ, 0…0.01"),
    Field("cohorts", Change.IDENTITY, "disjoint groups the reports are tallied in: 1 or 64"),
    Field("min_batch", Change.RAISE, "fewest reports shown, 1…1,000,000,000"),
    Field(
        "retention_days",
        Change.LOWER,
        "days tallies are kept after their epoch, 1…3,650",
    ),
    Field("ingest", Change.MOVE, "origins that take the reports, https or loopback"),
    Field(
        "web_origins",
        Change.FEWER,
        "origins of the pages that may answer, 1…8; left out where none",
        optional=True,
    ),
)

_GROUPS = frozenset({"mechanism", "epsilon", "central"})
_BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"


def flatten(document: object) -> dict[str, object]:
    """Return {path: value} of a manifest's document.

    Raises ManifestError for a missing or unknown field.
    """
    if not isinstance(document, dict):
        raise ManifestError(f"a manifest must be an object, got {quote(document)}")
    if document.get("spec") != SPEC:
        raise ManifestError(f'spec must be "{SPEC}", got {quote(document.get("spec"))}')
    repeat = check_repeat(document.get("repeat"))
    values = _paths(document)
    fields = {field.path: field for field in FIELDS}
    for path in values.keys() - fields.keys():
        raise ManifestError(f"a manifest has no field {quote(path)}")
    for field in FIELDS:
        _check_presence(field, repeat, field.path in values)
    return values


def nest(values: Mapping[str, object]) -> dict[str, object]:
    """Return the document of {path: value}: the inverse of `flatten`."""
    document: dict[str, object] = {}
    groups: dict[str, dict[str, object]] = {name: {} for name in _GROUPS}
    for path, value in values.items():
        name, _, inner = path.partition(".")
        (groups[name] if inner else document)[inner or name] = value
    return document | groups


def identity_of(values: Mapping[str, object]) -> bytes:
    """Return the SHA-256 of the canonical immutable fields, by path."""
    immutable = {
        field.path: values[field.path]
        for field in FIELDS
        if field.change is Change.IDENTITY and field.path in values
    }
    return sha256(canonical_json(immutable)).digest()


def collection_id(name: str, identity: bytes) -> str:
    """The name and the first 30 bits of the identity, five a character, in Crockford's base 32."""
    bits = int.from_bytes(identity[:4], "big") >> 2
    return f"{name}-" + "".join(_BASE32[bits >> shift & 31] for shift in range(25, -1, -5))


def _paths(document: Mapping[str, object]) -> dict[str, object]:
    values: dict[str, object] = {}
    for name, value in document.items():
        if "." in name:
            raise ManifestError(f"a manifest has no field {quote(name)}")
        if name in _GROUPS and isinstance(value, dict):
            values |= {f"{name}.{inner}": each for inner, each in value.items()}
        else:
            values[name] = value
    return values


def _check_presence(field: Field, repeat: str, present: bool) -> None:
    if repeat not in field.repeats and present:
        where = " or ".join(f'"{each}"' for each in field.repeats)
        raise ManifestError(f'{field.path} belongs to repeat = {where}, not to repeat = "{repeat}"')
    if repeat in field.repeats and not (present or field.optional):
        raise ManifestError(f"{field.path} is missing from the manifest: {field.meaning}")


def threshold_paths(repeat: str) -> tuple[str, ...]:
    """The paths of the integers computed from ε; their last parts are attributes of a mechanism."""
    return tuple(
        field.path
        for field in FIELDS
        if field.path.endswith("threshold") and repeat in field.repeats
    )


def check_repeat(value: object) -> str:
    """Return the word. Raises ManifestError if it is no rule of repetition."""
    if not isinstance(value, str) or value not in REPEATS:
        raise ManifestError(f"repeat must be one of {', '.join(REPEATS)}, got {quote(value)}")
    return value


def check_supported(path: str, value: object) -> None:
    """Raises ManifestError if this version does not support the value."""
    supported = SUPPORTED[path]
    if not any(type(value) is type(each) and value == each for each in supported):
        accepted = " or ".join(map(quote, supported))
        raise ManifestError(f"this version supports {path} = {accepted} only, got {quote(value)}")
