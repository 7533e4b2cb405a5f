"""Each kind of place for a spool, and processes that end between two changes of it.

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
from typing import Any, cast
from unittest.mock import patch

import psycopg

from deniable_gateway.spool import Spool, open_spool
from deniable_gateway.spool.address import cached_spool
from deniable_gateway.spool.object_store import ObjectStoreSpool
from deniable_gateway.spool.protocol import DAMAGED
from support.doubles import s3_server
from support.processes import postgres_server

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

    def set_aside(self) -> dict[str, bytes]:
        """What was set aside, by the name it had."""
        if self.kind == "database":
            asked = "select name, body from deniable_spool.blocks where damaged"
            rows = postgres_server.execute(self.address, asked)
            return {str(name): bytes(cast(bytes, body)) for name, body in rows}
        spool = self.spool
        with patch("deniable_gateway.spool.protocol.DAMAGED", "/"):
            kept = [file.name for file in spool.files() if file.name.endswith(DAMAGED)]
        return {name.removesuffix(DAMAGED): spool.get(name) for name in kept}

    def replace(self, name: str, data: bytes) -> None:
        """Other bytes under a name."""
        self.spool.remove(name)
        self.spool.put(name, data)


@contextmanager
def place_of(kind: str, folder: Path) -> Iterator[Place]:
    """Made in this folder, if it is a folder."""
    cached_spool.cache_clear()
    with ExitStack() as stack:
        stack.enter_context(patch.object(ObjectStoreSpool, "__init__", _over_watched))
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
            place.spool.write_notices(b"")  # makes the schema
        yield place
        cached_spool.cache_clear()


@contextmanager
def _moved(folder: Path) -> Iterator[str]:
    from pyarrow import fs

    folder.mkdir()
    files = fs.SubTreeFileSystem(str(folder.parent), fs.LocalFileSystem())

    def found(uri: str) -> ObjectStoreSpool:
        return ObjectStoreSpool(files, "spool", "moved://spool")

    with patch("deniable_gateway.spool.address.open_object_store", found):
        yield "moved://spool"


@contextmanager
def killed_at(step: int, kind: str) -> Iterator[list[int]]:
    """End the process before its `step`-th change to a place; yield how many changes it made."""
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

    with ExitStack() as stack:
        for owner, name in _CHANGES.get(kind, ()):
            stack.enter_context(patch.object(owner, name, watched(getattr(owner, name))))
        stack.enter_context(patch.object(_Watched, "passed", staticmethod(passed)))
        yield seen


_CHANGES: dict[str, tuple[tuple[Any, str], ...]] = {
    "directory": ((os, "fsync"), (os, "utime"), (Path, "rename"), (Path, "unlink")),
    "database": ((psycopg.Connection, "execute"),),
}
_made = ObjectStoreSpool.__init__


def _over_watched(spool: ObjectStoreSpool, files: Any, root: str, where: str) -> None:
    _made(spool, _Watched(files), root, where)


class _Watched:
    """A file system of pyarrow whose streams keep everything until they are closed.

    A process that ends closes nothing, but an abandoned stream of pyarrow closes itself.
    """

    def __init__(self, files: Any) -> None:
        self._files = files

    @staticmethod
    def passed() -> None:
        """Called before and after every change."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def open_output_stream(self, path: str) -> _Stream:
        self.passed()
        return _Stream(self._files, path)

    def move(self, path: str, other: str) -> None:
        self.passed()
        self._files.move(path, other)
        self.passed()

    def delete_file(self, path: str) -> None:
        self.passed()
        self._files.delete_file(path)


class _Stream:
    def __init__(self, files: Any, path: str) -> None:
        self._files, self._path = files, path
        self._data = b""

    def write(self, data: bytes) -> None:
        _Watched.passed()
        self._data += data

    def close(self) -> None:
        _Watched.passed()
        with self._files.open_output_stream(self._path) as stream:
            stream.write(self._data)
        _Watched.passed()
