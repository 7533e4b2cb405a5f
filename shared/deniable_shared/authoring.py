"""A collection as a person writes it, in TOML, turned into the manifest that is signed.

What is left out gets its default, what is misspelt is refused with the nearest known name, and the
same text gives the same bytes and the same id everywhere.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from deniable_shared import mechanisms
from deniable_shared.canonical import MAX_JSON_BYTES, canonical_json, shown
from deniable_shared.domain import parse_domain
from deniable_shared.errors import DomainError, ManifestError, ParameterError
from deniable_shared.manifest import Manifest, check_successor, parse_manifest
from deniable_shared.manifest_fields import (
    EPSILON_RANGE,
    SPEC,
    FieldReader,
    check_supported,
    collection_id,
    identity_of,
    nest,
)
from deniable_shared.templates import template
from deniable_shared.toml_keys import read_keys

__all__ = ["manifest_from_toml", "template"]

_YEAR = timedelta(days=365)
_REQUIRED = ("name", "purpose", "owner", "epsilon", "expires", "domain")
_DEFAULTS: Mapping[str, object] = {
    "spec": SPEC,
    "mechanism.parameters": {},
    "repeat": "once",
    "epoch_seconds": 86_400,
    "grace_seconds": 172_800,
    "presence": "on_event",
    "default": None,
    "sampling": "1",
    "linkable": False,
    "read": "live",
    "central.per_epoch": "0.5",
    "central.per_installation": "2",
    "central.delta": "0",
    "cohorts": 1,
    "min_batch": 100,
    "retention_days": 400,
}


def manifest_from_toml(
    text: str, *, ingest: Sequence[str], previous: Manifest | None = None
) -> Manifest:
    """The manifest of a TOML text; ManifestError names what is wrong and the cure.

    With `previous` it is the next version of that, or `previous` itself if the text says the same.
    What the text leaves out comes from there: valid_from (else 365 days before expires) and ingest
    (else the argument).
    """
    try:
        values = _values(_table(text), ingest, previous)
    except (ParameterError, DomainError) as error:
        raise ManifestError(str(error)) from error
    if previous is None:
        return _manifest(values, 1, None)
    if _manifest(values, previous.version, previous.previous).body == previous.body:
        return previous
    following = _manifest(values, previous.version + 1, previous.digest.hex())
    check_successor(previous, following, previous)
    return following


def _table(text: str) -> Mapping[str, object]:
    if len(text) > MAX_JSON_BYTES:
        raise ManifestError(
            f"TOML must be at most {MAX_JSON_BYTES:,} characters, got {len(text):,}"
        )
    try:
        text.encode()
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"not TOML: {error}") from error


def _values(
    table: Mapping[str, object], ingest: Sequence[str], previous: Manifest | None
) -> dict[str, object]:
    for key in _REQUIRED:
        if key not in table:
            raise ManifestError(f"{key} is missing: every collection needs {', '.join(_REQUIRED)}")
    check_supported("repeat", table.get("repeat", "once"))
    values = dict(_DEFAULTS) | read_keys(table)
    values.setdefault("ledger_group", values["name"])
    values.setdefault("epsilon.lifetime", values["epsilon.report"])
    values.setdefault("ingest", list(previous.ingest if previous else ingest))
    if "valid_from" not in values:
        values["valid_from"] = str(previous.valid_from) if previous else _year_before(values)
    _choose_mechanism(values)
    return values


def _choose_mechanism(values: dict[str, object]) -> None:
    domain = parse_domain(values["domain"])
    values["domain"] = domain.to_json()
    name = str(values.setdefault("mechanism.id", mechanisms.default_id(domain)))
    epsilon = FieldReader(values).epsilon("epsilon.report", *EPSILON_RANGE)
    mechanism = mechanisms.for_domain(name, domain, epsilon)
    values["mechanism.threshold"] = f"0x{mechanism.threshold:016x}"


def _year_before(values: Mapping[str, object]) -> str:
    try:
        return str(date.fromisoformat(str(values["expires"])) - _YEAR)
    except (ValueError, OverflowError) as error:
        raise ManifestError(
            f"expires must be a date, like 2027-06-01, got {shown(values['expires'])}"
        ) from error


def _manifest(values: dict[str, object], version: int, previous: str | None) -> Manifest:
    collection = collection_id(str(values["name"]), identity_of(values))
    chain = {"collection": collection, "version": version, "previous": previous}
    return parse_manifest(canonical_json(nest(values | chain)))
