"""Which spool an address means: a directory, an object store, or a database.

Only the address travels to workers; each finds credentials where its own machine has them.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from deniable_gateway.errors import ExtraError, SpoolError
from deniable_gateway.spool.directory import DirectorySpool
from deniable_gateway.spool.object_store import open_object_store, without_credentials

if TYPE_CHECKING:
    from deniable_gateway.spool.protocol import Spool

POSTGRES = ("postgresql", "postgres")


def open_spool(address: str | Path) -> Spool:
    """A path or file:// is a directory; SpoolError for a place that is none."""
    if isinstance(address, Path) or "://" not in address:
        return DirectorySpool(Path(address))
    scheme = urlsplit(address).scheme
    if scheme == "file":
        return DirectorySpool(_local(address))
    if scheme in POSTGRES:
        return _database(address)
    return open_object_store(address)


@lru_cache(maxsize=4)
def cached_spool(address: str) -> Spool:
    """The same, once a process."""
    return open_spool(address)


def _database(url: str) -> Spool:
    try:
        from deniable_gateway.spool.postgres import PostgresSpool
    except ImportError as error:
        raise ExtraError(
            "a spool in PostgreSQL takes psycopg, which is not installed: "
            'pip install "deniable-gateway[postgres]"'
        ) from error
    return PostgresSpool(url, without_credentials(url))


def _local(uri: str) -> Path:
    parts = urlsplit(uri)
    if parts.netloc not in ("", "localhost"):
        raise SpoolError(f"file:// must name a path of this machine, got host {parts.netloc}")
    return Path(unquote(parts.path))
