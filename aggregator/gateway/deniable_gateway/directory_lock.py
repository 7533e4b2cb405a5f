"""Who has a data directory open: a lock that ends with its process, however that ends.

With SQLite one process holds it alone: there is one writer. With PostgreSQL every process holds it
together with the others, and alone only what may not happen while any of them runs, such as
preparing the directory.
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
    """Held from `acquire` to `release`; the file says which process holds it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def acquire(cls, data: Path, *, shared: bool = False) -> Self:
        """Raises LockedError, naming the process that came last, if it is held otherwise.

        Raises DataDirectoryError where nothing can be written or locked.
        """
        descriptor = _opened(data)
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 20).decode("ascii", "replace").strip() or "unknown"
            os.close(descriptor)
            raise LockedError(
                f"process {holder} has {data} open: stop it, or reach it over HTTP with --url"
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
        """Let the next one in; the second time changes nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _opened(data: Path) -> int:
    try:
        return os.open(data / NAME, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise DataDirectoryError(
            f"{data / NAME} cannot be opened ({error.strerror}): the data directory must be "
            "writable for this user; look at its owner, and at how its disk is mounted"
        ) from error
