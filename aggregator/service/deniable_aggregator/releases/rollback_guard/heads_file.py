"""Reads and writes heads.json: mode 0600, replaced atomically, synced to disk, one writer."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deniable_aggregator.releases.rollback_guard.heads import Heads, parse
from deniable_gateway.directory_sync import sync_directory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "heads.json"
_LOCK = "heads.lock"


@contextmanager
def exclusive(data: Path) -> Iterator[None]:
    """Lock the file against readers and writers in all processes."""
    descriptor = os.open(data / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _give_to_owner(descriptor, data)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def read(data: Path) -> Heads | None:
    """None where there is none. Raises StoreError for a damaged one."""
    path = data / NAME
    try:
        return parse(path.read_bytes(), str(path))
    except FileNotFoundError:
        return None


def remove(data: Path) -> None:
    """Remove the file."""
    (data / NAME).unlink(missing_ok=True)


def write(data: Path, heads: Heads) -> None:
    """Write the file atomically and sync it to disk. It belongs to the directory's owner."""
    draft = data / f"{NAME}.new"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        _give_to_owner(descriptor, data)
        file.write(heads.encode())
        file.flush()
        os.fsync(file.fileno())
    draft.replace(data / NAME)
    sync_directory(data)


def _give_to_owner(descriptor: int, data: Path) -> None:
    """Give a file to the directory's owner: root may run a command of another user's service."""
    if os.geteuid() == 0:
        os.fchown(descriptor, data.stat().st_uid, data.stat().st_gid)
