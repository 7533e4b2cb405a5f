"""A spool: a place for whole files under names. A file is visible completely or not at all.

`directory` keeps files on a disk, `object_store` in an object store, `postgres` in a database. They
do not read the files: `block_files` and `notices` do.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

NOTICES = "notices.json"
"""The name of the file that `write_notices` writes, where files have names."""

DAMAGED = ".damaged"
"""The end of the names of files that were set aside."""


class SpoolFile(NamedTuple):
    """The name of a file and its size in bytes."""

    name: str
    size: int


class Spool(Protocol):
    """A place of files. Any number of processes may use it at once.

    Its methods raise OSError or SpoolUnavailableError if the place does not answer. That says
    nothing about a file.
    """

    @property
    def where(self) -> str:
        """The address without credentials."""

    @property
    def batches_uploads(self) -> bool:
        """Whether a file is so expensive that reports should be gathered for it."""

    def put(self, name: str, data: bytes) -> None:
        """Write a new file. It is durable and complete afterwards, and not visible before."""

    def files(self) -> list[SpoolFile]:
        """Return all files that were put and neither removed nor set aside, by name."""

    def get(self, name: str) -> bytes:
        """Return the bytes. Raises FileNotFoundError if there is no such file."""

    def remove(self, name: str) -> None:
        """Delete a file. Does nothing if it is gone already."""

    def set_aside(self, name: str) -> None:
        """Keep a file where `files` leaves it out. Does nothing if it is gone already."""

    def sweep(self, now: float) -> None:
        """Delete leftovers of killed writers that are older than a day; `now` in unix seconds."""

    def write_notices(self, data: bytes) -> None:
        """Replace the one file that intakes read, in one step."""

    def read_notices(self) -> bytes:
        """Return the last notices. Raises FileNotFoundError before the first."""


def is_file_of_spool(name: str) -> bool:
    """Whether `Spool.files` lists this name: drafts, notices and damaged files are left out."""
    return not (name.startswith(".") or name.endswith(DAMAGED) or name == NOTICES)
