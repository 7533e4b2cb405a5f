"""A copy of a store, made as the command line makes it: a backup that is piped into a restore."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import BinaryIO, cast

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.backup import copying
from deniable_aggregator.operations.backup.archive import Manifest


def copy_store(settings: Settings, url: str) -> Manifest:
    """Copy everything into the empty store at `url`; what it holds."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as source:
        thread = threading.Thread(target=_back_up, args=(settings, writing))
        thread.start()
        try:
            return restore(settings, source, url).manifest
        finally:
            source.close()
            thread.join()


def restore(settings: Settings, source: Path | BinaryIO, url: str) -> copying.RestoreResult:
    """Into the store at `url`, next to the one that the directory has."""
    return copying.restore(
        settings, source, passphrase=str, nothing_released_since=False, database=url
    )


def _back_up(settings: Settings, writing: int) -> None:
    try:
        with os.fdopen(writing, "wb") as stream:
            copying.write_backup(settings, cast("BinaryIO", stream), None, 0.0)
    except BrokenPipeError:
        pass  # the reader has refused
