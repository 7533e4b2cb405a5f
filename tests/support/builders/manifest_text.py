"""Manifests from TOML without the author's tools, for tests that run with one wheel alone.

The tests of the author's tools check that both make the same bytes from the same text. The tools
also choose and refuse; this module does not: a text names its mechanism, or gets the plainest.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from fractions import Fraction

from deniable_shared import mechanisms
from deniable_shared.domains import Domain, manifest_value, parse_domain
from deniable_shared.manifest.epochs import holds_in
from deniable_shared.manifest.fields import SPEC, collection_id, identity_of, nest
from deniable_shared.manifest.model import Manifest
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.manifest.rules import check_successor, thresholds
from deniable_shared.randomness.dyadic import format_epsilon
from deniable_shared.wire.canonical import canonical_json

PATHS = {
    "mechanism": "mechanism.id",
    "epsilon": "epsilon.report",
    "epsilon_permanent": "epsilon.permanent",
    "epsilon_lifetime": "epsilon.lifetime",
}
"""Where a key of the text lies in the manifest, if not under its own name."""

SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
MECHANISMS = {"bits": "rr/1", "choice": "grr/1"}
"""What a text gets that names no mechanism."""

DEFAULTS: Mapping[str, object] = {
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
    "mechanism.parameters": {},
}


def manifest_of(
    text: str, *, ingest: Sequence[str], previous: Manifest | None = None, move: bool = False
) -> Manifest:
    """The manifest of a text, or the next version of `previous`."""
    values = _values(tomllib.loads(text))
    values["ingest"] = list(ingest if move or previous is None else previous.ingest)
    if previous is None:
        return _parsed(values, 1, None)
    if _parsed(values, previous.version, previous.previous).body == previous.body:
        return previous
    following = _parsed(values, previous.version + 1, previous.digest.hex())
    check_successor(previous, following, previous)
    return following


def _values(table: Mapping[str, object]) -> dict[str, object]:
    values = dict(DEFAULTS)
    for key, value in table.items():
        if key == "sampled":
            values["mechanism.parameters"] = {key: value}
        elif key in ("epoch", "grace"):
            values[f"{key}_seconds"] = int(str(value)[:-1]) * SECONDS[str(value)[-1]]
        else:
            values[PATHS.get(key, key)] = str(value) if isinstance(value, date) else value
    domain = parse_domain(values["domain"])
    values["domain"] = domain.to_json()
    values.setdefault("ledger_group", values["name"])
    expires = date.fromisoformat(str(values["expires"]))
    values.setdefault("valid_from", str(expires - timedelta(days=365)))
    values.setdefault("mechanism.id", MECHANISMS.get(domain.type))
    if values["default"] is not None:
        values["default"] = manifest_value(domain, values["default"])
    permanent = _spend(values)
    return values | _mechanism(domain, values, permanent)


def _spend(values: dict[str, object]) -> Fraction | None:
    """Multiples of ε where the text does not say; answers the permanent ε."""
    epsilon = Fraction(str(values["epsilon.report"]))
    if values["repeat"] != "memoized":
        times = 10 if values["repeat"] == "fresh" else 1
        values.setdefault("epsilon.lifetime", format_epsilon(times * epsilon))
        return None
    permanent = Fraction(str(values.setdefault("epsilon.permanent", format_epsilon(2 * epsilon))))
    lifetime = Fraction(str(values.setdefault("epsilon.lifetime", format_epsilon(2 * permanent))))
    first, last = (date.fromisoformat(str(values[day])) for day in ("valid_from", "expires"))
    values.setdefault("hold_epochs", holds_in((last - first).days, int(lifetime / permanent)))
    return permanent


def _mechanism(
    domain: Domain, values: Mapping[str, object], permanent: Fraction | None
) -> dict[str, object]:
    id, epsilon = str(values["mechanism.id"]), Fraction(str(values["epsilon.report"]))
    given = values["mechanism.parameters"]
    assert isinstance(given, dict)
    once = mechanisms.for_domain(id, domain, epsilon, parameters=given)
    chain = mechanisms.for_domain(id, domain, epsilon, permanent=permanent, parameters=given)
    pinned = {name: getattr(once, name) for name in mechanisms.pinned_parameters(id)}
    return {"mechanism.parameters": pinned, **thresholds(chain, str(values["repeat"]))}


def _parsed(values: Mapping[str, object], version: int, previous: str | None) -> Manifest:
    chain = {
        "collection": collection_id(str(values["name"]), identity_of(values)),
        "version": version,
        "previous": previous,
    }
    return parse_manifest(canonical_json(nest(dict(values) | chain)))
