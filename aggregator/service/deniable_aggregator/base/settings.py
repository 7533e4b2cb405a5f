"""What an operator may set: in the environment, else in deniable.toml, else the default."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_type_hints
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from deniable_aggregator.base.roles import PEOPLE
from deniable_aggregator.base.settings_sources import (
    FILE_NAME,
    from_environment,
    from_file,
    variables,
)
from deniable_gateway.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

OIDC_REQUEST = {"role": "groups", "name": "preferred_username", "scope": "openid profile email"}
_SQLITE = "sqlite:///"
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  (compared with, never bound)
_SWITCH = {"yes": "true", "on": "true", "no": "false", "off": "false"}


@dataclass(frozen=True, slots=True)
class Settings:
    """Each field is a key of deniable.toml and, upper case behind DENIABLE_, a variable.

    `public_url` is where devices reach the service: by default the address it listens on, which
    moves with host and port.
    `reports_per_minute_per_prefix` is what one network (/24, /48) may send: by default a quarter of
    the 20,000 reports a second that one process can open. `rotate_keys_days` is how long a key that
    reports are sealed to is used before the next one is made; 0 leaves that to `keys rotate`.
    `reports_per_minute_per_collection` bounds what one collection takes from all; 0 does not.
    `relay_batch` is the least number of reports that the relays in front pass on together: with it
    only relays may send reports, and estimates say what that adds; 0 takes reports from anybody.
    The `oidc_…` settings name a provider that people may sign in with. `oidc_claims` is what is
    asked of it and read, as in "role=groups, name=email"; the claim of the role must hold one of
    the values that `oidc_roles` maps to roles, as in "deniable-admins=admin, staff=viewer".
    `metrics` says who reads /metrics: "admin" (with a token), "loopback" (also programs on this
    machine), "off" (nobody).
    `store` and `oidc_client_secret` are not shown; `workers` processes serve.
    """

    data: Path = Path("data")
    store: str = field(default="", repr=False)
    public_url: str = ""
    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=1, le=65_535)] = 8000
    workers: Annotated[int, Meta(ge=1, le=64)] = 1
    trusted_proxy: bool = False
    reports_per_minute_per_prefix: Annotated[int, Meta(ge=1, le=10**9)] = 300_000
    reports_per_minute_per_collection: Annotated[int, Meta(ge=0, le=10**9)] = 0
    relay_batch: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    rotate_keys_days: Annotated[int, Meta(ge=0, le=3_650)] = 90
    metrics: Literal["admin", "loopback", "off"] = "admin"
    oidc_issuer: str = ""
    oidc_client_id: str = ""
    oidc_client_secret: str = field(default="", repr=False)
    oidc_claims: str = ""
    oidc_roles: str = ""

    def __post_init__(self) -> None:
        for name in _NAMES:
            object.__setattr__(self, name, _converted(name, getattr(self, name)))
        if not self.public_url:
            object.__setattr__(self, "public_url", self.own_address)
        _check_url("public_url", self.public_url)
        _check_provider(self)
        _check_together(self)

    @classmethod
    def load(cls, environ: Mapping[str, str] = os.environ, file: Path | None = None) -> Self:
        """Variables win over the file, the file over defaults; SettingsError for any other name.

        Without `file`, deniable.toml in the data directory is read if it is there.
        """
        from_variables = from_environment(environ, _NAMES)
        path = file or Path(from_variables.get("data", "data").strip()).expanduser() / FILE_NAME
        document = from_file(path, _NAMES, must_exist=file is not None)
        if file is None and "data" in document:
            raise SettingsError(f"data cannot be set in {path}, which is looked for in it")
        settings = cls(**{**_without_own_address(document), **from_variables})  # type: ignore[arg-type]  # one dict has values of many types
        _check_sign_in_libraries(settings.oidc_issuer)
        return settings

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
        return _pairs(self.oidc_roles)

    @property
    def oidc_request(self) -> Mapping[str, str]:
        """Claim of the `role`, claim of the `name`, and the `scope` that asks for them."""
        return {**OIDC_REQUEST, **_pairs(self.oidc_claims)}

    @property
    def shared(self) -> bool:
        """Whether many processes may have the store open at once: all but SQLite's file."""
        return bool(self.store) and not self.store.startswith(_SQLITE)

    @property
    def database(self) -> Path:
        """The SQLite file; SettingsError where the store is no file."""
        if self.shared:
            raise SettingsError("store is not SQLite: there is no database file")
        return Path(self.store.removeprefix(_SQLITE)) if self.store else self.data / "deniable.db"

    def environ(self) -> dict[str, str]:
        """The variables that give a child process these very settings."""
        return variables({name: getattr(self, name) for name in _NAMES})


