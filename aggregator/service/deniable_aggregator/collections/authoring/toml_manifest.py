"""Turns the TOML of a collection into the manifest that is signed.

Missing keys get their defaults, misspelt ones are refused with the nearest known name, and the
same text gives the same bytes and the same id everywhere.
"""

from __future__ import annotations

import tomllib
from datetime import date, timedelta
from typing import TYPE_CHECKING

from deniable_aggregator.collections.authoring.recommendation import recommend_for_domain
from deniable_aggregator.collections.authoring.templates import AUTO
from deniable_aggregator.collections.authoring.toml_keys import check_names, read_keys
from deniable_shared import mechanisms
from deniable_shared.domains import Domain, manifest_value, parse_domain
from deniable_shared.errors import DomainError, ManifestError, ParameterError
from deniable_shared.manifest.epochs import day_start, epoch_at, holds_in
from deniable_shared.manifest.field_reader import FieldReader
from deniable_shared.manifest.fields import (
    EPSILON_RANGE,
    SPEC,
    check_repeat,
    collection_id,
    identity_of,
    nest,
)
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.manifest.rules import check_successor, thresholds
from deniable_shared.randomness.dyadic import format_epsilon
from deniable_shared.wire.canonical import MAX_JSON_BYTES, canonical_json, quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from deniable_shared.manifest.model import Manifest

_YEAR = timedelta(days=365)
_LONGEST_EPOCH = 2_678_400
_REQUIRED = ("name", "purpose", "owner", "epsilon", "expires", "domain")
_DEFAULTS: Mapping[str, object] = {
    "spec": SPEC,
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
    text: str, *, ingest: Sequence[str], previous: Manifest | None = None, move: bool = False
) -> Manifest:
    """The manifest of a TOML text. Raises ManifestError with the fault and its remedy.

    With `previous` it is the next version of that, or `previous` itself if nothing changed.
    Missing keys come from there: valid_from (else 365 days before expires),
    hold_epochs (else the life divided by the holds that the lifetime pays) and ingest (else, or
    with `move`, the argument).
    """
    try:
        kept = ingest if move or previous is None else previous.ingest
        values = _values(_table(text), kept, previous)
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
    check_names(table)
    for key in _REQUIRED:
        if key not in table:
            raise ManifestError(f"{key} is missing: every collection needs {', '.join(_REQUIRED)}")
    check_repeat(table.get("repeat", "once"))
    values = dict(_DEFAULTS) | read_keys(table)
    if values.get("public") is False:
        del values["public"]  # a manifest has only one form of "no"
    if values.get("web_origins") == []:
        del values["web_origins"]
    values.setdefault("ledger_group", values["name"])
    values.setdefault("ingest", list(ingest))
    if "valid_from" not in values:
        values["valid_from"] = str(previous.valid_from) if previous else _year_before(values)
    domain = parse_domain(values["domain"])
    values["domain"] = domain.to_json()
    if values["default"] is not None:
        values["default"] = _default(domain, values["default"])
    _spend(values)
    if values["repeat"] == "memoized" and "hold_epochs" not in values:
        values["hold_epochs"] = previous.hold_epochs if previous else _hold_epochs(values)
    _choose_mechanism(domain, values, previous)
    return values


def _default(domain: Domain, value: object) -> object:
    try:
        return manifest_value(domain, value)
    except DomainError as error:
        raise ManifestError(f"default must be an answer of the domain: {error}") from error


def _spend(values: dict[str, object]) -> None:
    """Fill missing ε with multiples of the report's, up to the largest ε."""
    repeat, report = values["repeat"], _epsilon(values, "epsilon.report")
    price, times = report, 10 if repeat == "fresh" else 1
    if repeat == "memoized":
        values.setdefault("epsilon.permanent", _multiple(report, 2))
        price, times = _epsilon(values, "epsilon.permanent"), 2
        if price <= report:
            raise ManifestError(
                f"epsilon_permanent must be more than epsilon = {format_epsilon(report)}, "
                f"got {quote(values['epsilon.permanent'])}"
            )
    values.setdefault("epsilon.lifetime", _multiple(price, times))


def _epsilon(values: Mapping[str, object], path: str) -> Fraction:
    return FieldReader(values).epsilon(path, *EPSILON_RANGE)


def _multiple(epsilon: Fraction, times: int) -> str:
    return format_epsilon(min(times * epsilon, EPSILON_RANGE[1]))


def _hold_epochs(values: Mapping[str, object]) -> int:
    """The length of a hold with which the paid holds last for the collection's life."""
    read = FieldReader(values)
    seconds = read.integer("epoch_seconds", 1, _LONGEST_EPOCH)
    first = epoch_at(day_start(read.day("valid_from")), seconds)
    last = epoch_at(day_start(read.day("expires")) - 1, seconds)
    paid = _epsilon(values, "epsilon.lifetime") // _epsilon(values, "epsilon.permanent")
    return max(1, holds_in(last - first + 1, max(1, paid)))


def _choose_mechanism(domain: Domain, values: dict[str, object], previous: Manifest | None) -> None:
    """Set the named mechanism, else that of the previous version, else the recommended one."""
    report = _epsilon(values, "epsilon.report")
    permanent = _epsilon(values, "epsilon.permanent") if "epsilon.permanent" in values else None
    if values.setdefault("mechanism.id", AUTO) == AUTO:
        values["mechanism.id"] = _chosen(domain, values, previous, report, permanent)
    name = str(values["mechanism.id"])
    once = mechanisms.for_domain(name, domain, report, parameters=_parameters(values))
    values["mechanism.parameters"] = {
        each: getattr(once, each) for each in mechanisms.pinned_parameters(name)
    }
    mechanism = mechanisms.for_domain(
        name, domain, report, permanent=permanent, parameters=_parameters(values)
    )
    values |= thresholds(mechanism, str(values["repeat"]))


def _chosen(
    domain: Domain,
    values: Mapping[str, object],
    previous: Manifest | None,
    report: Fraction,
    permanent: Fraction | None,
) -> str:
    question = (domain, report, permanent)
    if previous and question == (
        previous.domain,
        previous.epsilon_report,
        previous.epsilon_permanent,
    ):
        return previous.mechanism_id
    linkable = values["linkable"] is True
    return recommend_for_domain(domain, report, permanent=permanent, linkable=linkable).id


def _parameters(values: Mapping[str, object]) -> Mapping[str, object]:
    given = values.get("mechanism.parameters")
    return given if isinstance(given, dict) else {}


def _year_before(values: Mapping[str, object]) -> str:
    try:
        return str(date.fromisoformat(str(values["expires"])) - _YEAR)
    except (ValueError, OverflowError) as error:
        raise ManifestError(
            f"expires must be a date, like 2027-06-01, got {quote(values['expires'])}"
        ) from error


def _manifest(values: dict[str, object], version: int, previous: str | None) -> Manifest:
    collection = collection_id(str(values["name"]), identity_of(values))
    chain = {"collection": collection, "version": version, "previous": previous}
    return parse_manifest(canonical_json(nest(values | chain)))
