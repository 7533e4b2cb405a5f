"""The checks of `deniable doctor`: this machine, the data directory, the service."""

from __future__ import annotations

import importlib
import importlib.util
import platform
import stat
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import AggregatorError
from deniable_aggregator.base.settings_sources import FILE_NAME
from deniable_aggregator.client.errors import ServiceError
from deniable_aggregator.operations import readiness
from deniable_aggregator.operations.doctor import Check, installation
from deniable_aggregator.operations.doctor.audit_view import audit_check
from deniable_aggregator.operations.doctor.damage import damage_checks
from deniable_aggregator.operations.process import running_server
from deniable_aggregator.store import schema
from deniable_aggregator.store.opening import is_postgres, open_read_only
from deniable_aggregator.store.schema_version import current_version
from deniable_gateway.directory_lock import DirectoryLock
from deniable_gateway.errors import LockedError
from deniable_shared.errors import DeniableError
from deniable_shared.wire import dsse
from deniable_shared.wire.canonical import strict_json
from deniable_shared.wire.key_list import DELEGATION_TYPE, KEYS_TYPE, verify_key_list

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.client.service_client import ServiceClient
    from deniable_aggregator.documents.collections import CollectionDocument
    from deniable_shared.manifest.epochs import Clock

OLDEST_PYTHON = (3, 11)
DAY_SECONDS = 86_400
DELEGATION_DAYS = 60
COLLECTION_DAYS = 30
KEY_LIST_DAYS = 3
LEAST_FREE_BYTES = 500 * 1024 * 1024
OTHERS = 0o077
MANY_WAITING = 60_000
_POSTGRES = """
select current_setting('server_version'), current_setting('fsync'),
       (select reset_val from pg_settings where name = 'synchronous_commit')"""
_WAITING = "select count(*) from deltas"


def of_machine() -> Iterator[Check]:
    """Python, the versions installed, and whether demonstrations can run."""
    running = sys.version_info[:2]
    yield Check(
        "ok" if running >= OLDEST_PYTHON else "fail", "python", f"{platform.python_version()}"
    )
    yield from installation.versions()
    there = importlib.util.find_spec("deniable_client") is not None
    yield Check(
        "ok" if there else "warn",
        "client",
        "installed" if there else "demo needs it: pip install deniable-client",
    )


def of_directory(settings: Settings, now: Clock = time.time) -> Iterator[Check]:
    """Permissions, keys, schema, audit log, lock, proxy, database, disk, clock."""
    data = settings.data
    if not (data / "trust").is_file():
        yield Check("fail", "data", f"{data} is not prepared: run deniable init --data {data}")
        return
    yield _permission(data, "data")
    for path in sorted((data / "keys").glob("*.key")):
        yield _permission(path, "keys")
    yield from _operator_key_inside(data)
    yield from _delegation(data, now())
    yield installation.key_age(settings, now())
    yield installation.schema_check(settings)
    yield from damage_checks(settings)
    yield from installation.spools(settings, now())
    yield from audit_check(settings)
    yield _server(settings)
    yield from installation.proxies(settings)
    if is_postgres(settings):
        yield from of_postgres(settings)
    else:
        sqlite3 = vars(importlib.import_module("sqlite_utils.utils"))["sqlite3"]  # may be pysqlite3
        yield from installation.sqlite_checks(sqlite3.sqlite_version, sqlite3.__name__)
    if settings.shared and (data / FILE_NAME).is_file():
        yield _permission(data / FILE_NAME, "settings")
    yield _clock(settings, now())
    for place in sorted(readiness.data_directories(settings)):
        yield _disk(place)


def can_open(settings: Settings) -> bool:
    """Whether the service can be opened without changing the database's schema."""
    runs = running_server.find(settings.data) is not None
    return runs or current_version(settings) == schema.HEAD


def of_service(client: ServiceClient, trust: str | None, now: Clock = time.time) -> Iterator[Check]:
    """The published key list, verified if `trust` is known, and the registered collections."""
    try:
        yield _ready(client)
        yield _key_list(client.keys(), trust, now())
        collections = client.collections(archived=True).document.collections
    except DeniableError as error:
        yield Check("fail", "service", str(error))
        return
    yield Check("ok", "service", f"answers; it has {len(collections)} collections")
    for collection in collections:
        yield from _expiry(collection, now())


def _ready(client: ServiceClient) -> Check:
    """The answer of `/readyz`, of the running service or of this directory."""
    try:
        checks = client.ready().document.checks
    except ServiceError as error:
        return Check("fail", "ready", str(error))
    return Check("ok", "ready", ", ".join(checks))


def _permission(path: Path, what: str) -> Check:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & OTHERS:
        return Check("fail", what, f"{path} is open to others ({mode:04o}): chmod go-rwx {path}")
    return Check("ok", what, f"{path} is closed to others")


