"""A pool of connections to one PostgreSQL database. Each transaction has its own connection.

An acknowledged commit must not be lost, so synchronous_commit is never off.
Advisory locks order work that row locks cannot. They belong to the database, end with their
transaction or connection in any case, and need neither a write nor a row.
"""

from __future__ import annotations

import threading
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from deniable_aggregator.base.errors import StoreError, StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.store.statements import Rows

MOST_CONNECTIONS = 12
"""Connections of one process. Uploads share one commit at a time; the others serve readers."""

WAIT_SECONDS = 8.0
"""Longest wait for a connection, in seconds. Devices wait 10: they get an answer before that."""

WAIT_AGAIN_SECONDS = 0.5
"""Longest wait after one that was in vain, until a connection is there: callers wait in a row."""

DEFAULTS: dict[str, str | int] = {
    "application_name": "deniable",
    "connect_timeout": 10,
    "tcp_user_timeout": 15_000,  # milliseconds until a lost server is noticed
}

BEGIN = "begin isolation level read committed read write"
"""A statement after a lock must see everything committed before the lock was acquired."""

BEGIN_READING = "begin isolation level repeatable read read only"

Connection = psycopg.Connection[Any]
Factory = type[Connection]

_DURABLE = b"""
select set_config('synchronous_commit',
                  case found when 'off' then 'on' else found end, false)
from current_setting('synchronous_commit') as found"""
"""Set in every session, even if it is on already: a reload of the server's settings does not change
values that a session has set."""


class Lock(IntEnum):
    """Advisory locks of one 64-bit key; those of two 32-bit keys are (collection, epoch)."""

    MIGRATION = 0x64656E_00
    WRITE = 0x64656E_01
    FOLD = 0x64656E_02
    LEADER = 0x64656E_03


@dataclass(frozen=True, slots=True)
class Transaction:
    """A connection inside a transaction, as `Statements`: binary both ways."""

    connection: Connection

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> Rows:
        """The rows of a statement whose parameters are written `?`."""
        return self.connection.execute(_postgres_sql(sql), parameters, binary=True)

    def lock(self, lock: Lock) -> None:
        """Hold it until the transaction ends."""
        self.execute("select pg_advisory_xact_lock(?)", (int(lock),))

    def try_lock(self, lock: Lock) -> bool:
        """Hold it until the transaction ends; False if another process holds it."""
        [[acquired]] = self.execute("select pg_try_advisory_xact_lock(?)", (int(lock),)).fetchall()
        return bool(acquired)


@cache
def _postgres_sql(sql: str) -> bytes:
    return sql.replace("%", "%%").replace("?", "%b").encode()


class PostgresPool:
    """`write`, `read` and `begin` lend a `Transaction`; `close` closes all connections."""

    def __init__(self, url: str, *, factory: Factory = psycopg.Connection) -> None:
        self._writing = threading.Lock()
        self._waited_in_vain = False
        self._pool = ConnectionPool(
            conninfo(url),
            connection_class=factory,
            kwargs={"autocommit": True},
            configure=make_durable,
            check=ConnectionPool.check_connection,
            min_size=1,
            max_size=MOST_CONNECTIONS,
            reconnect_timeout=WAIT_SECONDS,  # afterwards the next caller tries at once
            name="deniable",
            open=False,
        )
        with translate_errors():
            self._pool.open()

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """A transaction, one at a time over all processes; of this one only it has a connection."""
        with self._writing, self.begin() as session:
            session.lock(Lock.WRITE)
            yield session

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A read-only transaction with one snapshot."""
        with self.begin(BEGIN_READING) as session:
            yield session

    @contextmanager
    def read_within(self, seconds: float) -> Iterator[Transaction]:
        """As `read`, but waits at most `seconds` for a connection."""
        with self.begin(BEGIN_READING, seconds) as session:
            yield session

    @contextmanager
    def begin(self, statement: str = BEGIN, seconds: float | None = None) -> Iterator[Transaction]:
        """A transaction: durable after the block, or rolled back. Raises StoreError on refusal."""
        with translate_errors(), self._lent(seconds) as connection:
            session = Transaction(connection)
            session.execute(statement)
            try:
                yield session
                session.execute("commit")
            except BaseException:
                with suppress(psycopg.Error):
                    connection.rollback()
                raise

    def close(self) -> None:
        self._pool.close()

    @contextmanager
    def _lent(self, seconds: float | None) -> Iterator[Connection]:
        usual = WAIT_AGAIN_SECONDS if self._waited_in_vain else WAIT_SECONDS
        try:
            connection = self._pool.getconn(usual if seconds is None else seconds)
        except PoolClosed:
            raise StoreError("the store is closed") from None
        except PoolTimeout:
            self._waited_in_vain = self._waited_in_vain or seconds is None
            raise
        self._waited_in_vain = False
        try:
            yield connection
        finally:
            self._pool.putconn(connection)


@contextmanager
def read_once(url: str) -> Iterator[Transaction]:
    """A read-only transaction on a new connection, without a pool."""
    with translate_errors(), closing(psycopg.connect(conninfo(url), autocommit=True)) as connection:
        connection.execute(BEGIN_READING.encode())
        yield Transaction(connection)


def connect(url: str) -> Connection:
    """A durable connection without a pool. Exceptions of psycopg propagate."""
    connection = psycopg.connect(conninfo(url), autocommit=True)
    try:
        make_durable(connection)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def write_once(url: str) -> Iterator[Transaction]:
    """One transaction on a new connection; it excludes all other registering writers."""
    with translate_errors(), closing(connect(url)) as connection:
        session = Transaction(connection)
        session.execute(BEGIN)
        session.lock(Lock.WRITE)
        yield session
        session.execute("commit")


def conninfo(url: str) -> str:
    """The operator's connection parameters, with our defaults for missing ones."""
    with translate_errors():
        parameters = conninfo_to_dict(url)
    return make_conninfo(url, **{key: DEFAULTS[key] for key in DEFAULTS.keys() - parameters.keys()})


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turn PostgreSQL's errors into StoreError with one line, without the contents of rows.

    Raises StoreUnavailableError if the server failed, not the statement.
    """
    try:
        yield
    except psycopg.Error as error:
        message = error.diag.message_primary or str(error).strip().partition("\n")[0]
        unavailable = isinstance(error, psycopg.OperationalError)
        error_type = StoreUnavailableError if unavailable else StoreError
        raise error_type(f"the database refuses: {message}") from error


def make_durable(connection: Connection) -> None:
    """Make commits of this connection durable, even if the server's default is off."""
    connection.execute(_DURABLE)
