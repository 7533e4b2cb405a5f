"""Makes a new or renamed file last: its name is in the directory, which is synced by itself."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def sync_directory(path: Path) -> None:
    """Sync the names in a directory to disk. Windows cannot, and does it automatically."""
    if os.name == "posix":
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
