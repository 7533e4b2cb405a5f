"""Domains: what may be answered, and the one form in which an answer is randomized.

A DomainError never repeats the value: applications log errors, and the value is the secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from deniable_shared.domain.bits import MAX_BITS, Bits
from deniable_shared.domain.choice import MAX_CHOICES, Choice
from deniable_shared.domain.labels import MAX_LABEL_BYTES, bytes_for, pack
from deniable_shared.domain.number import Number
from deniable_shared.domain.record import MAX_ATTRIBUTES, Record, split
from deniable_shared.errors import ManifestError

__all__ = [
    "INDEXED",
    "MAX_ATTRIBUTES",
    "MAX_BITS",
    "MAX_CHOICES",
    "MAX_LABEL_BYTES",
    "Bits",
    "Choice",
    "Domain",
    "Indexed",
    "Number",
    "Record",
    "Value",
    "bytes_for",
    "encode",
    "pack",
    "parse_domain",
    "spelled",
    "split",
]

Value = object
"""Anything an application may hand in; `encode` decides."""

Indexed = Choice | Number | Record
"""Domains whose answers are encoded as one index below `size`."""

Domain = Bits | Indexed

INDEXED = frozenset({Choice.type, Number.type, Record.type})
"""Types of the domains whose answers are one index."""

_TYPES: Mapping[str, type[Domain]] = MappingProxyType(
    {kind.type: kind for kind in (Bits, Choice, Number, Record)}
)


def parse_domain(document: object) -> Domain:
    """Read a domain from a manifest; ManifestError for anything the rules do not name."""
    if not isinstance(document, Mapping):
        raise ManifestError(f"domain must be an object, got {type(document).__name__}")
    name = document.get("type")
    kind = _TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        known = ", ".join(_TYPES)
        raise ManifestError(f"domain type must be one of {known} in this version, got {name!r:.80}")
    return kind.from_json(document)


def encode(domain: Domain, value: object) -> tuple[int | tuple[int, ...], bytes]:
    """A value as it is randomized, and the bytes that key its coins; else DomainError."""
    if isinstance(domain, Bits):
        bits = domain.encode(value)
        return bits, domain.canonical(bits)
    index = domain.encode(value)
    return index, domain.canonical(index)


def spelled(domain: Domain, value: object) -> object:
    """A value in the one spelling a manifest has for it; DomainError unless it is one."""
    if isinstance(domain, Bits):
        return domain.named(domain.encode(value))
    return domain.named(domain.encode(value))
