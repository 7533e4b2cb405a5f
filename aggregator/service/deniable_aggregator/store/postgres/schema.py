"""Migrates a PostgreSQL database to this program's schema."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import psycopg

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store import schema
from deniable_aggregator.store.postgres.pool import (
    Connection,
    Lock,
    Transaction,
    conninfo,
    make_durable,
    translate_errors,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.store.statements import Statements

LEAST_POSTGRES = 15

_TABLE = "select to_regclass('alembic_version') is not null"
_HOLD = b"select pg_advisory_lock(%s)"


def migrate(url: str) -> str | None:
    """Create or upgrade the schema. Only one process does it, the others wait.

    Returns the older schema that it replaced, or None. Raises StoreError if the server is
    unreachable or too old, and for the database of a newer program.
    """
    with translate_errors(), closing(psycopg.connect(conninfo(url))) as connection:
        _check_server(connection)
        make_durable(connection)
        if version_of(Transaction(connection)) == schema.HEAD:
            return None
        connection.execute(_HOLD, (int(Lock.MIGRATION),))
        connection.commit()  # the lock stays until the connection ends
        version = version_of(Transaction(connection))
        schema.refuse_newer(version, "the database")
        connection.commit()
        if version == schema.HEAD:
            return None
        _upgrade(connection)
        return version


def version_of(db: Statements) -> str | None:
    """The schema's version; None in an empty database."""
    [[exists]] = db.execute(_TABLE).fetchall()
    row = db.execute(schema.READ_VERSION).fetchone() if exists else None
    return None if row is None else str(row[0])


def _check_server(connection: Connection) -> None:
    version = connection.info.server_version
    if version < LEAST_POSTGRES * 10_000:
        raise StoreError(
            f"PostgreSQL must be {LEAST_POSTGRES} or newer, this is {version // 10_000}"
        )


def _upgrade(connection: Connection) -> None:
    def run_script(script: str) -> None:
        connection.execute(script.encode())

    try:
        schema.upgrade("postgres", lambda: _transaction(connection), run_script=run_script)
    except psycopg.Error as error:
        raise StoreError(f"the database cannot be upgraded: {error}") from error


@contextmanager
def _transaction(connection: Connection) -> Iterator[Transaction]:
    with connection.transaction():
        yield Transaction(connection)
