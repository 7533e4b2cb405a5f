"""Makes a domain from the options of `collections new`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import click

from deniable_shared.domains import Domain, parse_domain
from deniable_shared.domains.number import decimal_text
from deniable_shared.errors import DomainError

Members = dict[str, object]
"""The fields of a domain in TOML."""


def domain_of(kind: str, options: Mapping[str, object]) -> Domain:
    """The domain of a type. Raises UsageError for a missing option or one of another type."""
    takes = _TAKES[kind]
    for name, value in options.items():
        if value and name not in takes:
            owner = next(other for other, names in _TAKES.items() if name in names)
            raise click.UsageError(f"{_FLAGS[name]} belongs to --type {owner}, not to {kind}")
        if not value and name in takes:
            raise click.UsageError(f"--type {kind} needs {_FLAGS[name]}")
    document: Members = {"type": kind}
    for name in takes:
        document |= _READ[name](name, options[name])
    return parse_domain(document)


def _labels(name: str, value: object) -> Members:
    return {name: list(value) if isinstance(value, Sequence) else []}


def _number(name: str, value: object) -> Members:
    try:
        return {name: decimal_text(Fraction(str(value)))}
    except (ValueError, ZeroDivisionError, DomainError):
        raise click.UsageError(
            f"--{name} must be a number with at most six decimals, like 0.5, got {value}"
        ) from None


def _max_bytes(name: str, value: object) -> Members:
    return {name: value}


def _attributes(name: str, value: object) -> Members:
    return {name: [_attribute(text) for text in value] if isinstance(value, Sequence) else []}


def _attribute(text: str) -> Members:
    name, separator, labels = text.partition("=")
    if not separator:
        raise click.UsageError(f"--attribute must be NAME=LABEL,LABEL…, got {text}")
    return {"name": name, "labels": labels.split(",")}


_TAKES: Mapping[str, tuple[str, ...]] = {
    "bits": ("labels",),
    "choice": ("labels",),
    "number": ("low", "high", "step"),
    "record": ("attributes",),
    "text": ("max_bytes",),
}
_FLAGS = {"labels": "--label", "attributes": "--attribute", "max_bytes": "--max-bytes"} | {
    name: f"--{name}" for name in _TAKES["number"]
}
_READ: Mapping[str, Callable[[str, object], Members]] = {
    "labels": _labels,
    "attributes": _attributes,
    "max_bytes": _max_bytes,
    **dict.fromkeys(_TAKES["number"], _number),
}
