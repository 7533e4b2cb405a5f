"""What an operator may set: in the environment, else in deniable.toml, else the default."""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from deniable_aggregator.access.roles import PEOPLE
from deniable_aggregator.errors import SettingsError

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
_POSTGRES = ("postgresql://", "postgres://")
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
_FALSE, _TRUE = ("0", "false", "no", "off"), ("1", "true", "yes", "on")


@dataclass(frozen=True, slots=True)
class Settings:
    """Each field is a key of deniable.toml and, upper case behind DENIABLE_, a variable.

    `public_url` is where devices reach the service: by default the address it listens on, which
    moves with host and port.
    `reports_per_minute_per_prefix` is what one network (/24, /48) may send: by default a quarter of
    the 20,000 reports a second that one process can open. `max_waiting_reports` bounds what waits
    for the disk before uploads are told to come back later. `rotate_keys_days` is how long a key
    that reports are sealed to is used before the next one is made; 0 leaves that to `keys rotate`.
    `reports_per_minute_per_collection` bounds what one collection takes from all; 0 does not.
    `relay_batch` is the least number of reports that the relays in front pass on together: with it
    only relays may send reports, and estimates say what that adds; 0 takes reports from anybody.
    `spool_format` is what a door writes, "block" or "parquet", and `spool_wait_ms` how long it
    gathers reports for one object of an object store, far less than openers allow for.
    `session_hours` is how long a person stays signed in. The `oidc_…` settings name a provider that
    people may sign in with: its claim `oidc_role_claim` must hold one of the values that
    `oidc_roles` maps to roles, as in "deniable-admins=admin, staff=viewer".
    `metrics` says who reads /metrics: "admin" (with a token), "loopback" (also programs on this
    machine), "off" (nobody).
    `store` and `oidc_client_secret` are not shown; `workers` processes serve, each with threads
    and `connections`. A request's body that is not there after `body_seconds` is cut off.
    """

    data: Path = Path("data")
    store: str = field(default="", repr=False)
    public_url: str = ""
    host: str = "127.0.0.1"
    port: int = 8000
    threads: int = 32
    connections: int = 512
    body_seconds: int = 10
    workers: int = 1
    trusted_proxy: bool = False
    reports_per_minute_per_prefix: int = 300_000
    reports_per_minute_per_collection: int = 0
    relay_batch: int = 0
    max_waiting_reports: int = 50_000
    spool_format: str = "block"
    spool_wait_ms: int = 1_000
    rotate_keys_days: int = 90
    metrics: str = "admin"
    session_hours: int = 12
    oidc_issuer: str = ""
    oidc_client_id: str = ""
    oidc_client_secret: str = field(default="", repr=False)
    oidc_scope: str = "openid profile email"
    oidc_name_claim: str = "preferred_username"
    oidc_role_claim: str = "groups"
    oidc_roles: str = ""

    def __post_init__(self) -> None:
        _check_range("port", self.port, 1, 65_535)
        _check_range("threads", self.threads, 1, 1_024)
        _check_range("connections", self.connections, 1, 100_000)
        _check_range("body_seconds", self.body_seconds, 1, 3_600)
        _check_range("reports_per_minute_per_prefix", self.reports_per_minute_per_prefix, 1, 10**9)
        _check_range("max_waiting_reports", self.max_waiting_reports, 1, 10**7)
        _check_range(
            "reports_per_minute_per_collection", self.reports_per_minute_per_collection, 0, 10**9
        )
        _check_range("relay_batch", self.relay_batch, 0, 1_000_000)
        if self.relay_batch == 1:
            raise SettingsError(
                "relay_batch must be 0 or at least 2, got 1: one report is no batch"
            )
        _check_range("spool_wait_ms", self.spool_wait_ms, 0, 10_000)
        if self.spool_format not in ("block", "parquet"):
            raise SettingsError(f"spool_format must be block or parquet, got {self.spool_format!r}")
        _check_range("session_hours", self.session_hours, 1, 720)
        _check_range("rotate_keys_days", self.rotate_keys_days, 0, 3_650)
        if not self.public_url:
            object.__setattr__(self, "public_url", self.own_address)
        _check_url("public_url", self.public_url)
        _check_store(self.store)
        _check_provider(self)
        _check_metrics(self.metrics, trusted_proxy=self.trusted_proxy)
        _check_range("workers", self.workers, 1, 64)
        if self.workers > 1 and not self.shared:
            raise SettingsError(
                f"workers must be 1 with SQLite, which one process writes at a time, got "
                f"{self.workers}: set store to a postgresql:// address for more"
            )

    @classmethod
    def load(cls, environ: Mapping[str, str] = os.environ, file: Path | None = None) -> Self:
        """Variables win over the file, the file over defaults; SettingsError for any other name.

        Without `file`, deniable.toml in the data directory is read if it is there.
        """
        given = _from_environment(environ)
        path = file or Path(given.get("data", "data")) / FILE_NAME
        written = _without_own_address(_from_file(path, must_exist=file is not None))
        if file is None and "data" in written:
            raise SettingsError(f"data cannot be set in {path}, which is looked for in it")
        return cls(**{name: _convert(name, value) for name, value in {**written, **given}.items()})  # type: ignore[arg-type]

    @property
    def own_address(self) -> str:
        """How this machine reaches the service, without any proxy."""
        host = _EVERYWHERE.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def listening(self, host: str, port: int) -> Self:
        """The same at another place; a public URL that was the server's own address follows."""
        follows = self.public_url == self.own_address
        url = "" if follows else self.public_url
        return replace(self, host=host, port=port, public_url=url)

    @property
    def operator_key(self) -> Path:
        """Where the operator's key is looked for: beside the data directory, never in it."""
        return self.data.absolute().parent / "operator.key"

    @property
    def role_of(self) -> Mapping[str, str]:
        """Value of the provider's claim → role, in the order they were written."""
        pairs = [pair.partition("=") for pair in self.oidc_roles.split(",") if pair.strip()]
        return {value.strip(): role.strip() for value, _, role in pairs}

    @property
    def shared(self) -> bool:
        """Whether the store is PostgreSQL, which many processes may have open at once."""
        return self.store.startswith(_POSTGRES)

    @property
    def database(self) -> Path:
        """The SQLite file; SettingsError where the store is no file."""
        if self.shared:
            raise SettingsError("store is a PostgreSQL server: there is no database file")
        return (
            Path(self.store.removeprefix("sqlite:///")) if self.store else self.data / "deniable.db"
        )

    def environ(self) -> dict[str, str]:
        """The variables that give a child process these very settings."""
        return {
            PREFIX + field.name.upper(): _spell(getattr(self, field.name)) for field in fields(self)
        }


