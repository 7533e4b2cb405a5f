"""What a spool is: a place for whole files under names, seen all at once or not at all.

`directory` keeps them on a disk, `objects` in an object store, `rows` in a database. None of them
looks into a file: what is in one is up to `blocks` and `notices`.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

NOTICES = "notices.json"
"""Where files have names, that of what `write_notices` writes."""

DAMAGED = ".damaged"
"""Ends the names of files that were set aside."""


class SpoolFile(NamedTuple):
    """A file by its name, and its size in bytes."""

    name: str
    size: int


class Spool(Protocol):
    """OSError or SpoolUnavailableError where the place does not answer; that is no word on a file.

    Any number of processes may do anything at once.
    """

    @property
    def where(self) -> str:
        """The address, without credentials."""

    @property
    def batches_uploads(self) -> bool:
        """Whether each file costs so much that reports should be gathered for it."""

    def put(self, name: str, data: bytes) -> None:
        """Write a new file. Durable and whole once this returns; before, it is not there."""

    def files(self) -> list[SpoolFile]:
        """All that were put and neither removed nor set aside, by name."""

    def get(self, name: str) -> bytes:
        """The bytes; FileNotFoundError for a name that is not there."""

    def remove(self, name: str) -> None:
        """Nothing where it is gone already."""

    def set_aside(self, name: str) -> None:
        """Keep it where `files` leaves it out; nothing where it is gone already."""

    def sweep(self, now: float) -> None:
        """Remove what writers that were killed have left, once it is a day old."""

    def write_notices(self, data: bytes) -> None:
        """Replace the one file that intakes read, in one step."""

    def read_notices(self) -> bytes:
        """What was published last; FileNotFoundError before the first."""


def is_file_of_spool(name: str) -> bool:
    """Whether `Spool.files` has it, where drafts, notices and damaged files lie beside."""
    return not (name.startswith(".") or name.endswith(DAMAGED) or name == NOTICES)
