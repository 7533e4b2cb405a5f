"""A lock on a data directory that ends with its process, in every case.

With SQLite one process holds the lock alone, as there is one writer. With PostgreSQL all processes
share it. Only work that must not run at the same time as they do, such as preparing the directory,
takes it alone.
"""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING, Self

from deniable_gateway.errors import DataDirectoryError, LockedError

if TYPE_CHECKING:
    from pathlib import Path

NAME = "lock"


class DirectoryLock:
    """Held from `acquire` to `release`. The file names the process that holds it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def acquire(cls, data: Path, *, shared: bool = False) -> Self:
        """Take the lock.

        Raises LockedError, naming the last holder, if another process prevents it.

        Raises DataDirectoryError if the directory cannot be written or locked.
        """
        descriptor = _opened(data)
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 20).decode("ascii", "replace").strip() or "unknown"
            os.close(descriptor)
            raise LockedError(
                f"process {holder} has {data} open: if it has just been started, try again in a "
                "moment; else stop it, or use it over HTTP with --url"
            ) from None
        except OSError as error:
            os.close(descriptor)
            raise DataDirectoryError(
                f"{data} cannot be locked ({error.strerror}): keep the data directory on a local "
                "disk, or on a file system that has locks"
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        return cls(descriptor)

    def release(self) -> None:
        """Free the lock. A second call does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _opened(data: Path) -> int:
    try:
        return os.open(data / NAME, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise DataDirectoryError(
            f"{data / NAME} cannot be opened ({error.strerror}): the data directory must be "
            "writable for this user; check its owner, and how its disk is mounted"
        ) from error
