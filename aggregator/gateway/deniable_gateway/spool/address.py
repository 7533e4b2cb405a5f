"""Opens the spool at an address: a directory, an object store, or a database.

Workers get only the address. Each uses the credentials of its own machine.
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
    """Return the spool; a path or file:// is a directory. Raises SpoolError if it is no place."""
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
    """Return the spool, opened once for each process."""
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
