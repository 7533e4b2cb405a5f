"""Reads settings from variables and deniable.toml. Unknown and removed names are errors."""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from typing import TYPE_CHECKING

from deniable_gateway.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

PREFIX = "DENIABLE_"
FILE_NAME = "deniable.toml"

_OF_OTHERS = {
    "DENIABLE_DISABLE",
    "DENIABLE_POLICY",
    "DENIABLE_RELAY",
    "DENIABLE_SPOOL",
    "DENIABLE_TOKEN",
    "DENIABLE_URL",
}
REMOVED = {
    "body_seconds": "a body may take 10 s; a proxy in front may wait longer",
    "connections": "a worker holds 10,000, where the system lets it open as many files",
    "max_waiting_reports": "2,048 uploads of a worker may be in hand",
    "oidc_name_claim": "write name=CLAIM in oidc_claims",
    "oidc_role_claim": "write role=CLAIM in oidc_claims",
    "oidc_scope": "write scope=SCOPES in oidc_claims",
    "session_hours": "a person stays signed in for 12 hours",
    "spool_format": "give --spool-format to `deniable serve --spool`",
    "spool_wait_ms": "give --spool-wait-ms to `deniable serve --spool`",
    "threads": "uploads need no threads, and 21 answer all other requests of a worker",
}


def from_environment(environ: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Name → value of each setting. Raises SettingsError for an unknown DENIABLE_… variable."""
    values = {}
    for variable, value in environ.items():
        if variable.startswith(PREFIX) and variable not in _OF_OTHERS:
            name = variable.removeprefix(PREFIX).lower()
            _check_name(name, names, spelled=variable, spell=variable_of)
            values[name] = value
    return values


def from_file(path: Path, names: Sequence[str], *, must_exist: bool) -> dict[str, object]:
    """The settings in deniable.toml. A missing file is empty, or an error if it `must_exist`."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if must_exist:
            raise SettingsError(f"there is no settings file {path}") from None
        return {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error
    for name in document:
        _check_name(name, names, spelled=f"{name} in {path}", spell=str)
    return document


def variables(settings: Mapping[str, object]) -> dict[str, str]:
    """The variables that give a child process the same settings."""
    return {variable_of(name): _text(value) for name, value in settings.items()}


def variable_of(name: str) -> str:
    """The variable of a setting."""
    return PREFIX + name.upper()


def keep(data: Path, settings: Mapping[str, str | int]) -> None:
    """Write settings to the directory's file, readable by its owner only; other lines stay."""
    path = data / FILE_NAME
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    lines_to_keep = [line for line in lines if line.partition("=")[0].strip() not in settings]
    lines_to_keep += [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    if settings:
        draft = path.with_name(path.name + ".new")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write("\n".join([*lines_to_keep, ""]))
        draft.replace(path)


def _check_name(
    name: str, names: Sequence[str], *, spelled: str, spell: Callable[[str], str]
) -> None:
    if name in names:
        return
    if name in REMOVED:
        raise SettingsError(f"{spelled} is no longer a setting: {REMOVED[name]}. Remove it")
    near = difflib.get_close_matches(name, names, n=1)
    hint = (
        f"did you mean {spell(near[0])}?" if near else f"known are {', '.join(map(spell, names))}"
    )
    raise SettingsError(f"{spelled} is not a setting; {hint}")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
