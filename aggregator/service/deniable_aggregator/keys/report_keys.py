"""The keys that open reports, as files: which there are, one more, one less.

    data/keys/report-<id>.key    one line hpke-<suite>:<base64url>

A file that somebody puts there, as for a second replica, is taken up by the next `reread`.
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
"""A report's header has one byte for it."""

_NAME = re.compile(r"report-(0|[1-9][0-9]{0,2})\.key")
_KIND = re.compile(r"hpke-([1-9])")


@dataclass(frozen=True, slots=True)
class ReportKey:
    """One key: what is told of it, and what opens with it."""

    id: int
    suite: int
    public_key: bytes
    opener: Opener


class ReportKeys:
    """What `folder` holds. The caller sees to it that one thread at a time changes it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._keys: dict[int, ReportKey] = {}
        self.reread()
        if not self._keys:
            raise KeyFileError(f"{folder} holds no report-<id>.key: no report could be opened")

    @property
    def all(self) -> Mapping[int, ReportKey]:
        """By id."""
        return self._keys

    def reread(self) -> None:
        """Take up what is new, let go what is gone; KeyFileError for a file that is no key."""
        self._keys = {
            key_id: self._keys.get(key_id) or _read(key_id, path)
            for key_id, path in sorted(_paths(self._folder))
        }

    def make(self, key_id: int, suite: int) -> None:
        """A new key of that id, on disk before anybody can seal to it."""
        private, _ = envelope.generate(suite)
        path = self._folder / f"report-{key_id}.key"
        key_files.write_private(path, private, kind=f"hpke-{suite}")
        self._keys = {**self._keys, key_id: _read(key_id, path)}

    def destroy(self, key_id: int) -> None:
        """Permanently: what was sealed to it can never be opened again."""
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
            f"{folder} cannot be read ({error.strerror}): put back your copy of it; without the "
            "keys in it no report can be opened"
        ) from error


def _read(key_id: int, path: Path) -> ReportKey:
    suite = _suite_of(path)
    private = key_files.read_private(path, kind=f"hpke-{suite}")
    return ReportKey(key_id, suite, envelope.public_of(private, suite), Opener(private, suite))


def _suite_of(path: Path) -> int:
    """As the file says; 1 where it says nothing of ours, which reading it then refuses."""
    try:
        with path.open(encoding="ascii") as file:
            match = _KIND.fullmatch(file.read(16).partition(":")[0])
    except (OSError, ValueError):
        match = None
    suite = int(match[1]) if match else 1
    return suite if suite in envelope.KEY_BYTES else 1
