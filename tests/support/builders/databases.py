"""A migrated database of either kind, with one collection.

Opening migrates. This happens once for each test session and kind; every database starts as a copy.
"""

from __future__ import annotations

import atexit
import re
import shutil
import sqlite3
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import psycopg
import pytest

from deniable_aggregator.store.postgres.store import PostgresStore
from deniable_aggregator.store.rows import ManifestRow
from deniable_aggregator.store.sqlite.store import SqliteStore
from support.processes import postgres_server

if TYPE_CHECKING:
    from support.doubles.kill_switch import KillSwitch

__all__ = [
    "COLLECTION",
    "KINDS",
    "AnyStore",
    "Database",
    "Postgres",
    "Sqlite",
    "at",
    "fresh",
    "manifest_row",
    "register",
    "unfilled",
]

COLLECTION = "settings-4kqz0m"
AnyStore: TypeAlias = SqliteStore | PostgresStore
_copies = count(1)


def manifest_row(collection: str = COLLECTION, version: int = 1) -> ManifestRow:
    """The store's row of a manifest; the store does not read its contents."""
    name = collection.rpartition("-")[0]
    digest = sha256(f"{collection} {version}".encode()).digest()
    return ManifestRow(collection, version, name, digest, b'{"payload": "..."}')


def register(store: AnyStore, collection: str, version: int = 1) -> None:
    store.add_manifest(manifest_row(collection, version), audit=None)


class Database(ABC):
    """One database; its stores can be opened again and again, and read from outside."""

    @property
    @abstractmethod
    def address(self) -> str:
        """The address as a setting has it."""

    @abstractmethod
    def open(self, switch: KillSwitch | None = None) -> AnyStore:
        """A store that the caller closes; `switch` can end it at any statement."""

    @abstractmethod
    def execute(self, statement: str) -> list[tuple[object, ...]]:
        """Run a statement outside the store; the rows it gives. Raises the driver's errors.

        Bytes are spelled as SQLite does, x'00ff'.
        """

    @abstractmethod
    @contextmanager
    def refusing(self, words: str) -> Iterator[None]:
        """The block must fail because of a rule of the database with this name."""

    @abstractmethod
    def left_behind(self) -> Database:
        """What is on disk for the next process if every other one is killed now."""

    @abstractmethod
    def delete(self) -> None:
        """It is not needed any more."""

    @classmethod
    @abstractmethod
    def fresh(cls, folder: Path) -> Database:
        """A new one with one collection; a file lies in `folder`."""

    @classmethod
    @abstractmethod
    def unfilled(cls, folder: Path) -> Database:
        """One that no store has opened yet; a file would lie in `folder`."""


class Sqlite(Database):
    """A file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def address(self) -> str:
        return f"sqlite:///{self.path}"

    def open(self, switch: KillSwitch | None = None) -> SqliteStore:
        if switch is None:
            return SqliteStore(self.path)
        return SqliteStore(self.path, factory=switch.sqlite)

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            connection.execute("pragma recursive_triggers = on")
            return connection.execute(statement).fetchall()

    @contextmanager
    def refusing(self, words: str) -> Iterator[None]:
        with pytest.raises(sqlite3.IntegrityError, match=words):
            yield

    def left_behind(self) -> Sqlite:
        folder = Path(tempfile.mkdtemp(dir=self.path.parent))
        for name in (self.path.name, f"{self.path.name}-wal"):
            if (self.path.parent / name).exists():
                shutil.copyfile(self.path.parent / name, folder / name)
        return Sqlite(folder / self.path.name)

    def delete(self) -> None:
        for path in self.path.parent.glob(f"{self.path.name}*"):
            path.unlink()

    @classmethod
    def fresh(cls, folder: Path) -> Sqlite:
        made = cls.unfilled(folder)
        shutil.copyfile(_sqlite_template(), made.path)
        made.path.chmod(0o600)
        return made

    @classmethod
    def unfilled(cls, folder: Path) -> Sqlite:
        return cls(folder / f"store-{next(_copies)}.db")


class Postgres(Database):
    """A database in the session's server. A kill does not change it: the server lives on."""

    def __init__(self, address: str) -> None:
        self._address = address

    @property
    def address(self) -> str:
        return self._address

    def open(self, switch: KillSwitch | None = None) -> PostgresStore:
        if switch is None:
            return PostgresStore(self.address)
        return PostgresStore(self.address, factory=switch.postgres)

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        spelled = re.sub(r"\bx'([0-9a-f]*)'", r"'\\x\1'", statement)
        return postgres_server.execute(self.address, spelled)

    @contextmanager
    def refusing(self, words: str) -> Iterator[None]:
        with pytest.raises(psycopg.IntegrityError, match=words):
            yield

    def left_behind(self) -> Postgres:
        return self

    def delete(self) -> None:
        postgres_server.drop(self.address)

    @classmethod
    def fresh(cls, folder: Path) -> Postgres:
        return cls(postgres_server.copy(_postgres_template()))

    @classmethod
    def unfilled(cls, folder: Path) -> Postgres:
        return cls(postgres_server.empty())


KINDS: dict[str, type[Database]] = {"sqlite": Sqlite, "postgres": Postgres}
"""The suite of stores runs over each."""


def fresh(kind: str, folder: Path) -> Database:
    """A new database of that kind with one collection; a file lies in `folder`."""
    return KINDS[kind].fresh(folder)


def unfilled(kind: str, folder: Path) -> Database:
    """One that no store has opened yet; a file would lie in `folder`."""
    return KINDS[kind].unfilled(folder)


def at(address: str) -> AnyStore:
    """The store of an address, as another process opens it."""
    if address.startswith("sqlite:///"):
        return SqliteStore(Path(address.removeprefix("sqlite:///")))
    return PostgresStore(address)


@cache
def _sqlite_template() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="deniable-store-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    store = SqliteStore(folder / "store.db")
    register(store, COLLECTION)
    store.close()
    return folder / "store.db"


@cache
def _postgres_template() -> str:
    return postgres_server.template("one_collection", lambda store: register(store, COLLECTION))
