"""Backup, restore and copy: what is read, where it goes, and what the directory then knows.

A restored directory keeps a heads.json that lies in it: if the backup is older, releases wait for
`deniable ledger reconcile`. Without one nobody knows what was released since the backup: then the
whole budget is at stake, unless the operator says that nothing was.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.keys import read_trust
from deniable_aggregator.keys.files import make_directory, write_public
from deniable_aggregator.operations.backup import archive, sealed_keys
from deniable_aggregator.operations.backup.archive import Archive, Manifest
from deniable_aggregator.releases.rollback_guard import heads_file
from deniable_aggregator.releases.rollback_guard.heads import Heads, heads_of
from deniable_aggregator.store import audit_log
from deniable_aggregator.store.ledger_chain import ChainHead
from deniable_aggregator.store.opening import require_portable
from deniable_aggregator.store.portable.chain_heads import ChainHeads, read_chain_heads
from deniable_aggregator.store.portable.fill import Source, fill
from deniable_aggregator.store.portable.integrity import require_integrity
from deniable_aggregator.store.portable.snapshot import Snapshot, TableDigest, digests, snapshot
from deniable_gateway.clock import record as clock_record
from deniable_gateway.directory_lock import DirectoryLock
from deniable_gateway.errors import DataDirectoryError
from deniable_shared.manifest.epochs import Clock

_ALLOWED_FILES = {
    *("trust", "keys", "deniable.toml", "lock", "lost+found"),
    *(heads_file.NAME, "heads.lock", "deniable.db.filling"),
    *(clock_record.NAME, clock_record.CONFIRMED),
}


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """`behind`: releases wait. `has_keys`: whether the directory has its keys."""

    manifest: Manifest
    has_keys: bool
    behind: bool


def back_up(settings: Settings, place: Path, passphrase: str | None, now: float) -> Path:
    """One snapshot, beside a service that runs or of a directory at rest; where it was written."""
    trust = read_trust(settings.data)
    sealed = (
        None if passphrase is None else sealed_keys.seal_keys(settings.data / "keys", passphrase)
    )
    path = archive.archive_path(place, now)
    with snapshot(settings) as database:
        archive.write(path, database, trust=f"{trust}\n".encode(), sealed_keys=sealed, now=now)
    return path


def restore(
    settings: Settings,
    path: Path,
    *,
    passphrase: Callable[[], str],
    nothing_released_since: bool,
    clock: Clock = time.time,
) -> RestoreResult:
    """Into an empty data directory and an empty store; every row and both heads are verified.

    The audit log gets one entry more, which says so.

    `passphrase` is asked only if the archive holds keys that the directory lacks.
    """
    require_portable(settings)
    _require_empty(settings.data)
    with archive.open_archive(path) as backup:
        make_directory(settings.data)
        lock = DirectoryLock.acquire(settings.data)
        try:
            return _restored(settings, backup, passphrase, nothing_released_since, clock())
        finally:
            lock.release()


def copy_store(settings: Settings, url: str) -> dict[str, TableDigest]:
    """Copy everything into the empty store at `url`, while no process writes; the digests."""
    target = replace(settings, store=url, workers=1)
    require_portable(target)
    if target.store == settings.store:
        raise StoreError("the store to copy to must be another than the present one")
    lock = DirectoryLock.acquire(settings.data)
    try:
        with snapshot(settings) as database:
            require_integrity(database)
            wanted = digests(database)
            fill(
                target,
                Source(database.rows, lambda: wanted),
                _require_chain_heads(read_chain_heads(database.statements)),
            )
    finally:
        lock.release()
    return wanted


def _restored(
    settings: Settings,
    backup: Archive,
    passphrase: Callable[[], str],
    nothing_released_since: bool,
    now: float,
) -> RestoreResult:
    _keep_trust(settings.data, backup.trust)
    folder = settings.data / "keys"
    if backup.sealed_keys is not None and not folder.exists():
        sealed_keys.restore_keys(folder, backup.sealed_keys, passphrase())
    heads = heads_file.read(settings.data)
    if heads is None:  # whatever ends this run, the directory says that something may be missing
        heads_file.write(settings.data, Heads(unknown=True))
    manifest = backup.manifest
    after: list[Heads] = []

    def check(filled: Snapshot) -> None:
        _require_chain_heads(manifest.ends)(filled)
        audit_log.append(filled.statements, _entry(heads, now))
        after.append(heads_of(filled.statements))

    try:
        fill(settings, Source(backup.rows, lambda: manifest.tables), check)
    except BaseException:
        if heads is None:
            heads_file.remove(settings.data)
        raise
    if heads is None:
        heads = replace(after[0], unknown=not nothing_released_since)
    heads = replace(heads, audit=after[0].audit)
    heads_file.write(settings.data, heads)
    same = (heads.ledger, heads.log) == (after[0].ledger, after[0].log)
    return RestoreResult(manifest, folder.is_dir(), heads.unknown or not same)


def _entry(heads: Heads | None, now: float) -> AuditEntry:
    """What the audit log says of it: also where it was known to end, which may be further on."""
    was = heads.audit if heads is not None else ChainHead()
    end = f"{was.size}:{was.head}" if was.size else None
    return AuditEntry.of("restored", actor="deniable restore", at=now, known_to_end=end)


def _require_chain_heads(wanted: ChainHeads) -> Callable[[Snapshot], None]:
    def check(filled: Snapshot) -> None:
        require_integrity(filled)
        if read_chain_heads(filled.statements) != wanted:
            raise StoreError("ledger and log do not lead to their heads: nothing was written")

    return check


def _require_empty(data: Path) -> None:
    names = sorted(path.name for path in data.iterdir()) if data.is_dir() else []
    foreign = [name for name in names if name not in _ALLOWED_FILES]
    if foreign:
        raise DataDirectoryError(
            f"{data} must be empty, but for keys, trust, deniable.toml and heads.json of the "
            f"directory that was lost; it holds {foreign[0]!r}"
        )


def _keep_trust(data: Path, trust: bytes) -> None:
    path = data / "trust"
    if path.exists() and path.read_bytes().strip() != trust.strip():
        raise DataDirectoryError(f"{path} names another operator than the backup")
    write_public(path, trust)
