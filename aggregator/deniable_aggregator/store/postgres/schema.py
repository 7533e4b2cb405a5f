"""Brings a PostgreSQL database to this program's schema; Alembic loads only when there is work."""

from __future__ import annotations

from contextlib import closing

import psycopg

from deniable_aggregator.errors import StoreError
from deniable_aggregator.store import schema
from deniable_aggregator.store.postgres.pool import (
    Connection,
    Lock,
    conninfo,
    make_durable,
    translate_errors,
)

LEAST_POSTGRES = 15

_TABLE = b"select to_regclass('alembic_version') is not null"
_HOLD = b"select pg_advisory_lock(%s)"


def migrate(url: str) -> str | None:
    """Fill an empty database or upgrade it; of several processes one does, the others wait.

    Returns the older schema that this call has replaced; None where it replaced none. StoreError
    for a server that cannot be reached or is too old, and for a newer program's database.
    """
    with translate_errors(), closing(psycopg.connect(conninfo(url))) as connection:
        _check_server(connection)
        make_durable(connection)
        if revision_of(connection) == schema.HEAD:
            return None
        connection.execute(_HOLD, (int(Lock.MIGRATION),))
        connection.commit()  # the lock stays until the connection ends
        revision = revision_of(connection)
        schema.refuse_newer(revision, "the database")
        connection.commit()
        if revision == schema.HEAD:
            return None
        _upgrade(connection)
        return revision


def revision_of(connection: Connection) -> str | None:
    """The schema's revision; None in an empty database."""
    [[exists]] = connection.execute(_TABLE).fetchall()
    row = (
        connection.execute(b"select version_num from alembic_version").fetchone()
        if exists
        else None
    )
    return None if row is None else str(row[0])


def _check_server(connection: Connection) -> None:
    version = connection.info.server_version
    if version < LEAST_POSTGRES * 10_000:
        raise StoreError(
            f"PostgreSQL must be {LEAST_POSTGRES} or newer, this is {version // 10_000}"
        )


def _upgrade(connection: Connection) -> None:
    from sqlalchemy import create_engine, pool

    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: connection, poolclass=pool.StaticPool
    )
    schema.upgrade(engine)
