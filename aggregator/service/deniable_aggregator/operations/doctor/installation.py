"""Checks of programs and settings: versions, known faults of SQLite, proxies, keys, spools."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deniable_aggregator.base.errors import AggregatorError
from deniable_aggregator.operations.doctor import Check
from deniable_aggregator.store import schema
from deniable_aggregator.store.epoch_closing import counted_until
from deniable_aggregator.store.opening import open_read_only
from deniable_aggregator.store.schema_version import current_version
from deniable_aggregator.store.sqlite.schema import LEAST_SQLITE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deniable_aggregator.base.settings import Settings

Version = tuple[int, ...]

SHOWN = ("deniable-aggregator", "granian", "cryptography", "flask")
UNROTATED_DAYS = 365
"""Days after which an active key gets a warning if nothing rotates it."""

DAY_SECONDS = 86_400
UNCOUNTED_DAYS = 2
"""Days without a count after which a spool gets a warning: it is normally counted daily."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of SQLite from one version to before another."""

    first: Version
    fixed: Version
    level: str
    message: str


SQLITE_FAULTS = (
    Fault((0,), LEAST_SQLITE, "fail", "has no STRICT tables: the database cannot be opened"),
    Fault(
        (3, 7, 0),
        (3, 51, 3),
        "warn",
        "can corrupt a database that two processes write (the WAL-reset bug): one service writes "
        "it, let no other program",
    ),
)
"""Faults that concern this program; versions without STRICT tables are refused anyway."""


def versions(
    find: Callable[[str], str] = importlib.metadata.version,
) -> Iterator[Check]:
    """The installed versions, and whether the two distributions match."""
    shared, own = find("deniable-shared"), find("deniable-aggregator")
    if shared != own:
        message = f"deniable-aggregator {own} with deniable-shared {shared}: install one version"
        yield Check("fail", "versions", message)
        return
    yield Check("ok", "versions", ", ".join(f"{name} {find(name)}" for name in SHOWN))


def sqlite_checks(version: str, module: str) -> Iterator[Check]:
    """One check for each known fault of this SQLite; one "ok" if there is none."""
    number = tuple(int(part) for part in version.split(".")[:3])
    faults = [fault for fault in SQLITE_FAULTS if fault.first <= number < fault.fixed]
    for fault in faults:
        fixed = ".".join(map(str, fault.fixed))
        yield Check(
            fault.level, "sqlite", f"{version} ({module}) {fault.message} (fixed in {fixed})"
        )
    if not faults:
        yield Check("ok", "sqlite", f"{version} ({module})")


def proxies(settings: Settings) -> Iterator[Check]:
    """Settings that do not fit a proxy in front of this process, or its absence."""
    local, url = _is_loopback(settings.host), urlsplit(settings.public_url)
    public = not _is_loopback(url.hostname or "")
    if settings.trusted_proxy and not local:
        yield Check(
            "warn",
            "proxy",
            f"trusted_proxy is set, but the service listens on {settings.host}: what bypasses the "
            "proxy has no rate limit. Let only the proxy reach it",
        )
    elif public and url.scheme == "http":
        yield Check("fail", "proxy", f"{settings.public_url} is plain HTTP: let a proxy end TLS")
    elif public and local and not settings.trusted_proxy:
        yield Check(
            "warn",
            "proxy",
            "all devices come through a proxy on this machine and share one limit: let it limit "
            "and set DENIABLE_TRUSTED_PROXY=true",
        )
    else:
        yield Check("ok", "proxy", "fits the settings")


def schema_check(settings: Settings) -> Check:
    """Whether the database has this program's schema."""
    try:
        present = current_version(settings)
        schema.refuse_newer(present, "the database")
    except AggregatorError as error:
        return Check("fail", "schema", str(error))
    if present is None:
        return Check("fail", "schema", "the database is missing or empty: put back a copy of it")
    if present != schema.HEAD:
        message = (
            f"{present}, this program needs {schema.HEAD}: the service is not checked until "
            "deniable store migrate, or serve, has upgraded it"
        )
        return Check("warn", "schema", message)
    return Check("ok", "schema", present)


def key_age(settings: Settings, now: float) -> Check:
    """Whether the newest key that reports are sealed to is replaced in time."""
    written = [path.stat().st_mtime for path in (settings.data / "keys").glob("report-*.key")]
    if not written:
        return Check("fail", "key age", "there is no file report-<id>.key: no report can be opened")
    days = (now - max(written)) / DAY_SECONDS
    if days > (settings.rotate_keys_days or UNROTATED_DAYS) + 2:
        return Check(
            "warn", "key age", f"the newest key is {days:.0f} days old: deniable keys rotate"
        )
    return Check("ok", "key age", f"the newest key is {max(0, days):.0f} days old")


def spools(settings: Settings, now: float) -> Iterator[Check]:
    """Whether the spools that epochs wait for are counted in time."""
    try:
        if current_version(settings) != schema.HEAD:
            return
        with open_read_only(settings) as db:
            deadline = counted_until(db)
    except AggregatorError:
        return  # other checks report faults of the database
    for place, until in deadline.items():
        days = (now - until) / DAY_SECONDS
        if days > UNCOUNTED_DAYS:
            message = (
                f"{place} was not counted for {UNCOUNTED_DAYS} days, but epochs wait for it: run "
                "deniable spool drain, or with --last if you no longer use this spool"
            )
            yield Check("warn", "spool", message)
        else:
            yield Check("ok", "spool", f"{place} is counted")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
