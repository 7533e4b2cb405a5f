"""Settings of the operator: from the environment, else deniable.toml, else the default."""

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
    """Each field is a key of deniable.toml. Its variable is DENIABLE_ and the name in upper case.

    `store` and `oidc_client_secret` are left out of the repr: they may contain passwords.
    """

    data: Path = Path("data")
    """The data directory."""
    store: str = field(default="", repr=False)
    """Where the database is. Empty: SQLite in the data directory; `sqlite:///PATH`: SQLite
    elsewhere; `postgresql://…`: a PostgreSQL server."""
    public_url: str = ""
    """Where devices reach the service; manifests that name no `ingest` contain it. The default is
    the address that the service listens on, which follows host and port."""
    host: str = "127.0.0.1"
    """The address to listen on."""
    port: Annotated[int, Meta(ge=1, le=65_535)] = 8000
    """The port to listen on."""
    workers: Annotated[int, Meta(ge=1, le=64)] = 1
    """The number of serving processes (`serve --workers`). More than one needs PostgreSQL."""
    trusted_proxy: bool = False
    """Whether a proxy in front limits requests by address. Then this process reads no address."""
    reports_per_minute_per_prefix: Annotated[int, Meta(ge=1, le=10**9)] = 300_000
    """How many reports one network (/24, /48) may send to one worker. The default is a quarter of
    the 20,000 reports a second that one worker can open."""
    reports_per_minute_per_collection: Annotated[int, Meta(ge=0, le=10**9)] = 0
    """How many reports one worker accepts for one collection from all senders, relays included.
    0: no limit."""
    relay_batch: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    """The least number of reports that relays pass on together. Then only relays may send reports,
    and estimates show the privacy that this adds. 0: anyone may send."""
    rotate_keys_days: Annotated[int, Meta(ge=0, le=3_650)] = 90
    """Days after which the key that reports are sealed to is replaced. 0: only by
    `deniable keys rotate`."""
    metrics: Literal["admin", "loopback", "off"] = "admin"
    """Who may read `/metrics`. `admin`: with a token of role admin or metrics; `loopback`: also
    programs on this machine; `off`: no one."""
    oidc_issuer: str = ""
    """A provider that people may sign in with (extra `oidc`), spelled as in its own document."""
    oidc_client_id: str = ""
    """What the provider calls this service."""
    oidc_client_secret: str = field(default="", repr=False)
    """The secret that the provider gave. Empty: a public client, by PKCE alone."""
    oidc_claims: str = ""
    """The claims to request and read, instead of
    `role=groups, name=preferred_username, scope=openid profile email`: any of the three. Dots lead
    into a claim, as in `role=realm_access.roles`."""
    oidc_roles: str = ""
    """Which values of the claim mean which role: `deniable-admins=admin, staff=viewer`."""

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
        """Variables win over the file, the file over defaults. Other names raise SettingsError.

        Without `file`, deniable.toml in the data directory is read if it is there.
        """
        from_variables = from_environment(environ, _NAMES)
        path = file or Path(from_variables.get("data", "data").strip()).expanduser() / FILE_NAME
        document = from_file(path, _NAMES, must_exist=file is not None)
        if file is None and "data" in document:
            raise SettingsError(
                f"data cannot be set in {path}: that file is itself in the data directory"
            )
        settings = cls(**{**_without_own_address(document), **from_variables})  # type: ignore[arg-type]  # one dict has values of many types
        _check_sign_in_libraries(settings.oidc_issuer)
        return settings

    @property
    def own_address(self) -> str:
        """The address at which this machine reaches the service, without a proxy."""
        host = _EVERYWHERE.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def listening(self, host: str, port: int) -> Self:
        """The settings at another address. A public URL that was the old address changes too."""
        follows = self.public_url == self.own_address
        url = "" if follows else self.public_url
        return replace(self, host=host, port=port, public_url=url)

    @property
    def operator_key(self) -> Path:
        """The default place of the operator's key: next to the data directory, never in it."""
        return self.data.absolute().parent / "operator.key"

    @property
    def role_of(self) -> Mapping[str, str]:
        """Value of the provider's claim → role, in the order of the setting."""
        return _pairs(self.oidc_roles)

    @property
    def oidc_request(self) -> Mapping[str, str]:
        """Claim of the `role`, claim of the `name`, and the `scope` that requests them."""
        return {**OIDC_REQUEST, **_pairs(self.oidc_claims)}

    @property
    def shared(self) -> bool:
        """Whether several processes may open the store at once. SQLite allows one."""
        return bool(self.store) and not self.store.startswith(_SQLITE)

    @property
    def database(self) -> Path:
        """The SQLite file. Raises SettingsError if the store is not a file."""
        if self.shared:
            raise SettingsError("store is not SQLite: there is no database file")
        return Path(self.store.removeprefix(_SQLITE)) if self.store else self.data / "deniable.db"

    def environ(self) -> dict[str, str]:
        """The variables that give a child process the same settings."""
        return variables({name: getattr(self, name) for name in _NAMES})


_NAMES = tuple(field.name for field in fields(Settings))


def _without_own_address(document: Mapping[str, object]) -> Mapping[str, object]:
    """Drop a public URL that repeats the file's host and port: variables may change them."""
    place = {name: document[name] for name in ("host", "port") if name in document}
    own = Settings(**place)  # type: ignore[arg-type]  # one dict has values of many types
    if document.get("public_url") != own.own_address:
        return document
    return {name: value for name, value in document.items() if name != "public_url"}


def _check_sign_in_libraries(issuer: str) -> None:
    libraries = ("authlib", "httpx2", "joserfc") if issuer else ()
    if missing := [name for name in libraries if find_spec(name) is None]:
        raise SettingsError(
            f"oidc_issuer is {issuer}, but signing in there needs {' and '.join(missing)}, "
            'which is not installed: pip install "deniable-aggregator[oidc]"'
        )


@cache
def _types() -> Mapping[str, Any]:
    return get_type_hints(Settings, include_extras=True)


def _converted(name: str, value: object) -> object:
    """The value of a setting from text. Raises SettingsError if it is out of range."""
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
    """Check settings that depend on each other."""
    if settings.relay_batch == 1:
        raise SettingsError("relay_batch must be 0 or at least 2, got 1: one report is not a batch")
    if settings.metrics == "loopback" and settings.trusted_proxy:
        raise SettingsError(
            "metrics must be admin or off behind a trusted_proxy, as all its requests come from "
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
            "oidc_issuer, oidc_client_id and oidc_roles must be set together: set all or none"
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
    """`a=b, c=d` as a mapping, in the same order."""
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    return {name.strip(): value.strip() for name, _, value in pairs}


def _is_safe(scheme: str, host: str | None) -> bool:
    return bool(host) and (scheme == "https" or host in ("127.0.0.1", "::1", "localhost"))
