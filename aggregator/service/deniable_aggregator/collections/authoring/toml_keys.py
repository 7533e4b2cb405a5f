"""The keys of a collection's TOML: names, value formats, and manifest fields."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable_shared.domains.number import decimal_text
from deniable_shared.errors import ManifestError
from deniable_shared.manifest.fields import FIELDS
from deniable_shared.wire.canonical import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_DURATION = re.compile(r"([0-9]{1,8})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_DECIMAL = re.compile(r"([0-9]{1,2})(?:\.([0-9]{1,12}))?")
_DOMAIN_KEYS = (
    "type",
    "labels",
    "constraint",
    "at_most",
    "low",
    "high",
    "step",
    "attributes",
    "max_bytes",
)
_NUMBERS = ("low", "high", "step")


@dataclass(frozen=True, slots=True)
class Key:
    """A TOML key, the manifest field it fills, and how its value becomes that field's."""

    path: str
    read: Callable[[object, str], object]


def check_names(table: Mapping[str, object]) -> None:
    """Raises ManifestError if no collection has a key of that name."""
    for name in _flat(table):
        if name not in KEYS:
            raise _unknown(name, KEYS)


def read_keys(table: Mapping[str, object]) -> dict[str, object]:
    """{manifest path: value} of a TOML table. Raises ManifestError with the key and the remedy."""
    values: dict[str, object] = {}
    for name, value in _flat(table).items():
        key = KEYS[name]
        if key.path in values:
            raise ManifestError(f"{name} sets {key.path} a second time: keep one")
        _check_repeat(name, key.path, str(table.get("repeat", "once")))
        values[key.path] = key.read(value, name)
    return values


def _flat(table: Mapping[str, object]) -> dict[str, object]:
    central = table.get("central", {})
    if not isinstance(central, dict):
        raise ManifestError(f"central must be a table, got {quote(central)}")
    flat = {f"central.{name}": value for name, value in central.items()}
    for name, value in table.items():
        if "." in name:
            raise _unknown(name, KEYS)
        if name != "central":
            flat[name] = value
    return flat


def _check_repeat(name: str, path: str, repeat: str) -> None:
    repeats = next(field.repeats for field in FIELDS if field.path == path)
    if repeat not in repeats:
        where = " or ".join(f'"{each}"' for each in repeats)
        raise ManifestError(
            f'{name} belongs to repeat = {where}: leave it out when repeat = "{repeat}"'
        )


def _unknown(name: str, allowed: Iterable[str], where: str = "a collection") -> ManifestError:
    from difflib import get_close_matches

    tables = [each.partition(".")[0] for each in allowed]
    near = get_close_matches(name, [*tables, *allowed], n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(sorted(allowed))}"
    return ManifestError(f"{where} has no key {quote(name)}{hint}")


def _plain(value: object, name: str) -> object:
    if isinstance(value, str | bool | int):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    kind = type(value).__name__
    raise ManifestError(
        f"{name} must be text, an integer, a boolean or a list of texts, got a {kind}"
    )


def _decimal(value: object, name: str) -> object:
    text = str(value) if type(value) is int and 0 <= value < 100 else value
    match = _DECIMAL.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ManifestError(
            f'{name} must be a number in quotes, like "0.5", at most two digits before the '
            f"point, got {quote(value)}"
        )
    part = (match[2] or "").rstrip("0")
    return str(int(match[1])) + (f".{part}" if part else "")


def _sampled(value: object, name: str) -> object:
    if type(value) is not int:
        raise ManifestError(f"{name} must be the number of bits in a report, got {quote(value)}")
    return {name: value}


def _search_step(value: object, name: str) -> object:
    if type(value) is not int:
        raise ManifestError(
            f"{name} must be the number of bytes that a level of the search adds, 0 for none, "
            f"got {quote(value)}"
        )
    return {"step": value}


def _as_written(value: object, _name: str) -> object:
    return value


def _duration(value: object, name: str) -> object:
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ManifestError(
            f'{name} must be a duration like "1d", "36h" or "90m", got {quote(value)}: '
            f"for seconds write {name}_seconds"
        )
    return int(match[1]) * _SECONDS[match[2]]


def _day(value: object, name: str) -> object:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str):
        return value
    raise ManifestError(f"{name} must be a date, like 2027-06-01, got {quote(value)}")


def _domain(value: object, name: str) -> object:
    if not isinstance(value, dict):
        raise ManifestError(
            f"{name} must be a table with type and what that takes, got {quote(value)}"
        )
    for key in value:
        if key in _DOMAIN_KEYS:
            continue
        if key in KEYS:
            raise ManifestError(f"{key} is in the table [domain]: move it above that line")
        raise _unknown(key, _DOMAIN_KEYS, "the table [domain]")
    read = {key: _number(value[key], key) for key in _NUMBERS if key in value}
    if isinstance(value.get("attributes"), dict):
        read["attributes"] = [
            {"name": each, "labels": labels} for each, labels in value["attributes"].items()
        ]
    return value | read


def _number(value: object, name: str) -> object:
    """The canonical text of a decimal; whole numbers may be written without quotes."""
    text = str(value) if type(value) is int else value
    if isinstance(text, str) and re.fullmatch(r"-?[0-9]{1,12}(\.[0-9]{1,6})?", text):
        return decimal_text(Fraction(text))
    raise ManifestError(
        f'{name} must be a whole number, or a number in quotes like "0.5", at most six decimals, '
        f"got {quote(value)}"
    )


KEYS: Mapping[str, Key] = {
    "name": Key("name", _plain),
    "purpose": Key("purpose", _plain),
    "owner": Key("owner", _plain),
    "valid_from": Key("valid_from", _day),
    "expires": Key("expires", _day),
    "domain": Key("domain", _domain),
    "mechanism": Key("mechanism.id", _plain),
    "sampled": Key("mechanism.parameters", _sampled),
    "search_step": Key("mechanism.parameters", _search_step),
    "epsilon": Key("epsilon.report", _decimal),
    "epsilon_permanent": Key("epsilon.permanent", _decimal),
    "epsilon_lifetime": Key("epsilon.lifetime", _decimal),
    "ledger_group": Key("ledger_group", _plain),
    "repeat": Key("repeat", _plain),
    "hold_epochs": Key("hold_epochs", _plain),
    "epoch": Key("epoch_seconds", _duration),
    "epoch_seconds": Key("epoch_seconds", _plain),
    "grace": Key("grace_seconds", _duration),
    "grace_seconds": Key("grace_seconds", _plain),
    "presence": Key("presence", _plain),
    "default": Key("default", _as_written),
    "sampling": Key("sampling", _decimal),
    "linkable": Key("linkable", _plain),
    "requires": Key("requires", _plain),
    "read": Key("read", _plain),
    "public": Key("public", _plain),
    "central.per_epoch": Key("central.per_epoch", _decimal),
    "central.per_installation": Key("central.per_installation", _decimal),
    "central.delta": Key("central.delta", _decimal),
    "cohorts": Key("cohorts", _plain),
    "min_batch": Key("min_batch", _plain),
    "retention_days": Key("retention_days", _plain),
    "ingest": Key("ingest", _plain),
    "web_origins": Key("web_origins", _plain),
}
