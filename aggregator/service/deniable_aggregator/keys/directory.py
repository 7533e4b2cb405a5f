"""Prepares the keys of a data directory. Private keys exist only as files.

operator key (next to the data directory, later offline) → delegation → online key → key list

    data/trust                  the operator's public key
    data/keys/online.key        signs key lists
    data/keys/delegation.json   the operator's signature over the online key (DSSE, public)
    data/keys/report-<id>.key   opens reports
    data/keys/cohorts.key       assigns reports to cohorts
    data/keys/vouchers*.key     the keys of vouchers, and the secret that makes them
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import KeyFileError
from deniable_aggregator.keys import files as key_files
from deniable_aggregator.keys.cohorts import Cohorts
from deniable_aggregator.keys.files import SEED, read_seed, read_trust
from deniable_aggregator.keys.keyring import Keys
from deniable_aggregator.keys.vouchers import VoucherKeys
from deniable_gateway.errors import DataDirectoryError
from deniable_shared.wire import dsse, envelope
from deniable_shared.wire.key_list import delegate

if TYPE_CHECKING:
    from pathlib import Path

    from deniable_aggregator.base.settings import Settings

DELEGATION_SECONDS = 800 * 86_400
"""Seconds that the delegation of the online key is valid; `renew_delegation` renews it."""

_HPKE = "hpke-1"
_PREPARED = (
    "{0} is prepared already: `deniable serve` runs it. To change its address, set public_url in "
    "{0}/deniable.toml. To start again, choose another directory with --data"
)
_USED = (
    "the database has the data of another directory: give that directory with --data instead of "
    "{}, or an empty database with DENIABLE_STORE"
)
_FIRST_REPORT_KEY = "report-1.key"
_OURS = re.compile(
    r"keys|counters|trust(\.new)?|lock|heads\.(json|lock)|clock(-confirmed)?\.json|deniable\.(db(-\w+)?|toml)|server\.json|lost\+found"
)


@dataclass(frozen=True, slots=True)
class InitialisedDirectory:
    """The result of `deniable init`: `trust` for the apps, and the `admin_token`."""

    trust: str
    admin_token: str
    operator_key: Path


def initialise(settings: Settings, *, operator_key: Path, now: float) -> InitialisedDirectory:
    """Prepare the data directory, or finish what an interrupted run began.

    Uses an existing operator key. Raises DataDirectoryError if the directory is prepared already
    or has other files.
    """
    from deniable_aggregator.store.opening import require_known_kind
    from deniable_gateway.directory_lock import DirectoryLock

    require_known_kind(settings)
    _refuse_foreign_files(settings.data)
    key_files.make_directory(settings.data)
    lock = DirectoryLock.acquire(settings.data)
    try:
        return _initialise(settings, operator_key, now)
    finally:
        lock.release()


def _initialise(settings: Settings, operator_key: Path, now: float) -> InitialisedDirectory:
    from deniable_aggregator.access.audit import AuditEntry
    from deniable_aggregator.access.tokens import Tokens
    from deniable_aggregator.store import schema
    from deniable_aggregator.store.opening import open_store
    from deniable_aggregator.store.schema_version import current_version

    if current_version(settings) not in (None, schema.HEAD):  # opening would migrate it
        raise DataDirectoryError(_PREPARED.format(settings.data))
    store = open_store(settings)
    try:
        if store.tokens():  # the first token is the last step
            has_trust = (settings.data / "trust").exists()
            raise DataDirectoryError((_PREPARED if has_trust else _USED).format(settings.data))
        trust = _prepare_files(settings.data, operator_key, now)
        Keys(settings.data, store=store, clock=lambda: now)
        entry = AuditEntry.of("token-made", actor="deniable init", at=now)
        _, token = Tokens(store, clock=lambda: now).create("admin", "deniable init", audit=entry)
    finally:
        store.close()
    return InitialisedDirectory(trust, token, operator_key)


def renew_delegation(data: Path, *, operator_seed: bytes, now: float) -> None:
    """Write a new delegation of the online key; the next opening of the directory signs with it."""
    if dsse.public_key(operator_seed) != read_trust(data):
        raise KeyFileError(f"this operator key does not match {data / 'trust'}")
    online = dsse.public_key(read_seed(data / "keys" / "online.key"))
    issued = int(now)
    signed = delegate(
        operator_seed=operator_seed,
        online_key=online,
        issued=issued,
        expires=issued + DELEGATION_SECONDS,
    )
    key_files.write_public(data / "keys" / "delegation.json", signed)


def _refuse_foreign_files(data: Path) -> None:
    """Raises DataDirectoryError for foreign files: init would lock out their other users."""
    names = sorted(path.name for path in data.iterdir()) if data.is_dir() else []
    foreign = [name for name in names if not _OURS.fullmatch(name)]
    if foreign:
        raise DataDirectoryError(
            f"{data} must be an empty directory or a new one, but it has {foreign[0]!r}"
        )


def _prepare_files(data: Path, operator_key: Path, now: float) -> str:
    """Make every missing key file; returns the operator's public key."""
    folder = data / "keys"
    key_files.make_directory(folder)
    operator_seed = _seed_at(operator_key)
    _seed_at(folder / "online.key")
    if not any(folder.glob("report-*.key")):
        private, _ = envelope.generate()
        key_files.write_private(folder / _FIRST_REPORT_KEY, private, kind=_HPKE)
    Cohorts.open(folder)
    VoucherKeys.open(folder)
    trust = dsse.public_key(operator_seed)
    key_files.write_public(data / "trust", f"{trust}\n".encode())
    renew_delegation(data, operator_seed=operator_seed, now=now)
    return trust


def _seed_at(path: Path) -> bytes:
    """The seed in the file, which is made if it is missing."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        key_files.write_private(path, dsse.generate_key(), kind=SEED)
    return read_seed(path)
