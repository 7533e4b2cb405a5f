"""Domains: the possible answers, and the one form in which an answer is randomized.

A DomainError never repeats the value: applications log errors, and the value is the secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from deniable_shared.domains.bits import MAX_BITS, Bits
from deniable_shared.domains.choice import MAX_CHOICES, Choice
from deniable_shared.domains.labels import MAX_LABEL_BYTES, bytes_for, pack
from deniable_shared.domains.number import Number
from deniable_shared.domains.record import MAX_ATTRIBUTES, Record, mixed_radix_digits
from deniable_shared.domains.text import Text, is_text
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
    "IndexedDomain",
    "Number",
    "Record",
    "Text",
    "Value",
    "bytes_for",
    "encode",
    "is_text",
    "manifest_value",
    "mixed_radix_digits",
    "pack",
    "parse_domain",
]

Value = object
"""Any value that an application passes; `encode` checks it."""

IndexedDomain = Choice | Number | Record
"""Domains whose answers are encoded as one index below `size`."""

Domain = Bits | IndexedDomain | Text

INDEXED = frozenset({Choice.type, Number.type, Record.type})
"""Types of the domains whose answers are one index."""

_TYPES: Mapping[str, type[Domain]] = MappingProxyType(
    {kind.type: kind for kind in (Bits, Choice, Number, Record, Text)}
)


def parse_domain(document: object) -> Domain:
    """Read a domain from a manifest. Raises ManifestError if it breaks a rule."""
    if not isinstance(document, Mapping):
        raise ManifestError(f"domain must be an object, got {type(document).__name__}")
    name = document.get("type")
    kind = _TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        names = ", ".join(_TYPES)
        raise ManifestError(f"domain type must be one of {names} in this version, got {name!r:.80}")
    return kind.from_json(document)


def encode(domain: Domain, value: object) -> tuple[int | Sequence[int], bytes]:
    """Return the value in encoded form, and the bytes that key its coins.

    Raises DomainError if the domain does not have the value.
    """
    if isinstance(domain, Bits):
        bits = domain.encode(value)
        return bits, domain.canonical(bits)
    if isinstance(domain, Text):
        text = domain.encode(value)
        return text, domain.canonical(text)
    index = domain.encode(value)
    return index, domain.canonical(index)


def manifest_value(domain: Domain, value: object) -> object:
    """Return the value in the one spelling that manifests use. Raises DomainError if it is none."""
    if isinstance(domain, Bits):
        return domain.decode(domain.encode(value))
    if isinstance(domain, Text):
        return domain.decode(domain.encode(value))
    return domain.decode(domain.encode(value))