def _operator_key_inside(data: Path) -> Iterator[Check]:
    """Warn if the operator's key is in the data directory of a machine on the network."""
    from deniable_aggregator.keys import read_seed, read_trust

    trust = read_trust(data)
    for path in sorted(data.rglob("*.key")):
        try:
            inside = dsse.public_key(read_seed(path)) == trust
        except AggregatorError:
            continue
        if inside:
            yield Check("warn", "operator key", f"{path} is in the data directory: move it away")


def _delegation(data: Path, now: float) -> Iterator[Check]:
    path = data / "keys" / "delegation.json"
    try:
        payload = dsse.unverified_payload(path.read_bytes(), payload_type=DELEGATION_TYPE)
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror}): put back your copy of it"
        yield Check("fail", "delegation", message)
        return
    except DeniableError as error:
        yield Check("fail", "delegation", f"{path}: {error}")
        return
    yield _validity("delegation", _expires(payload), now, warn_days=DELEGATION_DAYS)


def _key_list(envelope: bytes, trust: str | None, now: float) -> Check:
    if trust is not None:
        verify_key_list(envelope, trusted=[trust], now=now)
    signed = dsse.decode(envelope, payload_type=KEYS_TYPE, extra=frozenset({"delegation"}))
    return _validity("key list", _expires(signed.payload), now, warn_days=KEY_LIST_DAYS)


def _expires(payload: bytes) -> int:
    document = strict_json(payload)
    return int(str(document["expires"])) if isinstance(document, dict) else 0


def _validity(what: str, expires: float, now: float, *, warn_days: int) -> Check:
    left = (expires - now) / DAY_SECONDS
    if left <= 0:
        return Check("fail", what, f"expired on {_day(expires)}: devices refuse it")
    level = "warn" if left < warn_days else "ok"
    return Check(level, what, f"valid until {_day(expires)}")


def _expiry(collection: CollectionDocument, now: float) -> Iterator[Check]:
    expires = datetime.fromisoformat(f"{collection.expires}T00:00:00+00:00").timestamp()
    if collection.state == "open" and expires - now < COLLECTION_DAYS * DAY_SECONDS:
        gone = "has expired" if expires <= now else "expires"
        yield Check("warn", "collection", f"{collection.collection} {gone} on {_day(expires)}")


def of_postgres(settings: Settings) -> Iterator[Check]:
    """Whether PostgreSQL answers and keeps commits, and how many batches wait for the roll-up."""
    try:
        with open_read_only(settings) as db:
            [[version, fsync, durable]] = db.execute(_POSTGRES).fetchall()
            [[waiting]] = db.execute(_WAITING).fetchall()
    except AggregatorError as error:
        yield Check("fail", "postgresql", str(error))
        return
    if fsync != "on":
        yield Check("fail", "postgresql", "fsync is off: a power cut loses accepted reports")
    elif durable == "off":
        yield Check(
            "warn",
            "postgresql",
            f"{version}; synchronous_commit is off by default. The service turns it on in its own "
            "sessions, but commits of other programs can be lost: alter system reset "
            "synchronous_commit",
        )
    else:
        yield Check("ok", "postgresql", f"{version}")
    level = "warn" if waiting > MANY_WAITING else "ok"
    yield Check(level, "roll-up", f"{waiting:,} batches wait, normally those of 5 seconds")


def _server(settings: Settings) -> Check:
    data = settings.data
    live = running_server.find(data)
    if live is not None:
        return Check("ok", "server", f"runs at {live.address}")
    left = (
        " (server.json is left over from a server that was killed)"
        if running_server.read(data)
        else ""
    )
    try:
        DirectoryLock.acquire(data, shared=settings.shared).release()
    except LockedError as error:
        return Check("warn", "server", str(error))
    return Check("warn" if left else "ok", "server", f"does not run{left}")


def _disk(place: Path) -> Check:
    free = readiness.free_bytes(place)
    if not readiness.is_writable(place):
        return Check("fail", "disk", f"{place} cannot be written")
    if free < readiness.LEAST_FREE_BYTES:
        return Check("fail", "disk", f"{place} {readiness.FULL}: the service is not ready")
    level = "ok" if free >= LEAST_FREE_BYTES else "warn"
    return Check(level, "disk", f"{free / 2**30:.1f} GiB free in {place}")


def _clock(settings: Settings, now: float) -> Check:
    """Whether the clock is not before the newest file of the directory."""
    newest = max(path.stat().st_mtime for path in settings.data.rglob("*") if path.is_file())
    if newest > now + 60:
        return Check(
            "fail", "clock", f"it says {_day(now)}, but a file was written on {_day(newest)}"
        )
    return Check("ok", "clock", f"{datetime.fromtimestamp(now, UTC):%Y-%m-%d %H:%M} UTC")


def _day(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d}"
