"""Backup, restore and copy of an installation.

Restoring keeps a heads.json that is already in the directory. If the backup is older, releases wait
for `deniable ledger reconcile`. Without heads.json the releases since the backup are unknown: then
the whole budget counts as spent, unless the operator says that there were none.

A copy is a restore into another database while the directory keeps its own. The backup must then
equal the directory's database, and heads.json stays valid.

A store that is filled by its address is the directory's store afterwards: deniable.toml names it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.base.settings_sources import FILE_NAME, keep
from deniable_aggregator.keys import read_trust
from deniable_aggregator.keys.files import make_directory, write_public
from deniable_aggregator.operations.backup import archive, sealed_keys
from deniable_aggregator.releases.rollback_guard import heads_file
from deniable_aggregator.releases.rollback_guard.heads import Heads, heads_of
from deniable_aggregator.store import audit_log
from deniable_aggregator.store.ledger_rows import ChainHead
from deniable_aggregator.store.opening import place_of, require_portable
from deniable_aggregator.store.portable.fill import fill
from deniable_aggregator.store.portable.integrity import read_chain_heads, require_integrity
from deniable_aggregator.store.portable.snapshot import Snapshot, digests, snapshot
from deniable_aggregator.store.schema_version import current_version
from deniable_gateway.clock import record as clock_record
from deniable_gateway.directory_lock import DirectoryLock
from deniable_gateway.errors import DataDirectoryError

if TYPE_CHECKING:
    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.operations.backup.archive import Archive, Manifest
    from deniable_aggregator.store.portable.tables import Row, Table
    from deniable_shared.manifest.epochs import Clock

_ALLOWED_FILES = {
    *("trust", "keys", sealed_keys.DRAFT, FILE_NAME, "lock", "lost+found"),
    *(heads_file.NAME, "heads.lock", "deniable.db.filling"),
    *(clock_record.NAME, clock_record.CONFIRMED),
}

Watch = Callable[[str], object]
"""A function that gets a sentence for each step."""


def _unwatched(_sentence: str) -> None:
    """Show nothing."""


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """`behind`: releases wait. `has_keys`: whether the directory has its keys.

    `store` says which store was filled, without a password.
    """

    manifest: Manifest
    store: str
    has_keys: bool
    behind: bool


def back_up(
    settings: Settings,
    place: Path,
    passphrase: str | None,
    now: float,
    *,
    watch: Watch = _unwatched,
) -> Path:
    """Write one snapshot into a new file, also while a service runs; returns its path."""
    path = archive.archive_path(place, now)
    with archive.new_file(path) as file:
        write_backup(settings, file, passphrase, now, watch=watch)
    return path


def write_backup(
    settings: Settings,
    stream: IO[bytes],
    passphrase: str | None,
    now: float,
    *,
    watch: Watch = _unwatched,
) -> Manifest:
    """Write one snapshot into a file or pipe; returns its manifest."""
    trust = read_trust(settings.data)
    sealed = (
        None if passphrase is None else sealed_keys.seal_keys(settings.data / "keys", passphrase)
    )
    with snapshot(settings) as database:
        return archive.write(
            stream, database, trust=f"{trust}\n".encode(), sealed_keys=sealed, now=now, watch=watch
        )


def restore(  # noqa: PLR0913  (each is an option of the command)
    settings: Settings,
    source: Path | IO[bytes],
    *,
    passphrase: Callable[[], str],
    nothing_released_since: bool,
    database: str | None = None,
    clock: Clock = time.time,
    watch: Watch = _unwatched,
) -> RestoreResult:
    """Fill an empty data directory and store; verifies every row and both heads.

    `database`: the address of the store to fill, which deniable.toml names afterwards. If the
    directory already has a store, and no process writes to it, this makes an equal copy.

    `passphrase` is called only if the archive has keys that the directory lacks.
    """
    target = settings if database is None else replace(settings, store=database, workers=1)
    require_portable(target)
    copies = database is not None and current_version(settings) is not None
    if not copies:
        _require_empty(settings.data)
        make_directory(settings.data)
    lock = DirectoryLock.acquire(settings.data)
    try:
        with _whole(source, settings.data, watch) as whole, archive.open_archive(whole) as backup:
            _keep_trust(settings.data, backup.trust)
            if copies:
                _require_same(settings, backup.manifest, watch)
                _fill(target, backup, watch)
                behind = False
            else:
                _restore_keys(settings.data / "keys", backup, passphrase)
                behind = _restore(target, backup, watch, clock(), nothing_released_since)
            if database is not None:
                _save_address(target)
            has_keys = _has_files(settings.data / "keys")
            return RestoreResult(backup.manifest, place_of(target), has_keys, behind)
    finally:
        lock.release()


def _save_address(target: Settings) -> None:
    """Name the filled store in deniable.toml, as `deniable init` does."""
    address = target.store
    if not target.shared:  # other commands may run in other directories
        path = target.database.absolute()
        own = (target.data / "deniable.db").absolute()
        address = "" if path == own else f"sqlite:///{path}"
    try:
        keep(target.data, {"store": address})
    except OSError as error:
        raise StoreError(
            f"{place_of(target)} is filled, but {target.data / FILE_NAME} cannot be written "
            f"({error.strerror}): set store in it before you start the service"
        ) from error


def _restore(
    settings: Settings, backup: Archive, watch: Watch, now: float, nothing_released_since: bool
) -> bool:
    """Fill the store and write heads.json; returns whether releases must wait."""
    heads = heads_file.read(settings.data)
    if heads is None:  # if this run fails, the directory must show that data may be missing
        heads_file.write(settings.data, Heads(unknown=True))
    after: list[Heads] = []

    def finish(filled: Snapshot) -> None:
        audit_log.append(filled.statements, _entry(heads, now))
        after.append(heads_of(filled.statements))

    try:
        _fill(settings, backup, watch, finish)
    except BaseException:
        if heads is None:
            heads_file.remove(settings.data)
        raise
    latest = heads or replace(after[0], unknown=not nothing_released_since)
    heads_file.write(settings.data, replace(latest, audit=after[0].audit))
    return latest.unknown or (latest.ledger, latest.log) != (after[0].ledger, after[0].log)


def _fill(
    settings: Settings,
    backup: Archive,
    watch: Watch,
    finish: Callable[[Snapshot], None] | None = None,
) -> None:
    def rows(table: Table) -> Iterator[Row]:
        watch(f"Restoring {table.name}")
        return backup.rows(table)

    def check(filled: Snapshot) -> None:
        watch("Checking every count")
        require_integrity(filled)
        if read_chain_heads(filled.statements) != backup.manifest.ends:
            raise StoreError("the heads of ledger and log do not fit: nothing was written")
        if finish is not None:
            finish(filled)

    fill(settings, rows, backup.manifest.tables, check)


def _require_same(settings: Settings, manifest: Manifest, watch: Watch) -> None:
    watch("Comparing with the present database")
    with snapshot(settings) as present:
        if digests(present) != manifest.tables:
            raise StoreError(
                "the backup does not equal the present database: stop the service, "
                "then run `deniable store backup - | deniable store restore --database URL`. To "
                "restore an older backup, choose an empty directory with --data and an empty store"
            )


def _restore_keys(folder: Path, backup: Archive, passphrase: Callable[[], str]) -> None:
    if backup.sealed_keys is not None and not _has_files(folder):
        sealed_keys.restore_keys(folder, backup.sealed_keys, passphrase())


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


@contextmanager
def _whole(source: Path | IO[bytes], data: Path, watch: Watch) -> Iterator[Path | IO[bytes]]:
    """A source that can be read from its end, where an archive has its list; a pipe becomes a file.

    The file has no name, so nothing is left of it when this process ends in any way.
    """
    if isinstance(source, Path) or source.seekable():
        yield source
        return
    watch("Receiving the backup")
    with TemporaryFile(dir=data) as file:
        copyfileobj(source, file)
        yield file


def _entry(heads: Heads | None, now: float) -> AuditEntry:
    """The audit entry of a restore, with the known end of the log, which may be later."""
    was = heads.audit if heads is not None else ChainHead()
    end = f"{was.size}:{was.head}" if was.size else None
    return AuditEntry.of("restored", actor="deniable store restore", at=now, known_to_end=end)


def _require_empty(data: Path) -> None:
    names = sorted(path.name for path in data.iterdir()) if data.is_dir() else []
    foreign = [name for name in names if name not in _ALLOWED_FILES]
    if foreign:
        raise DataDirectoryError(
            f"{data} must be empty, except for keys, trust, deniable.toml and heads.json of the "
            f"lost directory; it has {foreign[0]!r}"
        )


def _keep_trust(data: Path, trust: bytes) -> None:
    path = data / "trust"
    if path.exists() and path.read_bytes().strip() != trust.strip():
        raise DataDirectoryError(f"{path} names another operator than the backup")
    write_public(path, trust)
