"""The files of the keys that open reports: read, add and destroy them.

    data/keys/report-<id>.key    one line hpke-<suite>:<base64url>

The next `reread` also loads a file that an operator adds, as for a second replica.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import KeyFileError
from deniable_aggregator.keys import files as key_files
from deniable_shared.wire import envelope
from deniable_shared.wire.envelope import Opener

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

HIGHEST_ID = 255
"""Most keys: the id is one byte of a report's header."""

_NAME = re.compile(r"report-(0|[1-9][0-9]{0,2})\.key")
_KIND = re.compile(r"hpke-([1-9])")


@dataclass(frozen=True, slots=True)
class ReportKey:
    """One key: its public part, and the opener of its reports."""

    id: int
    suite: int
    public_key: bytes
    opener: Opener


class ReportKeys:
    """The keys in `folder`. Only one thread may change it at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._keys: dict[int, ReportKey] = {}
        self.reread()
        if not self._keys:
            raise KeyFileError(f"{folder} has no report-<id>.key: no report could be opened")

    @property
    def all(self) -> Mapping[int, ReportKey]:
        """Every key, by id."""
        return self._keys

    def reread(self) -> None:
        """Read new key files and forget deleted ones. Raises KeyFileError for a broken file."""
        self._keys = {
            key_id: self._keys.get(key_id) or _read(key_id, path)
            for key_id, path in sorted(_paths(self._folder))
        }

    def make(self, key_id: int, suite: int) -> None:
        """Make a key with that id; it is on disk before any device can use it."""
        private, _ = envelope.generate(suite)
        path = self._folder / f"report-{key_id}.key"
        key_files.write_private(path, private, kind=f"hpke-{suite}")
        self._keys = {**self._keys, key_id: _read(key_id, path)}

    def destroy(self, key_id: int) -> None:
        """Destroy a key permanently: its reports can never be opened again."""
        self._keys = {other_id: key for other_id, key in self._keys.items() if other_id != key_id}
        key_files.destroy(self._folder / f"report-{key_id}.key")


def _paths(folder: Path) -> Iterator[tuple[int, Path]]:
    for path in _files(folder):
        match = _NAME.fullmatch(path.name)
        if match and int(match[1]) <= HIGHEST_ID:
            yield int(match[1]), path


def _files(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError as error:
        raise KeyFileError(
            f"{folder} cannot be read ({error.strerror}): put back your copy of it. Without the "
            "keys in it no report can be opened"
        ) from error


def _read(key_id: int, path: Path) -> ReportKey:
    suite = _suite_of(path)
    private = key_files.read_private(path, kind=f"hpke-{suite}")
    return ReportKey(key_id, suite, envelope.public_of(private, suite), Opener(private, suite))


def _suite_of(path: Path) -> int:
    """The suite in the file; 1 for an invalid file, which is refused when it is read."""
    try:
        with path.open(encoding="ascii") as file:
            match = _KIND.fullmatch(file.read(16).partition(":")[0])
    except (OSError, ValueError):
        match = None
    suite = int(match[1]) if match else 1
    return suite if suite in envelope.KEY_BYTES else 1