_NAMES = tuple(field.name for field in fields(Settings))


def _without_own_address(document: Mapping[str, object]) -> Mapping[str, object]:
    """A file's public URL that is only its own host and port follows those of the environment."""
    place = {name: document[name] for name in ("host", "port") if name in document}
    own = Settings(**place)  # type: ignore[arg-type]  # one dict has values of many types
    if document.get("public_url") != own.own_address:
        return document
    return {name: value for name, value in document.items() if name != "public_url"}


def _check_sign_in_libraries(issuer: str) -> None:
    libraries = ("authlib", "httpx2", "joserfc") if issuer else ()
    if missing := [name for name in libraries if find_spec(name) is None]:
        raise SettingsError(
            f"oidc_issuer is {issuer}, and signing in there takes {' and '.join(missing)}, "
            'not installed here: pip install "deniable-aggregator[oidc]"'
        )


@cache
def _types() -> Mapping[str, Any]:
    return get_type_hints(Settings, include_extras=True)


def _converted(name: str, value: object) -> object:
    """The value of a setting, which variables give as text; SettingsError out of its range."""
    kind = _types()[name]
    plain = value.strip() if isinstance(value, str) else value
    if kind is bool and isinstance(plain, str):
        plain = _SWITCH.get(plain.lower(), plain)
    try:
        return msgspec.convert(plain, kind, strict=False, dec_hook=_path)
    except msgspec.ValidationError:
        raise SettingsError(f"{name} must be {_allowed(kind)}, got {value!r}") from None


def _path(_kind: type, value: object) -> Path:
    if not value or not isinstance(value, str | Path):
        raise ValueError(value)
    return Path(value).expanduser()


def _allowed(kind: object) -> str:
    match msgspec.inspect.type_info(kind):
        case msgspec.inspect.IntType(ge=low, le=high):
            return f"a whole number, {low}…{high}"
        case msgspec.inspect.BoolType():
            return "true or false"
        case msgspec.inspect.LiteralType(values=values):
            *others, last = map(str, values)
            return f"{', '.join(others)} or {last}"
        case msgspec.inspect.CustomType():
            return "a directory"
        case _:
            return "a string"


def _check_together(settings: Settings) -> None:
    """What one setting alone does not show."""
    if settings.relay_batch == 1:
        raise SettingsError("relay_batch must be 0 or at least 2, got 1: one report is no batch")
    if settings.metrics == "loopback" and settings.trusted_proxy:
        raise SettingsError(
            "metrics must be admin or off behind a trusted_proxy, whose requests all come from "
            "this machine, got 'loopback'"
        )
    if settings.workers > 1 and not settings.shared:
        raise SettingsError(
            f"workers must be 1 with SQLite, which one process writes at a time, got "
            f"{settings.workers}: set store to a postgresql:// address for more"
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
    for name in settings.oidc_request:
        if name not in OIDC_REQUEST or not settings.oidc_request[name]:
            raise SettingsError(
                "oidc_claims must be pairs like 'role=groups, name=email', of "
                f"{', '.join(OIDC_REQUEST)}, got {settings.oidc_claims!r}"
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


def _pairs(text: str) -> dict[str, str]:
    """`a=b, c=d` as a mapping, in the order it was written."""
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    return {name.strip(): value.strip() for name, _, value in pairs}


def _is_safe(scheme: str, host: str | None) -> bool:
    return bool(host) and (scheme == "https" or host in ("127.0.0.1", "::1", "localhost"))
