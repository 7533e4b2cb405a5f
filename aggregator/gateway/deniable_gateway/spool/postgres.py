"""A spool in a PostgreSQL database (extra `postgres`): each file is a row in a separate schema.

A consumer makes the schema when it first writes the notices. An intake's role needs `usage` of the
schema, `insert` on `blocks` and `select` on `notices`. Then it can read neither reports nor the
store.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import class_row

from deniable_gateway.errors import SpoolUnavailableError
from deniable_gateway.spool.protocol import NOTICES, SpoolFile

if TYPE_CHECKING:
    from collections.abc import Iterator

Connection = psycopg.Connection[Any]

DEFAULTS: dict[str, str | int] = {
    "application_name": "deniable",
    "connect_timeout": 10,
    "tcp_user_timeout": 15_000,  # milliseconds, so that a dead server is noticed
}
SCHEMA_LOCK = 0x64656E_00
"""The advisory lock for changes of schemas; the store uses the same."""

SCHEMA = b"""
create schema if not exists deniable_spool;
create table if not exists deniable_spool.blocks (
    name text primary key,
    body bytea storage external not null,
    damaged boolean not null default false
);
create table if not exists deniable_spool.notices (
    only_one boolean primary key default true check (only_one),
    body bytea not null
);
"""
_DURABLE = b"""
select set_config('synchronous_commit',
                  case found when 'off' then 'on' else found end, false)
from current_setting('synchronous_commit') as found"""
"""Set in the session itself, so that a reload of the server's settings cannot change it."""
_THERE = b"select to_regclass('deniable_spool.notices') is not null"
_PUT = b"insert into deniable_spool.blocks (name, body) values (%s, %b)"
_FILES = b"select name, octet_length(body) as size from deniable_spool.blocks where not damaged"
_GET = b"select body from deniable_spool.blocks where name = %s and not damaged"
_REMOVE = b"delete from deniable_spool.blocks where name = %s and not damaged"
_SET_ASIDE = b"update deniable_spool.blocks set damaged = true where name = %s"
_PUBLISH = b"""
insert into deniable_spool.notices (body) values (%b)
on conflict (only_one) do update set body = excluded.body"""
_PUBLISHED = b"select body from deniable_spool.notices"


class PostgresSpool:
    """The blocks of one database. Each call opens its own connection."""

    batches_uploads = False

    def __init__(self, url: str, where: str) -> None:
        self._url = url
        self.where = where

    def put(self, name: str, data: bytes) -> None:
        """See `Spool.put`."""
        with self._transaction() as connection:
            connection.execute(_PUT, (name, data))

    def files(self) -> list[SpoolFile]:
        """See `Spool.files`. Empty before a consumer has made the schema."""
        with self._transaction() as connection:
            if not _is_there(connection):
                return []
            files = connection.cursor(row_factory=class_row(SpoolFile)).execute(_FILES)
            return sorted(files)

    def get(self, name: str) -> bytes:
        """See `Spool.get`."""
        with self._transaction() as connection:
            return _body(connection.execute(_GET, (name,), binary=True).fetchone(), name)

    def sweep(self, now: float) -> None:
        """Do nothing: there are no incomplete rows."""

    def remove(self, name: str) -> None:
        """See `Spool.remove`."""
        with self._transaction() as connection:
            connection.execute(_REMOVE, (name,))

    def set_aside(self, name: str) -> None:
        """See `Spool.set_aside`: the row is marked as damaged."""
        with self._transaction() as connection:
            connection.execute(_SET_ASIDE, (name,))

    def write_notices(self, data: bytes) -> None:
        """See `Spool.write_notices`. Makes the schema if there is none."""
        with self._transaction() as connection:
            if not _is_there(connection):
                connection.execute(b"select pg_advisory_xact_lock(%s)", (SCHEMA_LOCK,))
                connection.execute(SCHEMA)
            connection.execute(_PUBLISH, (data,))

    def read_notices(self) -> bytes:
        """See `Spool.read_notices`."""
        with self._transaction() as connection:
            return _body(connection.execute(_PUBLISHED, binary=True).fetchone(), NOTICES)

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """Run a transaction that is durable afterwards.

        Raises SpoolUnavailableError if it fails.
        """
        with _refusals(), closing(_connect(self._url)) as connection:
            connection.execute(b"begin isolation level read committed read write")
            yield connection
            connection.execute(b"commit")


def _is_there(connection: Connection) -> bool:
    row = connection.execute(_THERE).fetchone()
    return row is not None and bool(row[0])


def _body(row: tuple[bytes] | None, name: str) -> bytes:
    if row is None:
        raise FileNotFoundError(f"{name} is not in the spool")
    return bytes(row[0])


def _connect(url: str) -> Connection:
    """Return a connection whose commits are on disk, even if the server's default is off."""
    given = conninfo_to_dict(url)
    defaults = {key: DEFAULTS[key] for key in DEFAULTS.keys() - given.keys()}
    connection = psycopg.connect(make_conninfo(url, **defaults), autocommit=True)
    try:
        connection.execute(_DURABLE)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn PostgreSQL's errors into one line without the rows that they quote."""
    try:
        yield
    except psycopg.Error as error:
        reason = error.diag.message_primary or str(error).strip().partition("\n")[0]
        raise SpoolUnavailableError(f"the database refuses: {reason}") from error
