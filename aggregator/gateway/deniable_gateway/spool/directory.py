"""A spool on a disk, or on a shared file system that renames in one step.

A file is written in the same directory under a name that readers skip, then synced and renamed, and
the directory is synced. So after `put` a power cut loses nothing. The time of a file is set to 0.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from deniable_gateway.directory_sync import sync_directory
from deniable_gateway.errors import SpoolError
from deniable_gateway.spool.protocol import DAMAGED, NOTICES, SpoolFile, is_file_of_spool

DRAFT_SECONDS = 86_400
"""Seconds after which a draft must be left over from a killed process: writing takes seconds."""


class DirectorySpool:
    """The files of a directory. Raises SpoolError if there is none."""

    batches_uploads = False

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise SpoolError(f"there is no directory {path} for the spool: make one")
        self._path = path

    @property
    def where(self) -> str:
        """The path."""
        return str(self._path.absolute())

    def put(self, name: str, data: bytes) -> None:
        """See `Spool.put`. Only the owner may read the file."""
        self._write(name, data, mode=0o600, timeless=True)

    def files(self) -> list[SpoolFile]:
        """See `Spool.files`."""
        files = []
        with os.scandir(self._path) as entries:
            for entry in entries:
                if is_file_of_spool(entry.name):
                    with suppress(FileNotFoundError):  # another consumer has processed it
                        files.append(SpoolFile(entry.name, entry.stat().st_size))
        return sorted(files)

    def get(self, name: str) -> bytes:
        """See `Spool.get`."""
        return (self._path / name).read_bytes()

    def remove(self, name: str) -> None:
        """See `Spool.remove`."""
        (self._path / name).unlink(missing_ok=True)

    def set_aside(self, name: str) -> None:
        """See `Spool.set_aside`."""
        with suppress(FileNotFoundError):
            (self._path / name).rename(self._path / f"{name}{DAMAGED}")

    def sweep(self, now: float) -> None:
        """See `Spool.sweep`. A draft's age is that of its inode, as its own time is 0."""
        with os.scandir(self._path) as entries:
            drafts = [entry for entry in entries if _is_draft(entry.name)]
        for draft in drafts:
            with suppress(FileNotFoundError):  # another process has finished or removed it
                if draft.stat().st_ctime < now - DRAFT_SECONDS:
                    Path(draft.path).unlink()

    def write_notices(self, data: bytes) -> None:
        """See `Spool.write_notices`. Every user may read the file, and its time is kept."""
        self._write(NOTICES, data, mode=0o644, timeless=False)

    def read_notices(self) -> bytes:
        """See `Spool.read_notices`."""
        return self.get(NOTICES)

    def _write(self, name: str, data: bytes, *, mode: int, timeless: bool) -> None:
        draft = self._path / f".{name}.{secrets.token_hex(8)}.draft"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                if timeless:
                    os.utime(file.fileno(), (0, 0))
                os.fsync(file.fileno())
            draft.rename(self._path / name)
        except BaseException:  # an incomplete file must not fill a full disk
            draft.unlink(missing_ok=True)
            raise
        sync_directory(self._path)


def _is_draft(name: str) -> bool:
    return name.startswith(".") and name.endswith(".draft")