def keep(data: Path, settings: Mapping[str, str | int]) -> None:
    """Write these to the directory's file, which only its owner may read; other lines stay."""
    path = data / FILE_NAME
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    kept = [line for line in lines if line.partition("=")[0].strip() not in settings]
    kept += [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    if settings:
        draft = path.with_name(path.name + ".new")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write("\n".join([*kept, ""]))
        draft.replace(path)


_NAMES = tuple(field.name for field in fields(Settings))
_KINDS: Mapping[str, str] = {field.name: str(field.type) for field in fields(Settings)}


def _from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for variable, value in environ.items():
        if variable.startswith(PREFIX) and variable not in _OF_OTHERS:
            name = variable.removeprefix(PREFIX).lower()
            _check_known(name, spelled=variable, spell=lambda known: PREFIX + known.upper())
            found[name] = value
    return found


def _from_file(path: Path, *, must_exist: bool) -> dict[str, object]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if must_exist:
            raise SettingsError(f"there is no settings file {path}") from None
        return {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error
    for name in document:
        _check_known(name, spelled=f"{name} in {path}", spell=str)
    return document


def _without_own_address(written: dict[str, object]) -> dict[str, object]:
    """A file's public URL that is only its own host and port follows those of the environment."""
    place = {name: written[name] for name in ("host", "port") if name in written}
    own = Settings(**{name: _convert(name, value) for name, value in place.items()})  # type: ignore[arg-type]
    kept = written.get("public_url") != own.own_address
    return {name: value for name, value in written.items() if kept or name != "public_url"}


def _check_known(name: str, *, spelled: str, spell: Callable[[str], str]) -> None:
    if name in _NAMES:
        return
    near = difflib.get_close_matches(name, _NAMES, n=1) or _NAMES
    hint = ", ".join(spell(known) for known in near)
    raise SettingsError(f"{spelled} is not a setting; did you mean {hint}?")


def _convert(name: str, value: object) -> object:
    convert = {"int": _integer, "bool": _boolean, "Path": _path}.get(_KINDS[name], _text)
    return convert(name, value)


def _integer(name: str, value: object) -> int:
    try:
        if isinstance(value, bool | float):
            raise ValueError
        return int(str(value))
    except ValueError:
        raise SettingsError(f"{name} must be a whole number, got {value!r}") from None


def _boolean(name: str, value: object) -> bool:
    text = str(value).strip().lower()
    if text not in _FALSE + _TRUE:
        raise SettingsError(f"{name} must be true or false, got {value!r}")
    return text in _TRUE


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise SettingsError(f"{name} must be a string, got {value!r}")
    return value.strip()


def _path(name: str, value: object) -> Path:
    text = _text(name, value)
    if not text:
        raise SettingsError(f"{name} must be a directory, got an empty string")
    return Path(text).expanduser()


def _check_range(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise SettingsError(f"{name} must be {low}…{high}, got {value}")


def _check_store(value: str) -> None:
    """Without a word of it: an address may hold a password."""
    if value and not value.startswith(("sqlite:///", *_POSTGRES)):
        raise SettingsError(
            "store must be empty (SQLite in the data directory), sqlite:///PATH or "
            f"postgresql://…, got {value.partition(':')[0]!r}"
        )


def _check_metrics(value: str, *, trusted_proxy: bool) -> None:
    if value not in ("admin", "loopback", "off"):
        raise SettingsError(f"metrics must be admin, loopback or off, got {value!r}")
    if value == "loopback" and trusted_proxy:
        raise SettingsError(
            "metrics must be admin or off behind a trusted_proxy, whose requests all come from "
            "this machine, got 'loopback'"
        )


def _check_url(name: str, value: str) -> None:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
        raise SettingsError(f"{name} must be http(s)://host[:port] without a path, got {value!r}")


def _check_provider(settings: Settings) -> None:
    given = [settings.oidc_issuer, settings.oidc_client_id, settings.oidc_roles]
    if any(given) and not all(given):
        raise SettingsError(
            "oidc_issuer, oidc_client_id and oidc_roles must be set together, or none of them"
        )
    for value, role in settings.role_of.items():
        if role not in PEOPLE or not value:
            raise SettingsError(
                f"oidc_roles must be pairs like 'staff=viewer', roles {', '.join(PEOPLE)}, "
                f"got {value}={role}"
            )
    issuer = urlsplit(settings.oidc_issuer)
    if settings.oidc_issuer and not _is_safe(issuer.scheme, issuer.hostname):
        raise SettingsError(
            f"oidc_issuer must be https://…, or http on this machine, got {settings.oidc_issuer!r}"
        )


def _is_safe(scheme: str, host: str | None) -> bool:
    return bool(host) and (scheme == "https" or host in ("127.0.0.1", "::1", "localhost"))


def _spell(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
