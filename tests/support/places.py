"""Each kind of place for a spool, and processes that end between two of its changes.

directory   files of a directory
moved       pyarrow's file system of a directory: written, then moved
s3          pyarrow's S3 against `s3_server`
database    PostgreSQL of `postgres_server`
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg
import pytest

from deniable_aggregator.spool import Spool, open_spool
from deniable_aggregator.spool.address import opened
from deniable_aggregator.spool.objects import Objects
from support import postgres_server, s3_server

__all__ = ["KINDS", "Killed", "Place", "killed_at", "place_of"]

KINDS = ("directory", "moved", "s3", "database")


class Killed(BaseException):
    """The end of the process."""


@dataclass
class Place:
    """A spool that is empty, by its address."""

    kind: str
    address: str

    @property
    def spool(self) -> Spool:
        return open_spool(self.address)

    def replace(self, name: str, data: bytes) -> None:
        """Other bytes under a name."""
        self.spool.remove(name)
        self.spool.put(name, data)


@contextmanager
def place_of(kind: str, folder: Path) -> Iterator[Place]:
    """Made in this folder, if it is a folder."""
    opened.cache_clear()
    with ExitStack() as stack:
        if kind == "directory":
            (folder / "spool").mkdir()
            address = str(folder / "spool")
        elif kind == "moved":
            address = stack.enter_context(_moved(folder / "spool"))
        elif kind == "s3":
            stack.enter_context(patch.dict(os.environ, s3_server.CREDENTIALS))
            address = s3_server.bucket()
        else:
            address = postgres_server.empty()
            stack.callback(postgres_server.drop, address)
        place = Place(kind, address)
        if kind == "database":
            place.spool.publish(b"")  # makes the schema
        yield place
        opened.cache_clear()


@contextmanager
def _moved(folder: Path) -> Iterator[str]:
    fs = pytest.importorskip("pyarrow.fs")
    folder.mkdir()
    files = fs.SubTreeFileSystem(str(folder.parent), fs.LocalFileSystem())

    def found(uri: str) -> Objects:
        return Objects(files, "spool", "moved://spool")

    with patch("deniable_aggregator.spool.address.objects_at", found):
        yield "moved://spool"


@contextmanager
def killed_at(step: int) -> Iterator[list[int]]:
    """Before its `step`-th change to any place the process ends; yields how many it came to."""
    seen = [0]

    def passed() -> None:
        seen[0] += 1
        if seen[0] > step:
            raise Killed

    def watched(call: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*arguments: Any, **named: Any) -> Any:
            passed()
            return call(*arguments, **named)

        return counting

    made = Objects.__init__

    def over_watched(spool: Objects, files: Any, root: str, where: str) -> None:
        made(spool, _Watched(files, passed), root, where)

    owners = (
        *((os, "fsync"), (os, "utime"), (Path, "rename"), (Path, "unlink")),
        (psycopg.Connection, "execute"),
    )
    with ExitStack() as stack:
        for owner, name in owners:
            stack.enter_context(patch.object(owner, name, watched(getattr(owner, name))))
        stack.enter_context(patch.object(Objects, "__init__", over_watched))
        yield seen


class _Watched:
    """A file system of pyarrow's whose streams keep everything until they are closed.

    A process that ends closes nothing; a stream of pyarrow's that is given up does.
    """

    def __init__(self, files: Any, passed: Callable[[], None]) -> None:
        self._files, self._passed = files, passed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def open_output_stream(self, path: str) -> _Stream:
        self._passed()
        return _Stream(self._files, path, self._passed)

    def move(self, path: str, other: str) -> None:
        self._passed()
        self._files.move(path, other)
        self._passed()

    def delete_file(self, path: str) -> None:
        self._passed()
        self._files.delete_file(path)


class _Stream:
    def __init__(self, files: Any, path: str, passed: Callable[[], None]) -> None:
        self._files, self._path, self._passed = files, path, passed
        self._data = b""

    def write(self, data: bytes) -> None:
        self._passed()
        self._data += data

    def close(self) -> None:
        self._passed()
        with self._files.open_output_stream(self._path) as stream:
            stream.write(self._data)
        self._passed()
