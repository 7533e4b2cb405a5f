"""A spool in an object store, or anywhere else that pyarrow can write (extra `arrow`).

S3 and Google Cloud Storage show an object only when it is complete, so it is written under its
name. Elsewhere a file is visible while it is written, so it is written under a name that readers
skip, and moved. The bytes are passed in one piece: a killed writer leaves at most an incomplete
upload.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

from deniable_gateway.errors import ExtraError, SpoolError
from deniable_gateway.spool.protocol import DAMAGED, NOTICES, SpoolFile, is_file_of_spool

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

PUT_WHOLE = frozenset({"s3", "gcs"})
"""File systems of pyarrow, by `type_name`, that show a file only when it is complete."""

_WITH_CONTAINER = frozenset({"abfs", "abfss"})
"""Schemes whose addresses have a container in the place of a user."""

_SAY_WHERE = frozenset(
    {"blob_storage_authority", "dfs_storage_authority", "endpoint_override", "host", "port"}
)
"""Options of an address that belong to the place. Other options may be secrets."""

_ONE_REQUEST = "allow_delayed_open"
"""Makes pyarrow write a small object to S3 in one request instead of three."""


class ObjectStoreSpool:
    """The files under `root` of one file system of pyarrow."""

    batches_uploads = True

    def __init__(self, files: FileSystem, root: str, where: str) -> None:
        self._files = files
        self._root = root.rstrip("/")
        self._whole = files.type_name in PUT_WHOLE
        self.where = where

    def put(self, name: str, data: bytes) -> None:
        """See `Spool.put`. The store decides who may read it."""
        if self._whole:
            self._write(self._at(name), data)
        else:
            draft = self._at(f".{name}.{secrets.token_hex(8)}.draft")
            self._write(draft, data)
            self._files.move(draft, self._at(name))

    def files(self) -> list[SpoolFile]:
        """See `Spool.files`. Raises SpoolError if there is no such bucket or directory."""
        from pyarrow.fs import FileSelector, FileType

        infos = self._files.get_file_info(FileSelector(self._root, allow_not_found=True))
        if not infos:
            self._require_place()
        return sorted(
            SpoolFile(each.base_name, each.size)
            for each in infos
            if each.type == FileType.File and is_file_of_spool(each.base_name)
        )

    def get(self, name: str) -> bytes:
        """See `Spool.get`."""
        with self._files.open_input_file(self._at(name)) as file:
            return bytes(file.read())

    def sweep(self, now: float) -> None:
        """Do nothing: there are no incomplete objects."""

    def remove(self, name: str) -> None:
        """See `Spool.remove`."""
        with suppress(FileNotFoundError):
            self._files.delete_file(self._at(name))

    def set_aside(self, name: str) -> None:
        """See `Spool.set_aside`. On S3 this is a copy and a removal."""
        try:
            self._files.move(self._at(name), self._at(f"{name}{DAMAGED}"))
        except OSError:
            if self._is_there(self._at(name)):
                raise

    def write_notices(self, data: bytes) -> None:
        """See `Spool.write_notices`."""
        self.put(NOTICES, data)

    def read_notices(self) -> bytes:
        """See `Spool.read_notices`."""
        return self.get(NOTICES)

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _write(self, path: str, data: bytes) -> None:
        stream = self._files.open_output_stream(path)
        stream.write(data)
        stream.close()

    def _is_there(self, path: str) -> bool:
        from pyarrow.fs import FileType

        return bool(self._files.get_file_info(path).type != FileType.NotFound)

    def _require_place(self) -> None:
        """Raises SpoolError if a place without files does not exist.

        An object store has no directories, so an empty spool there looks like none.
        """
        place = self._root.partition("/")[0] if self._whole else self._root
        if not self._is_there(place):
            raise SpoolError(f"there is no bucket or directory {place} for the spool: make one")


def open_object_store(uri: str) -> ObjectStoreSpool:
    """Return the spool at an address of pyarrow. Raises SpoolError if pyarrow does not know it."""
    require_pyarrow(f"a spool at {urlsplit(uri).scheme}://…")
    from pyarrow import ArrowException
    from pyarrow.fs import FileSystem

    try:
        files, root = FileSystem.from_uri(_in_one_request(uri))
        if not root.strip("/"):
            raise ValueError("it names no bucket and no folder")
    except (ArrowException, ValueError) as error:
        raise SpoolError(
            "spool must be a directory or an address like s3://bucket/folder, "
            f"gs://bucket/folder or postgresql://…, got {without_credentials(uri)}: {error}"
        ) from error
    return ObjectStoreSpool(files, root, without_credentials(uri))


def require_pyarrow(what: str) -> None:
    """Raises ExtraError if pyarrow is not installed."""
    if find_spec("pyarrow") is None:
        raise ExtraError(
            f'{what} takes pyarrow, which is not installed: pip install "deniable-gateway[arrow]"'
        )


def without_credentials(uri: str) -> str:
    """Return the address without secrets; different places keep different addresses."""
    parts = urlsplit(uri)
    named, at, host = parts.netloc.rpartition("@")
    container = f"{named.partition(':')[0]}{at}" if parts.scheme in _WITH_CONTAINER else ""
    query = urlencode([each for each in parse_qsl(parts.query) if each[0] in _SAY_WHERE])
    address = f"{parts.scheme}://{container}{host}{parts.path.rstrip('/')}"
    return f"{address}?{query}" if query else address


def _in_one_request(uri: str) -> str:
    parts = urlsplit(uri)
    if parts.scheme != "s3" or _ONE_REQUEST in parts.query:
        return uri
    query = "&".join(filter(None, (parts.query, f"{_ONE_REQUEST}=true")))
    return parts._replace(query=query).geturl()
